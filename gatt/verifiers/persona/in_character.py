"""`in_character`: the reply speaks as the figure or persona, not about it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from gatt.verifiers.base import Verdict
from gatt.verifiers.persona.facts import Facts, PersonaFacts
from gatt.verifiers.persona.speaker import (
    first_person_word,
    is_english,
    is_foreign,
    is_of_another,
    lives_there,
    tied_hits,
)
from gatt.verifiers.phrases import Patterns, word_set
from gatt.verifiers.rule import Rule, Span, quote
from gatt.verifiers.text.folding import fold, fold_text
from gatt.verifiers.text.matching import TermMatcher, Terms
from gatt.verifiers.text.task_talk import without_task_talk

_RE = Patterns("in_character")
_OWN_LIFE = Patterns("own_life")
_MOSTLY_QUOTED = 0.6
_THIRD_PERSON = re.compile(r"\b(?:he|she|his|her)\b")
_WORD = re.compile(r"[\w'’]+")
_CLAUSE_OPENERS = word_set("persons", "clause_openers")


@dataclass(frozen=True, kw_only=True)
class InCharacter(Rule):
    """Passes if the reply speaks as one whose own the terms are, and stays in the role.

    A reply breaks the role if it speaks as an assistant ("as an AI", "I cannot pretend"), denies the role
    ("I am not Napoleon"), contradicts its facts ("My name is Sara"; English only), or tells the story of a
    term in the third person ("Napoleon was a general. He …"). An English reply must tie a term to its
    speaker: the name by an introduction ("I am Napoleon", not "I admire Napoleon"), any other by "my" or by
    an "I" in the same sentence that does more than like it, ask about it or deny it ("I led my army", not
    "I like armies"). In other languages a term and any first-person word will do. First-person words
    inside quotation marks do not count, unless nearly all is quoted. A reply that names no term but speaks
    of a life of its own is undecided.

    Args:
        any_of: what only this figure or persona would name: its own name first, then
            places, works; terms as `TermMatcher` takes them, at least one.
        facts: `name`, `age`, `city` and `work`, those that are known. A reply need not
            say them, but it must not say others.
        is_past: whether the figure lived before our time: a speaker with a life of today
            ("my boss", "the printer") is another one, and to live in a country of the figure's is
            not enough.
    """

    kind = "in_character"
    version = 7

    any_of: Terms
    facts: Facts | None = None
    is_past: bool = False

    @cached_property
    def _facts(self) -> PersonaFacts:
        return PersonaFacts(self.facts or Facts(), self.any_of.terms)

    @cached_property
    def _name(self) -> TermMatcher:
        return TermMatcher(self.any_of.terms[:1])

    @cached_property
    def _denial_and_story(self) -> tuple[re.Pattern[str], re.Pattern[str]]:
        folded = sorted({fold_text(t).strip() for t in self.any_of.terms}, key=len, reverse=True)
        either = "|".join(map(re.escape, folded))
        denial, story = (_RE.text(name, TERM=either) for name in ("DENIED", "STORY"))
        return re.compile(denial), re.compile(story)

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        folded = fold(reply)
        denial, story = self._denial_and_story
        broken = _RE.BREAKS.search(folded.text) or denial.search(folded.text)
        if broken:
            return self._of(reply, "breaks character", folded.span(*broken.span()))
        own = _without_others(without_task_talk(reply))
        if contradicted := self._facts.contradiction(own):
            return self._of(reply, f"another {contradicted[0]} than the role's", contradicted[1])
        plain = fold(own)
        if self.is_past and (modern := _modern_claim(plain.text)):
            return self._of(reply, "a life of today", plain.span(*modern))
        hit = self.any_of.first(reply)
        if hit is None:
            missing = f"names none of: {self.any_of}"
            speaks = first_person_word(own) is not None and is_foreign(own)
            if speaks or _speaks_of_own_life(plain.text):
                return self.undecided(f"speaks of a life of its own, and {missing}")
            return self.failed(missing)
        spoken = self._without_regnal_numbers(own)
        word = first_person_word(spoken)
        if word is None:
            return self.failed("does not speak in the first person", hit.span)
        told = story.search(folded.text)
        if told and _THIRD_PERSON.search(folded.text, told.end()):
            return self._of(reply, "speaks about itself", folded.span(*told.span()))
        if is_english(spoken):
            if self.is_past and is_of_another(spoken, self._name):
                return self.failed(
                    f"speaks of {quote(self._name.terms[0])} as of another", hit.span
                )
            tied = list(tied_hits(reply, spoken, self.any_of, self._name))
            if not tied:
                return self.failed(f"does not speak of {quote(hit.text)} as its own", hit.span)
            strong = [h for h in tied if not (self.is_past and lives_there(spoken, h))]
            if not strong:
                return self.undecided(f"only lives in {quote(tied[0].text)}", tied[0].span)
            hit = strong[0]
        if work := self._facts.perhaps_other_work(own):
            return self.undecided(f"perhaps another work: {quote(reply[slice(*work)])}", work)
        return self.passed(f"says {quote(hit.text)} and {word!r}", hit.span)

    def _of(self, reply: str, flaw: str, span: Span) -> Verdict:
        return self.failed(f"{flaw}: {quote(reply[slice(*span)])}", span)

    def _without_regnal_numbers(self, text: str) -> str:
        names = fold_text(self._name.terms[0]).split()

        def cut(match: re.Match[str]) -> str:
            before, name = match["before"] or "", match["name"]
            is_numbered = (
                name[0].isupper()
                and fold_text(name) in names
                and before.strip().lower() not in _CLAUSE_OPENERS
            )
            return f"{before}{name}  " if is_numbered else match[0]

        return _RE.REGNAL.sub(cut, text)


def _modern_claim(folded: str) -> Span | None:
    """Return where the speaker claims a life of today: a figure of history has no printer."""
    for found in (*_OWN_LIFE.MODERN.finditer(folded), *_OWN_LIFE.WORKS_IN.finditer(folded)):
        if not _OWN_LIFE.STRANGE.search(found[0]):
            return found.span()
    return None


def _speaks_of_own_life(folded: str) -> bool:
    """Whether the speaker tells of things or deeds of its own, as an assistant does not.

    A speaker with a bench, a shop or a class may be the one that was asked for, although no term of the
    role is named: a rule cannot tell.
    """
    return bool(_OWN_LIFE.OWN_LIFE.search(folded)) and not _OWN_LIFE.ASSISTS.search(folded)


def _without_others(reply: str) -> str:
    """Return the reply, as long as it was, without the "I" of those whom it quotes.

    A reply that is nearly all quotation is one itself and stays as it is.
    """
    num_outside = sum(map(str.isalpha, _RE.QUOTED.sub(" ", reply)))
    if num_outside <= (1 - _MOSTLY_QUOTED) * sum(map(str.isalpha, reply)):
        return reply

    def silence(word: re.Match[str]) -> str:
        return " " * len(word[0]) if first_person_word(word[0]) else word[0]

    return _RE.QUOTED.sub(lambda quoted: _WORD.sub(silence, quoted[0]), reply)
