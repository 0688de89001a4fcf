"""`in_character`: the reply speaks as the figure or persona, not about it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from gatt.errors import VerifierError
from gatt.verifiers.base import Verdict
from gatt.verifiers.persona.facts import PersonaFacts
from gatt.verifiers.persona.first_person import first_person_word, is_english, is_foreign
from gatt.verifiers.persona.own_life import modern_claim, speaks_of_own_life
from gatt.verifiers.persona.speaker import is_of_another, lives_there, tied_hits
from gatt.verifiers.phrases import Patterns
from gatt.verifiers.rule import Rule, quote, require_texts, shipped_examples
from gatt.verifiers.text.folding import fold, fold_text
from gatt.verifiers.text.matching import TermMatcher
from gatt.verifiers.text.task_talk import without_task_talk
from gatt.verifiers.text.words import is_letter

_RE = Patterns("in_character")
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|«[^»]*»|„[^“”]*[“”]")
_MOSTLY_QUOTED = 0.6
_ITS_OWN_STORY = r"\W+(?:[\w'-]+\W+){0,3}?(?:was|is)\s+(?:an?|the|born|one|known|considered)\b"
_THIRD_PERSON = re.compile(r"\b(?:he|she|his|her)\b")
_WORD = re.compile(r"[\w'’]+")
_REGNAL = re.compile(r"(?P<before>\b[^\W\d_]+[ \n]+)?(?P<name>[^\W\d_]+) I\b(?!['’])")
# "In Berlin I cycle", "As Napoleon I rule": a clause begins, no number stands there.
_CLAUSE_OPENERS = frozenset({
    "in", "at", "from", "near", "around", "across", "over", "outside", "through", "as", "for",
})  # fmt: skip


class InCharacter(Rule):
    """Passes if the reply speaks as one whose own the terms are, and stays in the role.

    A reply breaks the role if it speaks as an assistant ("as an AI", "I cannot
    pretend"), denies the role ("I am not Napoleon"), says of itself what contradicts
    its facts ("My name is Sara", see `persona_facts`; English only), or tells the story of a
    term in the third person ("Napoleon was a general. He …"). An English reply
    must tie a term to its speaker: the name by an introduction ("I am Napoleon",
    not "I admire Napoleon"), any other by "my" or by an "I" in the same sentence
    that does more than like it, ask about it or deny it ("I led my army", not "I
    like armies"). In other languages of the catalogue a term and any
    first-person word will do. First-person words inside quotation marks do not
    count, unless nearly all is quoted; the "I" of "Napoleon I" is a number. A reply
    that names no term but speaks of a life of its own is undecided.

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
    examples = shipped_examples(kind)

    def __init__(
        self,
        *,
        any_of: Sequence[str],
        facts: Mapping[str, Any] | None = None,
        is_past: bool = False,
    ) -> None:
        terms = require_texts(self.kind, "any_of", any_of)
        if not terms:
            raise VerifierError(f"verifier {self.kind!r}: 'any_of' is empty: expected a term")
        self._terms = terms
        self._facts = PersonaFacts(self.kind, {} if facts is None else facts, terms)
        if not isinstance(is_past, bool):
            raise VerifierError(
                f"verifier {self.kind!r}: 'is_past' is {is_past!r}: expected true or false"
            )
        self._is_past = is_past
        self._matcher = TermMatcher(terms)
        self._name = TermMatcher(terms[:1])
        folded = sorted({fold_text(term).strip() for term in terms}, key=len, reverse=True)
        self._name_words = set(fold_text(terms[0]).split())
        either = "|".join(re.escape(term) for term in folded)
        self._denial = re.compile(
            rf"\bi(?:'m| am) (?:not|no) (?:really |actually )?(?:an? |the )?(?:{either})\b"
        )
        self._story = re.compile(
            rf"(?:^|[.!?\n]\s*)(?:{either}){_ITS_OWN_STORY}"
            rf"|\babout (?:{either})\b[^.!?\n]*[.!?](?=\s+(?:he|she)\b)"
        )

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        folded = fold(reply)
        broken = _RE.BREAKS.search(folded.text) or self._denial.search(folded.text)
        if broken:
            span = folded.span(*broken.span())
            return self.failed(f"breaks character: {quote(reply[slice(*span)])}", span)
        own = _without_others(without_task_talk(reply))
        other = self._facts.contradiction(own)
        if other:
            said = quote(reply[slice(*other.span)])
            return self.failed(f"another {other.fact} than the role's: {said}", other.span)
        plain = fold(own)
        modern = modern_claim(plain.text) if self._is_past else None
        if modern:
            span = plain.span(*modern)
            return self.failed(f"a life of today: {quote(reply[slice(*span)])}", span)
        hit = self._matcher.first(reply)
        if hit is None:
            missing = f"names none of: {', '.join(self._terms[:4])}"
            speaks = first_person_word(own) is not None and is_foreign(own)
            if speaks or speaks_of_own_life(plain.text):
                return self.undecided(f"speaks of a life of its own, and {missing}")
            return self.failed(missing)
        spoken = self._without_regnal_numbers(own)
        word = first_person_word(spoken)
        if word is None:
            return self.failed("does not speak in the first person", hit.span)
        story = self._story.search(folded.text)
        if story and _THIRD_PERSON.search(folded.text, story.end()):
            span = folded.span(*story.span())
            return self.failed(f"speaks about itself: {quote(reply[slice(*span)])}", span)
        if is_english(spoken):
            if self._is_past and is_of_another(spoken, self._name):
                return self.failed(f"speaks of {quote(self._terms[0])} as of another", hit.span)
            tied = list(tied_hits(reply, spoken, self._matcher, self._name))
            if not tied:
                return self.failed(f"does not speak of {quote(hit.text)} as its own", hit.span)
            strong = [h for h in tied if not (self._is_past and lives_there(spoken, h))]
            if not strong:
                return self.undecided(f"only lives in {quote(tied[0].text)}", tied[0].span)
            hit = strong[0]
        work = self._facts.perhaps_other_work(own)
        if work:
            return self.undecided(f"perhaps another work: {quote(reply[slice(*work)])}", work)
        return self.passed(f"says {quote(hit.text)} and {word!r}", hit.span)

    def _without_regnal_numbers(self, text: str) -> str:
        def cut(match: re.Match[str]) -> str:
            before, name = match["before"] or "", match["name"]
            is_numbered = (
                name[0].isupper()
                and fold_text(name) in self._name_words
                and before.strip().lower() not in _CLAUSE_OPENERS
            )
            return f"{before}{name}  " if is_numbered else match[0]

        return _REGNAL.sub(cut, text)


def _without_others(reply: str) -> str:
    """Return the reply, as long as it was, without the "I" of those whom it quotes.

    A reply that is nearly all quotation is one itself and stays as it is.
    """
    rest = _QUOTED.sub(" ", reply)
    num_letters = sum(map(is_letter, reply))
    if sum(map(is_letter, rest)) <= (1 - _MOSTLY_QUOTED) * num_letters:
        return reply
    return _QUOTED.sub(_silence, reply)


def _silence(quoted: re.Match[str]) -> str:
    return _WORD.sub(
        lambda word: " " * len(word[0]) if first_person_word(word[0]) else word[0], quoted[0]
    )
