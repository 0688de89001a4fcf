"""`likes`: the reply brings up what its speaker likes, and not only to deny it or to ask back."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Literal

from gatt.verifiers.base import Verdict
from gatt.verifiers.persona.speaker import is_foreign
from gatt.verifiers.phrases import Patterns
from gatt.verifiers.rule import Rule, quote
from gatt.verifiers.text.folding import fold
from gatt.verifiers.text.matching import NO_TERMS, Hit, TermMatcher, Terms
from gatt.verifiers.text.sentences import sentence_spans
from gatt.verifiers.text.words import words

# "my old racket" is "my racket".
_OF_THINGS = ("old", "new", "own", "little", "favorite", "favourite", "best", "first")
_MAX_FRAGMENT_WORDS = 4
_STEM_LETTERS = 4
# A reply of 20,000 characters may be one sentence full of terms.
_WINDOW = 400
_MAX_HITS = 50
_RE = Patterns("liking")
_WHOSE = Patterns("whose")

Whose = Literal["speaker", "other", "general", "nobody"]


@dataclass(frozen=True, slots=True)
class _Said:
    """A term from `start` to `end` of a folded sentence, which is cut to what is near, and its number."""

    hit: Hit
    number: int
    is_vague: bool
    sentence: str
    start: int
    end: int

    @property
    def stem(self) -> str:
        """The first letters of the term, the same in all its forms."""
        return self.hit.text[:_STEM_LETTERS].lower()


@dataclass(frozen=True, kw_only=True)
class Likes(Rule):
    """Passes if the speaker says one of the terms of itself, and does not only deny or ask it.

    "I play tennis", "Nothing beats tennis" and a term in a few words alone ("Tennis, of course!") do. "I do
    not play tennis" and "I prefer chess to tennis" deny it, "You like tennis? Great." asks it back, "My
    sister plays tennis" is another's. Praise in general ("Tennis is a good sport") is undecided.

    A vague term has other senses ("brush", "pawn"): it counts only with a second term beside it,
    or in words that one has for a hobby ("I paint every Sunday"). English only: in other languages every
    occurrence of a term counts that is not vague.

    Args:
        any_of: what only one who likes it would name; terms as `TermMatcher` takes them, at
            least one. "my racket" is also found with an adjective ("my old racket").
        vague: terms with other senses.
        not_in: phrases that hold a term and do not mean it ("pawn shop").
    """

    kind = "likes"
    version = 3
    reads_sense = True

    any_of: Terms
    vague: TermMatcher = NO_TERMS
    not_in: TermMatcher = NO_TERMS

    @cached_property
    def _plain(self) -> TermMatcher:
        return TermMatcher(self.any_of.terms, _OF_THINGS)

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        others = self.not_in.hits(reply)
        plain = _outside(self._plain.hits(reply), others)
        vague = _outside(self.vague.hits(reply), [*others, *plain])
        if not plain and not vague:
            return self.failed(f"says none of: {self.any_of}")
        spans = sentence_spans(reply)
        folded = [fold(reply[start:end]) for start, end in spans]
        sentences = [sentence.text for sentence in folded]
        first = min([*plain, *vague], key=lambda hit: hit.span)
        if _RE.NO_HOBBY.search(" ".join(sentences)):
            return self.failed("denies having a hobby at all", first.span)
        meant: list[_Said] = []
        for hit in (*plain[:_MAX_HITS], *vague[:_MAX_HITS]):
            number = bisect_right(spans, hit.span[0], key=itemgetter(0)) - 1
            begin, starts = spans[number][0], folded[number].starts
            start, end = (bisect_left(starts, at - begin) for at in hit.span)
            cut = max(0, start - _WINDOW)
            near = sentences[number][cut : end + _WINDOW]
            one = _Said(hit, number, hit not in plain, near, start - cut, end - cut)
            following = "".join(sentences[number + 1 : number + 2])
            if not _is_denied(one, following) and not _is_question_to_the_user(near):
                meant.append(one)
        if not meant:
            return self.failed(f"only denies or asks {quote(first.text)}", first.span)
        is_any_language = not meant[0].is_vague and is_foreign(reply)
        doubtful: Hit | None = None
        for one in meant:
            is_own = is_any_language or _speaks(one, sentences, meant)
            if is_own:
                return self.passed(f"says {quote(one.hit.text)}", one.hit.span)
            if is_own is None:
                doubtful = doubtful or one.hit
        if doubtful:
            return self.undecided(
                f"names {quote(doubtful.text)}, maybe not of itself", doubtful.span
            )
        return self.failed(f"does not say {quote(first.text)} of itself", first.span)


def _speaks(one: _Said, sentences: list[str], meant: list[_Said]) -> bool | None:
    """Whether the speaker says the term of itself and means it; None if that cannot be told."""
    sentence = one.sentence
    owner = _whose(sentence, one.start, one.end)
    if one.is_vague:
        # A second term stands in the same sentence or in one beside it.
        has_second = any(
            abs(other.number - one.number) <= 1 and other.stem != one.stem for other in meant
        )
        before, after = sentence[: one.start], sentence[one.end :]
        is_of_a_hobby = _RE.HOBBY_WORDS.search(sentence) or (
            _RE.SPEAKER_DOES.search(before) and _RE.WHEN.match(after)
        )
        return owner == "speaker" and (has_second or bool(is_of_a_hobby))
    if owner == "speaker":
        return True
    if owner == "other" or _RE.LABEL.search(sentence):
        return False
    if owner == "nobody":
        beside = sentences[max(0, one.number - 1) : one.number + 2]
        if len(words(sentence)) <= _MAX_FRAGMENT_WORDS or any(map(_speaks_of_oneself, beside)):
            return True
    if _RE.PRAISES.search(sentence):
        return True
    is_dry = owner == "general" and not _RE.GOOD.search(sentence)
    return False if is_dry or _RE.TEXTBOOK.search(sentence) else None


def _is_denied(one: _Said, following: str) -> bool:
    """Whether a sentence denies its term, or the next one does ("No.")."""
    before, after = one.sentence[: one.start], one.sentence[one.end :]
    before = before if before.endswith(" ") else f"{before} "
    if _RE.DENIES.search(before) and not _RE.BEATS_ALL.search(before):
        return not (_RE.CANNOT_NOW.search(before) and _RE.ONLY_NOW.search(after))
    if _RE.AS_DULL_AS.search(before):
        return True
    if _RE.FOUND.search(before) and _RE.FOUND_DULL.search(after):
        return True
    return bool(_RE.DENIED_AFTER.search(f"{after} {following}"))


def _is_question_to_the_user(sentence: str) -> bool:
    """Whether a sentence asks about another and says nothing of the speaker."""
    if not sentence.rstrip(" \"')").endswith("?"):
        return False
    asked = _RE.ASKS.sub(" ", sentence)
    return bool(_RE.OF_THE_USER.search(sentence)) and not _RE.OF_MYSELF.search(asked)


def _outside(hits: Iterable[Hit], others: Iterable[Hit]) -> list[Hit]:
    """Return the hits that overlap none of the others."""
    spans = [other.span for other in others]
    return [
        hit
        for hit in hits
        if not any(start < hit.span[1] and hit.span[0] < end for start, end in spans)
    ]


def _whose(sentence: str, start: int, end: int) -> Whose:
    """Return whose the words from `start` to `end` are in a folded sentence.

    "I play tennis" is the speaker's, "You must love tennis" another's, "Tennis is known to reduce stress" is
    general, and "Tennis!" names nobody. The nearest person before them in their clause decides, else the
    first behind them, else any in the sentence.
    """
    plain = _WHOSE.ASIDE.sub(_blank, sentence)
    left = max((found.end() for found in _WHOSE.CLAUSE_END.finditer(plain, 0, start)), default=0)
    behind = _WHOSE.CLAUSE_END.search(plain, end)
    right = behind.start() if behind else len(plain)
    if _WHOSE.WITH_ME.search(plain, left, right):
        return "speaker"
    offered = _WHOSE.OFFERS.search(plain, 0, start)
    if offered and "speaker" not in _persons(plain, offered.start(1), start):
        return "other"
    if before := _persons(plain, left, start):
        return before[-1]
    if after := _persons(plain, end, right):
        return after[0]
    is_subject, is_general = _WHOSE.GENERAL_AFTER.match(plain[end:]), _WHOSE.GENERAL.search(plain)
    anywhere = _persons(plain, 0, len(plain))
    if anywhere and not (is_subject and is_general):
        return "speaker" if "speaker" in anywhere else "other"
    return "general" if is_subject or is_general else "nobody"


def _speaks_of_oneself(sentence: str) -> bool:
    """Whether a folded sentence says something of its speaker, beyond "I hope" and "I see"."""
    return "speaker" in _persons(_WHOSE.ASIDE.sub(_blank, sentence), 0, len(sentence))


def _blank(aside: re.Match[str]) -> str:
    """Return as many characters without a person; of "my sister" the sister stays."""
    text = aside[0]
    if _WHOSE.KIN_MARK.search(text):
        return " " * text.rindex(" ") + text[text.rindex(" ") :]
    return " " * len(text)


def _persons(text: str, start: int, end: int) -> list[Whose]:
    found: list[Whose] = []
    for mark in _WHOSE.MARK.finditer(text, start, end):
        if mark["first"]:
            found.append("speaker")
        elif "speaker" in found and (
            mark["noun"] or _WHOSE.OBJECT_YOU.search(text, start, mark.end())
        ):
            continue
        elif not (mark["noun"] and _WHOSE.BESIDE.search(text, start, mark.start())):
            found.append("other")
    return found
