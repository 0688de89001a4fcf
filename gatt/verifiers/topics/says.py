"""`says`: the reply tells the user a thing, and does not deny, reverse, define or report it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from gatt.verifiers.base import Verdict
from gatt.verifiers.rule import Rule, Span, quote
from gatt.verifiers.text.folding import fold_text
from gatt.verifiers.text.matching import NO_TERMS, TermMatcher, Terms
from gatt.verifiers.text.sentences import sentence_spans
from gatt.verifiers.text.words import words
from gatt.verifiers.topics.addressed import (
    NO_WORD,
    REGRETS,
    as_meant,
    calls_needless,
    clauses_around,
    flaw_of,
    is_denied,
    is_heading,
    num_negations,
    takes_back,
)

Place = Literal["anywhere", "end"]
MOST_CLOSING_WORDS = 6
"""Words that may follow what stands at the end: "Have a nice day!"."""


@dataclass(frozen=True, kw_only=True)
class Says(Rule):
    """Passes if one sentence names the thing and means it for the user.

    Negations and reversals of its clause are counted: "We do not offer late check-out" and "Skip the
    soup" say the opposite, "Don't miss the soup" does not. Sentences about others ("She flosses"),
    about the past, definitions, and questions that only ask for information do not count. Undecided are
    a heading of a few words ("Winter tyres") and an apology ("Sorry, our soups are out"). The rules
    know English; of other languages only the terms are found.

    Args:
        any_of: terms of the thing, as `TermMatcher` takes them, at least one.
        beside: lists of terms; one of each list must stand in the same sentence.
        deeds: terms of what the user is warned of ("share"). A clause that names one must deny it.
        unless: terms that show another matter, in the same sentence.
        place: `end` if nothing but a short closing may follow; else `anywhere`.
    """

    kind = "says"
    version = 5
    reads_sense = True

    any_of: Terms
    beside: tuple[Terms, ...] = ()
    deeds: TermMatcher = NO_TERMS
    unless: TermMatcher = NO_TERMS
    place: Place = "anywhere"

    def decide(self, reply: str) -> Verdict:
        spans = sentence_spans(reply)
        said = [reply[start:end] for start, end in spans]
        flaws: list[tuple[str, Span]] = []
        for number, span in enumerate(spans):
            following = fold_text(said[number + 1]) if number + 1 < len(said) else ""
            for flaw in self._flaws(said[number], following):
                flaw = flaw or self._misplaced(said[number + 1 :])
                if not flaw:
                    return self.passed(f"says {quote(said[number])}", span)
                flaws.append((flaw, span))
        if not flaws:
            return self.failed(f"says none of: {self.any_of}")
        flaw, span = flaws[0]
        first = reply[slice(*span)]
        is_doubtful = flaw == REGRETS or (flaw == NO_WORD and is_heading(fold_text(first)))
        verdict = self.undecided if is_doubtful else self.failed
        return verdict(f"{flaw}: {quote(first)}", span)

    def _flaws(self, sentence: str, following: str) -> Iterator[str | None]:
        """Yield what is wrong with each place of a sentence that names the thing, None if nothing."""
        text = as_meant(sentence, self.any_of.terms)
        beside = [hit.span for matcher in self.beside if (hit := matcher.first(text))]
        if len(beside) < len(self.beside):
            return
        unless = self.unless.first(text)
        for hit in self.any_of.hits(text):
            starts, ends = zip(hit.span, *beside, strict=True)
            if unless:
                yield f"speaks of {unless.text!r}"
            elif any(map(self._is_reversed, clauses_around(text, min(starts), max(ends)))):
                yield "denies it"
            elif takes_back(following) and (text.rstrip().endswith("?") or len(words(text)) <= 4):
                yield "takes it back"
            else:
                yield flaw_of(text, *hit.span)

    def _is_reversed(self, clause: str) -> bool:
        if self.deeds.first(clause):
            return calls_needless(clause) or num_negations(clause) % 2 == 0
        return is_denied(clause)

    def _misplaced(self, later: Sequence[str]) -> str | None:
        num_words = sum(len(words(sentence)) for sentence in later)
        is_asked = any(sentence.rstrip().endswith("?") for sentence in later)
        is_late = num_words > MOST_CLOSING_WORDS or is_asked
        return "not at the end" if self.place == "end" and is_late else None
