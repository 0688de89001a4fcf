"""`terms`: words or phrases that a reply must hold, or must not."""

from __future__ import annotations

from collections.abc import Sequence

from gatt.errors import VerifierError
from gatt.verifiers.base import Verdict
from gatt.verifiers.rule import Rule, quote, require_texts, shipped_examples
from gatt.verifiers.text.matching import TermMatcher
from gatt.verifiers.text.task_talk import without_task_talk
from gatt.verifiers.text.words import words
from gatt.verifiers.topics.terms_beside import shown

MIN_WORDS_FOR_ABSENCE = 3


class Terms(Rule):
    """Passes if the terms occur as asked; see `TermMatcher` for what an occurrence is.

    Occurrences in talk about the task ("I will mention tea in every reply") are not counted.

    Args:
        any_of: at least one of these.
        all_of: each of these.
        none_of: none of these. With nothing else asked, a reply under three
            words is undecided: it has said too little to have left them out.
    """

    kind = "terms"
    version = 3
    examples = shipped_examples(kind)

    def __init__(
        self,
        *,
        any_of: Sequence[str] = (),
        all_of: Sequence[str] = (),
        none_of: Sequence[str] = (),
    ) -> None:
        anyone = require_texts(self.kind, "any_of", any_of)
        everyone = require_texts(self.kind, "all_of", all_of)
        no_one = require_texts(self.kind, "none_of", none_of)
        if not (anyone or everyone or no_one):
            raise VerifierError(
                f"verifier {self.kind!r}: no term: expected at least one in "
                "'any_of', 'all_of' or 'none_of'"
            )
        self._counted = anyone or everyone
        self._counter = TermMatcher(self._counted)
        self._all = [(term, TermMatcher([term])) for term in everyone]
        self._none = TermMatcher(no_one)

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        forbidden = self._none.first(reply)
        if forbidden:
            return self.failed(f"says {quote(forbidden.text)}", forbidden.span)
        said = without_task_talk(reply)
        missing = [term for term, matcher in self._all if matcher.first(said) is None]
        if missing:
            return self.failed(f"does not say {quote(missing[0])}")
        if not self._counted:
            num_words = len(words(reply))
            if num_words < MIN_WORDS_FOR_ABSENCE:
                return self.undecided(f"only {num_words} words: too short to tell")
            return self.passed("says none of the terms to avoid")
        hit = self._counter.first(said)
        if hit:
            return self.passed(f"says {quote(hit.text)}", hit.span)
        return self.failed(f"says none of: {shown(self._counted)}")
