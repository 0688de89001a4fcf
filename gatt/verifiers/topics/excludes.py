"""`excludes`: characters and terms that must not occur."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from gatt.errors import VerifierError
from gatt.verifiers.base import Verdict
from gatt.verifiers.rule import Rule, quote, require_texts, shipped_examples
from gatt.verifiers.text.matching import TermMatcher
from gatt.verifiers.text.words import words

MIN_WORDS = 3


class Excludes(Rule):
    """Passes if none of the characters and terms occurs.

    A reply under `MIN_WORDS` words without a hit is undecided: it has said too
    little to have left anything out.

    Args:
        characters: single characters, anywhere, also in other forms of the same
            ("７", "²" and "٧" are digits, "‼" holds "!").
        terms: terms as `TermMatcher` takes them.
    """

    kind = "excludes"
    version = 3
    reads_markup = True
    examples = shipped_examples(kind)

    def __init__(self, *, characters: Sequence[str] = (), terms: Sequence[str] = ()) -> None:
        if isinstance(characters, str) or not all(
            isinstance(c, str) and len(c) == 1 for c in characters
        ):
            raise VerifierError(
                f"verifier {self.kind!r}: 'characters' is {characters!r}: "
                "expected a list of single characters"
            )
        self._characters = frozenset(characters)
        found = require_texts(self.kind, "terms", terms)
        if not (self._characters or found):
            raise VerifierError(
                f"verifier {self.kind!r}: nothing to exclude: expected 'characters' or 'terms'"
            )
        self._matcher = TermMatcher(found)

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        for index, character in enumerate(reply):
            if not self._characters.isdisjoint(_plain(character)):
                return self.failed(f"holds {character!r}", (index, index + 1))
        hit = self._matcher.first(reply)
        if hit:
            return self.failed(f"says {quote(hit.text)}", hit.span)
        num_words = len(words(reply))
        if num_words < MIN_WORDS:
            return self.undecided(f"only {num_words} words: too short to tell")
        return self.passed("holds none of what is excluded")


@lru_cache(maxsize=4096)
def _plain(character: str) -> str:
    """Return a character with what it is a form of, and the digit that it stands for."""
    forms = character + unicodedata.normalize("NFKC", character)
    digit = unicodedata.digit(character, None)
    return forms if digit is None else f"{forms}{digit}"
