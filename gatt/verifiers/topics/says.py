"""`says`: the reply tells the user a thing, and does not deny, reverse, define or report it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gatt.errors import VerifierError
from gatt.verifiers.base import Verdict
from gatt.verifiers.rule import Rule, Span, quote, require_texts, shipped_examples
from gatt.verifiers.text.addressed import NO_WORD, REGRETS, flaw_of, is_heading
from gatt.verifiers.text.chat_spelling import spelt_out, with_typos_mended
from gatt.verifiers.text.folding import fold_text
from gatt.verifiers.text.matching import Hit, TermMatcher
from gatt.verifiers.text.sentences import sentence_spans
from gatt.verifiers.text.words import words
from gatt.verifiers.topics.polarity import (
    calls_needless,
    clauses_around,
    is_denied,
    num_negations,
    takes_back,
)
from gatt.verifiers.topics.terms_beside import groups_of_terms, shown

PLACES = ("anywhere", "end")
MOST_CLOSING_WORDS = 6
"""Words that may follow what stands at the end: "Have a nice day!"."""


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
    version = 2
    reads_sense = True
    examples = shipped_examples(kind)

    def __init__(
        self,
        *,
        any_of: Sequence[str],
        beside: Sequence[Sequence[str]] = (),
        deeds: Sequence[str] = (),
        unless: Sequence[str] = (),
        place: str = "anywhere",
    ) -> None:
        self._terms = require_texts(self.kind, "any_of", any_of)
        if not self._terms:
            raise VerifierError(f"verifier {self.kind!r}: 'any_of' is empty: expected a term")
        if place not in PLACES:
            raise VerifierError(
                f"verifier {self.kind!r}: 'place' is {place!r}: expected one of {', '.join(PLACES)}"
            )
        self._matcher = TermMatcher(self._terms)
        self._beside = groups_of_terms(self.kind, "beside", beside)
        self._deeds = TermMatcher(require_texts(self.kind, "deeds", deeds))
        self._unless = TermMatcher(require_texts(self.kind, "unless", unless))
        self._place = place

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        spans = sentence_spans(reply)
        found: tuple[str, Span] | None = None
        for number, span in enumerate(spans):
            following = (
                fold_text(reply[slice(*spans[number + 1])]) if number + 1 < len(spans) else ""
            )
            for flaw in self._flaws(reply[slice(*span)], following):
                flaw = flaw or self._misplaced(reply, spans[number + 1 :])
                if not flaw:
                    return self.passed(f"says {quote(reply[slice(*span)])}", span)
                found = found or (flaw, span)
        if found:
            flaw, span = found
            said = reply[slice(*span)]
            is_doubtful = flaw == REGRETS or (flaw == NO_WORD and is_heading(fold_text(said)))
            verdict = self.undecided if is_doubtful else self.failed
            return verdict(f"{flaw}: {quote(said)}", span)
        return self.failed(f"says none of: {shown(self._terms)}")

    def _flaws(self, sentence: str, following: str) -> Iterator[str | None]:
        """Yield what is wrong with each place of a sentence that names the thing, None if nothing."""
        text = with_typos_mended(spelt_out(fold_text(sentence)), self._terms)
        hits = self._matcher.hits(text)
        others = [matcher.first(text) for matcher in self._beside]
        if not hits or None in others:
            return
        unless = self._unless.first(text)
        for hit in hits:
            if unless:
                yield f"speaks of {unless.text!r}"
                continue
            together = [hit, *(other for other in others if other)]
            if any(map(self._is_reversed, _clauses(text, together))):
                yield "denies it"
            elif takes_back(following) and (text.rstrip().endswith("?") or len(words(text)) <= 4):
                yield "takes it back"
            else:
                yield flaw_of(text, *hit.span)

    def _is_reversed(self, clause: str) -> bool:
        if self._deeds.first(clause):
            return calls_needless(clause) or num_negations(clause) % 2 == 0
        return is_denied(clause)

    def _misplaced(self, reply: str, later: Sequence[Span]) -> str | None:
        if self._place == "anywhere":
            return None
        said = [reply[start:end] for start, end in later]
        num_words = sum(len(words(sentence)) for sentence in said)
        is_asked = any(sentence.rstrip().endswith("?") for sentence in said)
        return "not at the end" if num_words > MOST_CLOSING_WORDS or is_asked else None


def _clauses(text: str, hits: Sequence[Hit]) -> list[str]:
    """Return the clauses from the first to the last of some places."""
    return clauses_around(text, min(hit.span[0] for hit in hits), max(hit.span[1] for hit in hits))
