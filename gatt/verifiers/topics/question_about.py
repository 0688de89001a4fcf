"""`question_about`: an ask of the user about a topic ("Do you have dental insurance?"), or one like it.

A request counts as a question does ("Please tell us your order number."). Where the duty is to offer
something, saying so counts as well ("We can reserve a table for you.").
"""

from __future__ import annotations

from dataclasses import dataclass

from gatt.verifiers.base import Verdict
from gatt.verifiers.phrases import Patterns
from gatt.verifiers.rule import Rule, quote
from gatt.verifiers.text.matching import NO_TERMS, Hit, TermMatcher, Terms
from gatt.verifiers.text.sentences import sentence_spans
from gatt.verifiers.topics.addressed import (
    as_meant,
    clauses_around,
    is_denied,
    is_passed_over,
    takes_back,
)

_FRAGMENT_WORDS = 7
_RE = Patterns("question_forms")


@dataclass(frozen=True, kw_only=True)
class QuestionAbout(Rule):
    """Passes if one sentence asks the user about one of the topics.

    A request is one too ("please enter"), and so is a passive that leaves the user out ("Should breakfast
    be added?"). A question that asks what the topic is or costs, asks as a
    customer would ("Where do I find my order number?") or names no person ("Does dental insurance cover
    this?") is not for the user, nor is a request that is denied ("You need not tell us").

    Args:
        topics: terms as `TermMatcher` takes them, at least one.
        offers: terms that count without a question as well, where the speaker offers it ("we can",
            "let me", "glad to") and nothing is negated. With them, a question has to offer too
            ("Would you like", "Shall I").
        beside: lists of terms; one of each list must stand in the same sentence as the topic.
        unless: terms that show another matter, in the same sentence.
    """

    kind = "question_about"
    version = 11
    reads_sense = True

    topics: Terms
    offers: TermMatcher = NO_TERMS
    beside: tuple[Terms, ...] = ()
    unless: TermMatcher = NO_TERMS

    def decide(self, reply: str) -> Verdict:
        spans = sentence_spans(reply)
        texts = [as_meant(reply[start:end], self.topics.terms) for start, end in spans]
        for span, text, following in zip(spans, texts, [*texts[1:], ""], strict=True):
            if self.unless.first(text):
                continue
            offer = None if is_question(text) else self.offers.first(text)
            if offer and _RE.SPEAKER_OFFERS.search(text) and not _is_turned_down(text, offer):
                return self.passed(f"offers {quote(reply[slice(*span)])}", span)
            if self._is_asked(text, following):
                return self.passed(f"asks {quote(reply[slice(*span)])}", span)
        return self.failed(f"no question about {self.topics}")

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
