"""Rules about single words: `terms`, `excludes`, `one_of`, `price`."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Annotated

from annotated_types import Len

from gatt.verifiers.base import Verdict
from gatt.verifiers.phrases import Patterns
from gatt.verifiers.rule import Rule, quote
from gatt.verifiers.text.folding import fold, fold_text
from gatt.verifiers.text.matching import NO_TERMS, TermMatcher, Terms
from gatt.verifiers.text.task_talk import without_task_talk
from gatt.verifiers.text.words import words

MIN_WORDS = 3
"""Words of a reply from which it has left something out; a shorter one has said too little."""
SingleCharacters = tuple[Annotated[str, Len(1, 1)], ...]
_RE = Patterns("forms")


def _without(rule: Rule, reply: str) -> Verdict:
    num_words = len(words(reply))
    if num_words < MIN_WORDS:
        return rule.undecided(f"only {num_words} words: too short to tell")
    return rule.passed("says nothing of what is excluded")


@dataclass(frozen=True, kw_only=True)
class TermsRule(Rule):
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

    any_of: TermMatcher = NO_TERMS
    all_of: TermMatcher = NO_TERMS
    none_of: TermMatcher = NO_TERMS

    def __post_init__(self) -> None:
        if not (self.any_of or self.all_of or self.none_of):
            raise ValueError("no term: expected at least one in 'any_of', 'all_of' or 'none_of'")

    @cached_property
    def _each(self) -> list[TermMatcher]:
        return [TermMatcher([term]) for term in self.all_of.terms]

    def decide(self, reply: str) -> Verdict:
        forbidden = self.none_of.first(reply)
        if forbidden:
            return self.failed(f"says {quote(forbidden.text)}", forbidden.span)
        said = without_task_talk(reply)
        for term in self._each:
            if term.first(said) is None:
                return self.failed(f"does not say {quote(str(term))}")
        counted = self.any_of or self.all_of
        if not counted:
            return _without(self, reply)
        hit = counted.first(said)
        if hit:
            return self.passed(f"says {quote(hit.text)}", hit.span)
        return self.failed(f"says none of: {counted}")


@dataclass(frozen=True, kw_only=True)
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

    characters: SingleCharacters = ()
    terms: TermMatcher = NO_TERMS

    def __post_init__(self) -> None:
        if not (self.characters or self.terms):
            raise ValueError("nothing to exclude: expected 'characters' or 'terms'")

    def decide(self, reply: str) -> Verdict:
        for index, character in enumerate(reply):
            if any(form in self.characters for form in _forms(character)):
                return self.failed(f"holds {character!r}", (index, index + 1))
        hit = self.terms.first(reply)
        return self.failed(f"says {quote(hit.text)}", hit.span) if hit else _without(self, reply)


@lru_cache(maxsize=4096)
def _forms(character: str) -> str:
    """Return a character with what it is a form of, and the digit that it stands for."""
    digit = unicodedata.digit(character, None)
    forms = character + unicodedata.normalize("NFKC", character)
    return forms if digit is None else f"{forms}{digit}"


@dataclass(frozen=True, kw_only=True)
class OneOf(Rule):
    """Passes if the reply says one of the texts and nothing else.

    Case, marks, markdown and white space make no difference.

    Args:
        options: the texts, at least one, each with a word in it.
    """

    kind = "one_of"

    options: Terms

    def decide(self, reply: str) -> Verdict:
        said = words(fold_text(reply))
        if said not in [words(fold_text(option)) for option in self.options.terms]:
            return self.failed(f"says {quote(reply)}, none of the options")
        start = len(reply) - len(reply.lstrip())
        return self.passed(f"says {quote(reply)}", (start, start + len(reply.strip())))


class Price(Rule):
    """Passes if the reply names a price: an amount of a currency, or what something costs.

    English words, and the signs and codes of currencies in any language. A currency without an
    amount ("we take euros") is no price, nor is "free" or "at no charge".
    """

    kind = "price"

    def decide(self, reply: str) -> Verdict:
        folded = fold(reply)
        match = _RE.PRICE.search(folded.text)
        if not match:
            return self.failed("names no price")
        span = folded.span(*match.span())
        return self.passed(f"names a price: {quote(reply[slice(*span)])}", span)
