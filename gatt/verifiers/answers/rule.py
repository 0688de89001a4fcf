"""`answer`: the reply says one of the accepted answers, in any language, and means it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from gatt.verifiers.answers.claims import (
    is_claimed_wrong,
    is_denied,
    mentions,
)
from gatt.verifiers.answers.options import other_option
from gatt.verifiers.answers.terms import Term, forms_of
from gatt.verifiers.answers.tokens import Token, tokens
from gatt.verifiers.base import Verdict
from gatt.verifiers.rule import Rule, Span, quote
from gatt.verifiers.text.degenerate import NO_LETTERS, degenerate
from gatt.verifiers.text.markup import visible
from gatt.verifiers.text.matching import NO_TERMS, TermMatcher

_MOST_OTHER_NUMBERS: Final = 4


@dataclass(frozen=True, kw_only=True)
class Answer(Rule):
    """Passes if the reply says one of the accepted answers and means it, and claims no wrong one.

    Numbers count by value: "8", "eight" and "8.0" are one, and "18", "1/8", "8:30" and "8th" are others.
    Words are found whole, in any case, with or without accents, in their plural; in languages other than
    English also with other endings. A comma in an answer parts items that the reply has in that order.
    "b-r-e-a-d" is found with any marks between its letters. "€6", "6 EUR" and "6 euros" are one, and so are
    "4 p.m." and "4 pm". Number words of other languages than English
    have to be listed. An answer that is denied ("not eight", "eight is wrong") does not count, and one
    beside another option fails ("eight or ten", "8-10").

    Args:
        any_of: accepted answers, as words or numbers, in any language.
        none_of: wrong answers. A wrong one may be named to deny it ("not six") or to compare ("than a mouse").
    """

    kind = "answer"
    version = 4
    reads_sense = True

    any_of: TermMatcher = NO_TERMS
    none_of: TermMatcher = NO_TERMS

    def __post_init__(self) -> None:
        if not (self.any_of or self.none_of):
            raise ValueError("no answer: expected at least one in 'any_of' or 'none_of'")

    def check(self, reply: str) -> Verdict:
        """Return the verdict on one reply: as every rule, but that a number alone is an answer."""
        is_number_alone = degenerate(reply) == NO_LETTERS and any(map(str.isdigit, reply))
        return self.decide(reply) if is_number_alone else super().check(reply)

    def seen_of(self, reply: str) -> str:
        """Return what a reader sees; addresses too, where one is an accepted or a wrong answer."""
        return visible(reply, self._asks_for_addresses)

    @cached_property
    def _asks_for_addresses(self) -> bool:
        return any(visible(text) != text for text in (*self.any_of.terms, *self.none_of.terms))

    @cached_property
    def right(self) -> tuple[Term, ...]:
        """The accepted answers."""
        terms = tuple(map(Term, self.any_of.terms))
        is_amount = any(term.is_number for term in terms)
        return tuple(replace(term, is_amount=is_amount) for term in terms)

    @cached_property
    def _wrong(self) -> tuple[Term, ...]:
        is_amount = any(term.is_number for term in map(Term, self.none_of.terms))
        return tuple(Term(text, is_amount) for text in self.none_of.terms)

    def decide(self, reply: str) -> Verdict:
        reply = self.seen_of(reply)
        said = tokens(reply)
        wrong = [m for m in mentions(self._wrong, reply, said) if is_claimed_wrong(m, reply, said)]
        if wrong:
            return self.failed(f"says {quote(reply[slice(*wrong[0].span)])}", wrong[0].span)
        if not self.any_of:
            return self.passed("says none of the wrong answers")
        said_right = list(mentions(self.right, reply, said))
        meant = [m for m in said_right if not is_denied(m, reply, said)]
        if not meant:
            evidence = f"says none of: {self.any_of}"
            denied = next(iter(said_right), None)
            if denied:
                return self.failed(f"denies {quote(reply[slice(*denied.span)])}", denied.span)
            return self.failed(evidence)
        for mention in meant:
            if other := other_option(mention, said, self._is_wrong, self.is_right):
                return self.failed(f"names two options, {other.text!r} the other", other.span)
        if len(self._other_numbers(said)) > _MOST_OTHER_NUMBERS:
            return self.failed("names many numbers")
        return self.passed(f"says {quote(reply[slice(*meant[0].span)])}", meant[0].span)

    def named(self, text: str) -> frozenset[str]:
        """Return the accepted answers that a text says, meant or not."""
        return frozenset(
            one.term.text for one in mentions(self.right, text, tokens(self.seen_of(text)))
        )

    def meant(self, reply: str) -> list[Span]:
        """Return where a reply says an accepted answer and means it."""
        seen = self.seen_of(reply)
        said = tokens(seen)
        return [
            one.span for one in mentions(self.right, seen, said) if not is_denied(one, seen, said)
        ]

    def names_wrong(self, text: str) -> bool:
        """Whether a text says a wrong answer, meant or not."""
        return any(True for _ in mentions(self._wrong, text, tokens(self.seen_of(text))))

    def is_right(self, token: Token) -> bool:
        """Whether one token is an accepted answer."""
        return any(
            not token.values.isdisjoint(term.tokens[0].values)
            if token.kind == "number"
            else term.end_at((token,), 0, False) is not None
            for term in self.right
            if len(term.tokens) == 1
        )

    def _is_wrong(self, rest: tuple[Token, ...]) -> bool:
        return any(term.end_at(rest, 0, False) for term in self._wrong)

    def _other_numbers(self, said: tuple[Token, ...]) -> set[str]:
        if not any(term.is_number for term in self.right) or any(t.text == "=" for t in said):
            return set()
        return {t.text for t in said if t.kind == "number" and not self.is_right(t)}


def also_counts(rule: Rule, reply: str, things: str) -> str | None:
    """Return that a reply says another number of some things and the right one of others, or None."""
    if not isinstance(rule, Answer) or not any(term.is_number for term in rule.right):
        return None
    said = tokens(visible(reply))
    forms = forms_of(things, is_name=False)
    counted: dict[bool, Token] = {}
    for at, token in enumerate(said):
        near = said[at + 1 : at + 3]
        if token.kind == "number" and any(one.text in forms for one in near):
            counted.setdefault(rule.is_right(token), token)
        elif (
            token.kind == "number" and rule.is_right(token) and (not near or near[0].kind == "mark")
        ):
            return None
    other = counted.get(False)
    return f"says {other.text!r} of the {things}" if other and True not in counted else None
