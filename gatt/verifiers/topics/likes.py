"""`likes`: the reply brings up what its speaker likes, and not only to deny it or to ask back."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gatt.errors import VerifierError
from gatt.verifiers.base import Verdict
from gatt.verifiers.persona.first_person import is_foreign
from gatt.verifiers.rule import Rule, Span, quote, require_texts, shipped_examples
from gatt.verifiers.text.folding import Folded, fold
from gatt.verifiers.text.matching import Hit, TermMatcher
from gatt.verifiers.text.sentences import sentence_spans
from gatt.verifiers.text.words import words
from gatt.verifiers.topics.liking import (
    denies_having_any,
    is_denied,
    is_praised,
    is_question_to_the_user,
    sounds_like_a_hobby,
)
from gatt.verifiers.topics.whose import speaks_of_oneself, whose

# "my old racket" is "my racket".
_OF_THINGS = ("old", "new", "own", "little", "favorite", "favourite", "best", "first")
_MAX_FRAGMENT_WORDS = 4
_LABEL = re.compile(r"\bhobb(?:y|ies) ?:")
_STEM_LETTERS = 4
# A reply of 20,000 characters may be one sentence full of terms.
_WINDOW = 400
_MAX_HITS = 50


@dataclass(frozen=True, slots=True)
class _Said:
    """A term in a reply, with the sentence that it stands in."""

    hit: Hit
    number: int
    """Of the sentence."""
    is_vague: bool
    around: str
    """The sentence, folded, as far as it is near."""
    start: int
    """Where the term begins in it."""
    end: int


class Likes(Rule):
    """Passes if the speaker says one of the terms of itself, and does not only deny or ask it.

    "I play tennis", "Tennis keeps me fit" and "Nothing beats tennis" do; so does a term in a few
    words alone ("Tennis, of course!") or beside a sentence of the speaker's own. "I do not play
    tennis", "Tennis bores me" and "I prefer chess to tennis" deny it, "You like tennis? Great."
    asks it back, "My sister plays tennis" is another's, "Tennis is known to reduce stress"
    nobody's. Praise in general ("Tennis is a good sport") is undecided.

    A vague term has other senses ("brush", "pawn"): it counts only with a second term beside it,
    or in words that one has for a hobby ("I love to paint", "I paint every Sunday").
    English only: in other languages every occurrence of a term counts that is not vague.

    Args:
        any_of: what only one who likes it would name; terms as `TermMatcher` takes them, at
            least one. "my racket" is also found with an adjective ("my old racket").
        vague: terms with other senses.
        not_in: phrases that hold a term and do not mean it ("pawn shop").
    """

    kind = "likes"
    version = 3
    reads_sense = True
    examples = shipped_examples(kind)

    def __init__(
        self, *, any_of: Sequence[str], vague: Sequence[str] = (), not_in: Sequence[str] = ()
    ) -> None:
        self._terms = require_texts(self.kind, "any_of", any_of)
        if not self._terms:
            raise VerifierError(f"verifier {self.kind!r}: 'any_of' is empty: expected a term")
        self._matcher = TermMatcher(self._terms, _OF_THINGS)
        self._vague = TermMatcher(require_texts(self.kind, "vague", vague))
        self._not_in = TermMatcher(require_texts(self.kind, "not_in", not_in))

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        others = [hit.span for hit in self._not_in.hits(reply)]
        plain = [hit for hit in self._matcher.hits(reply) if not _is_inside(hit, others)]
        vague = [hit for hit in self._vague.hits(reply) if not _is_inside(hit, others)]
        vague = [hit for hit in vague if not _is_inside(hit, [other.span for other in plain])]
        if not plain and not vague:
            asked = ", ".join(self._terms[:4]) + (", …" if len(self._terms) > 4 else "")
            return self.failed(f"says none of: {asked}")
        spans = sentence_spans(reply)
        folded = [fold(reply[start:end]) for start, end in spans]
        sentences = [sentence.text for sentence in folded]
        said = [*_place(plain, spans, folded, False), *_place(vague, spans, folded, True)]
        first = min([*plain, *vague], key=lambda hit: hit.span)
        if denies_having_any(" ".join(sentences)):
            return self.failed("denies having a hobby at all", first.span)
        meant = [
            one
            for one in said
            if not is_denied(one.around, one.start, one.end, _next(sentences, one))
            and not is_question_to_the_user(one.around)
        ]
        if not meant:
            return self.failed(f"only denies or asks {quote(first.text)}", first.span)
        if not meant[0].is_vague and is_foreign(reply):
            return self.passed(f"says {quote(meant[0].hit.text)}", meant[0].hit.span)
        doubtful: _Said | None = None
        for one in meant:
            verdict = _speaks(one, sentences, meant)
            if verdict:
                return self.passed(f"says {quote(one.hit.text)}", one.hit.span)
            if verdict is None and doubtful is None:
                doubtful = one
        if doubtful:
            return self.undecided(
                f"names {quote(doubtful.hit.text)}, maybe not of itself", doubtful.hit.span
            )
        return self.failed(f"does not say {quote(first.text)} of itself", first.span)


def _speaks(one: _Said, sentences: list[str], meant: list[_Said]) -> bool | None:
    """Whether the speaker says the term of itself and means it; None if that cannot be told."""
    sentence = one.around
    owner = whose(sentence, one.start, one.end)
    if one.is_vague:
        return owner == "speaker" and (
            _has_second(one, meant) or sounds_like_a_hobby(sentence, one.start, one.end)
        )
    if owner == "speaker":
        return True
    if owner == "other" or _LABEL.search(sentence):
        return False
    if owner == "general":
        return is_praised(sentence, in_general=True)
    beside = sentences[max(0, one.number - 1) : one.number + 2]
    is_fragment = len(words(sentence)) <= _MAX_FRAGMENT_WORDS
    if is_fragment or any(map(speaks_of_oneself, beside)):
        return True
    return is_praised(sentence, in_general=False)


def _has_second(one: _Said, meant: list[_Said]) -> bool:
    """Whether another term stands in the same sentence or in one beside it."""
    stem = one.hit.text[:_STEM_LETTERS].lower()
    return any(
        abs(other.number - one.number) <= 1 and other.hit.text[:_STEM_LETTERS].lower() != stem
        for other in meant
    )


def _next(sentences: list[str], one: _Said) -> str:
    return "".join(sentences[one.number + 1 : one.number + 2])


def _place(
    hits: list[Hit], spans: list[Span], folded: list[Folded], is_vague: bool
) -> Iterator[_Said]:
    beginnings = [start for start, _ in spans]
    for hit in hits[:_MAX_HITS]:
        number = bisect_right(beginnings, hit.span[0]) - 1
        left, right = (bisect_left(folded[number].starts, at - spans[number][0]) for at in hit.span)
        start = max(0, left - _WINDOW)
        around = folded[number].text[start : right + _WINDOW]
        yield _Said(hit, number, is_vague, around, left - start, right - start)


def _is_inside(hit: Hit, spans: Sequence[Span]) -> bool:
    return any(start < hit.span[1] and hit.span[0] < end for start, end in spans)
