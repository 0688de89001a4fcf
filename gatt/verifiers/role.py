"""`role`: the reply does not step out of a role: it claims no other name and is no AI."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from gatt.verifiers.base import Verdict
from gatt.verifiers.phrases import Patterns, word_set
from gatt.verifiers.rule import Rule, Span, quote
from gatt.verifiers.text.folding import fold, fold_text
from gatt.verifiers.text.markup import without_quotations
from gatt.verifiers.text.matching import NO_TERMS, TermMatcher

_RE = Patterns("role")
_FIRST_NAMES = word_set("role", "first_names")
_TITLES = word_set("role", "titles")
_AN_AI = "calls itself an AI"


@dataclass(frozen=True, kw_only=True)
class RoleRule(Rule):
    """Passes unless the reply steps out of the role of its speaker.

    It does so if it calls itself an AI or an assistant, denies the role ("I am not Maria"), claims another
    name ("My name is Alex"), belongs to it ("I am Maria's nurse"), speaks to the user as the role ("Hello,
    Maria") or of it ("Maria was a nurse"). Any other reply passes: whether it knows who it is shows where a
    turn asks for it. What the reply quotes is not read. Names are found in English and after "my name is" of
    other languages.

    Args:
        names: the speaker's names, as they may be said; none for a speaker without a name.
        companies: for whom the speaker works; working for, or speaking for, another one is a break.
        titles: what the speaker may call itself though it sounds like a machine ("assistant", "chatbot").
    """

    kind = "role"
    version = 4

    names: TermMatcher = NO_TERMS
    companies: TermMatcher = NO_TERMS
    titles: TermMatcher = NO_TERMS

    @cached_property
    def _own(self) -> frozenset[str]:
        return frozenset(word for name in self.names.terms for word in _name_words(name))

    @cached_property
    def _breaks(self) -> tuple[tuple[str, re.Pattern[str]], ...]:
        """What each break is called, and its pattern on folded text."""
        breaks = [(_AN_AI, _RE.MACHINE)]
        if self.names:
            forms = sorted(
                {fold_text(name).strip() for name in self.names.terms}, key=len, reverse=True
            )
            name = "|".join(map(re.escape, forms))
            breaks += [
                (flaw, re.compile(_RE.text(key, NAME=name)))
                for flaw, key in (
                    ("denies the role", "DENIED"),
                    ("belongs to the role", "BELONGS"),
                    ("speaks to the role", "ADDRESSED"),
                    ("speaks of the role", "STORY"),
                )
            ]
        return tuple(breaks)

    def decide(self, reply: str) -> Verdict:
        own = without_quotations(reply)
        folded = fold(own)
        for flaw, pattern in self._breaks:
            for broken in pattern.finditer(folded.text):
                is_title = flaw == _AN_AI and self.titles.first(broken[0])
                if not is_title or _RE.ONLY_MACHINE.search(self._without_titles(broken[0])):
                    return self._of(reply, flaw, folded.span(*broken.span()))
        if self.companies and (other := self._other_company(own)):
            return self._of(reply, "speaks for another company", other)
        if self.names and (other := self._other_name(own)):
            return self._of(reply, "claims another name", other)
        return self.passed("does not step out of the role")

    def _of(self, reply: str, flaw: str, span: Span) -> Verdict:
        return self.failed(f"{flaw}: {quote(reply[slice(*span)])}", span)

    def _without_titles(self, folded: str) -> str:
        for hit in reversed(self.titles.hits(folded)):
            folded = folded[: hit.span[0]] + folded[hit.span[1] :]
        return folded

    def _other_company(self, reply: str) -> Span | None:
        """Return where the speaker works for a name that is neither a company nor a name of its own."""
        for match in _RE.WORKS_FOR.finditer(reply):
            said = match["said"]
            is_own = self.companies.first(said) or (self.names and self.names.first(said))
            # "Welcome to Tuttle's" at Tuttle's Furniture.
            is_short = any(_name_words(said) <= _name_words(name) for name in self.companies.terms)
            if not is_own and not is_short:
                return match.span()
        return None

    def _other_name(self, reply: str) -> Span | None:
        for pattern in (_RE.NAMED, _RE.NAMED_ELSEWHERE, _RE.PRESENTED, _RE.CALLED, _RE.SIGNED):
            for match in pattern.finditer(reply):
                given = match.groupdict()
                said = _name_words(given["said"] or given.get("small") or "")
                is_doubtful = given["said"] is None or pattern in (_RE.CALLED, _RE.SIGNED)
                if is_doubtful and _FIRST_NAMES.isdisjoint(said):
                    continue
                if self._own.isdisjoint(said) and not _RE.SUPPOSED.search(reply[: match.start()]):
                    return match.span()
        return None


def _name_words(name: str) -> set[str]:
    folded = fold_text(name).replace("'s", "").replace(".", " ")
    return set(re.findall(r"[^\W_]+", folded)) - _TITLES
