"""`in_character`: the reply speaks as the figure or persona, not about it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from gatt.errors import VerifierError
from gatt.verifiers.base import Examples, Verdict
from gatt.verifiers.first_person import first_person_word
from gatt.verifiers.folding import fold, fold_text
from gatt.verifiers.matching import TermMatcher
from gatt.verifiers.rule import Rule, quote, require_texts
from gatt.verifiers.words import is_letter

_BREAKS = re.compile(
    r"\bas an? (?:ai\b|a\.i\.|artificial|large language|language model|virtual|digital assistant)"
    r"|\b(?:large |ai )?language models?\b|\bsmollm\w*|\bchat ?gpt\b|\bopenai\b|\bhugging ?face\b"
    r"|\b(?:i am|i'm|i was|being) (?:just |only |actually |really )?(?:an? )?(?:ai\b|a\.i\."
    r"|(?:ai|virtual|digital|helpful|automated|friendly|computer|conversational)[ -]"
    r"(?:ai |chat)?(?:assistant|model|program|bot|agent)|chat ?bot\b|bot\b|artificial intelligence"
    r"|assistant(?:[.!,;]|$| (?:designed|created|trained|programmed|made|developed|built|here to)))"
    r"|\b(?:i (?:cannot|can't|can not|won't|will not)|i'm (?:not able|unable) to|i am (?:not able"
    r"|unable) to) (?:pretend|role-?play|impersonate|act as|take on the (?:role|persona))"
    r"|\bi (?:do not|don't) have (?:a )?(?:personal|feelings|emotions|real|physical|human)\b"
    r"|\bmy training data\b|\bi(?:'m| am) pretending\b|\bi(?:'ll| will) (?:pretend|act as)\b"
    r"|\bje suis une? (?:ia\b|intelligence artificielle"
    r"|modele de langage|assistant virtuel)"  # codespell:ignore langage
    r"|\bich bin (?:eine? )?(?:ki\b|kunstliche intelligenz|sprachmodell)"
    r"|\bsoy una? (?:ia\b|inteligencia artificial|modelo de lenguaje|asistente virtual)"
)
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|«[^»]*»|„[^“”]*[“”]")
_MOSTLY_QUOTED = 0.6
_ITS_OWN_STORY = r"\W+(?:[\w'-]+\W+){0,3}?(?:was|is)\s+(?:an?|the|born|one|known|considered)\b"
_THIRD_PERSON = re.compile(r"\b(?:he|she|his|her)\b")
_REGNAL = re.compile(r"(?P<before>\b[^\W\d_]+[ \n]+)?(?P<name>[^\W\d_]+) I\b(?!['’])")
# "In Berlin I cycle", "As Napoleon I rule": a clause begins, no number stands there.
_CLAUSE_OPENERS = frozenset({
    "in", "at", "from", "near", "around", "across", "over", "outside", "through", "as", "for",
})  # fmt: skip


class InCharacter(Rule):
    """Passes if the reply names one of the terms, says "I", and stays in the role.

    A reply breaks the role if it speaks as an assistant ("as an AI", "I cannot
    pretend"), denies the role ("I am not Napoleon"), or tells the story of a
    term in the third person ("Napoleon was a general. He …"). First-person
    words inside quotation marks do not count, unless nearly all is quoted; the
    "I" of "Napoleon I" is a number. English and the catalogue's languages are
    understood.

    Args:
        any_of: what only this figure or persona would name: the name, places,
            works; terms as `TermMatcher` takes them, at least one.

    Raises:
        VerifierError: `any_of` is no list of texts, or has none.
    """

    kind = "in_character"
    examples: ClassVar[tuple[Examples, ...]] = (
        Examples(
            {"any_of": ["Napoleon", "Bonaparte", "Austerlitz", "Corsica"]},
            good=(
                "I am Napoleon Bonaparte, Emperor of the French!",
                "My greatest day was at Austerlitz, where the sun rose for us.",
                "Je suis Napoléon, empereur des Français.",
            ),
            bad=(
                "Napoleon was a French emperor.",
                "As an AI, I cannot be Napoleon.",
                "I like tea very much.",
                'Napoleon said: "I came back from Elba."',
                "I am not Napoleon, but I can help.",
                "Napoleon I was crowned in 1804.",
            ),
        ),
    )

    def __init__(self, *, any_of: Sequence[str]) -> None:
        terms = require_texts(self.kind, "any_of", any_of)
        if not terms:
            raise VerifierError(f"verifier {self.kind!r}: 'any_of' is empty: expected a term")
        self._terms = terms
        self._matcher = TermMatcher(terms)
        folded = sorted({fold_text(term).strip() for term in terms}, key=len, reverse=True)
        self._name_words = {word for term in folded for word in term.split()}
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
        broken = _BREAKS.search(folded.text) or self._denial.search(folded.text)
        if broken:
            span = folded.span(*broken.span())
            return self.failed(f"breaks character: {quote(reply[slice(*span)])}", span)
        hit = self._matcher.first(reply)
        if hit is None:
            return self.failed(f"names none of: {', '.join(self._terms[:4])}")
        said = first_person_word(self._without_regnal_numbers(_unquoted(reply)))
        if said is None:
            return self.failed("does not speak in the first person", hit.span)
        story = self._story.search(folded.text)
        if story and _THIRD_PERSON.search(folded.text, story.end()):
            span = folded.span(*story.span())
            return self.failed(f"speaks about itself: {quote(reply[slice(*span)])}", span)
        return self.passed(f"says {quote(hit.text)} and {said!r}", hit.span)

    def _without_regnal_numbers(self, text: str) -> str:
        def cut(match: re.Match[str]) -> str:
            before, name = match["before"] or "", match["name"]
            is_numbered = (
                name[0].isupper()
                and fold_text(name) in self._name_words
                and before.strip().lower() not in _CLAUSE_OPENERS
            )
            return before + name if is_numbered else match[0]

        return _REGNAL.sub(cut, text)


def _unquoted(reply: str) -> str:
    """Return the reply without quotations, or whole if it is one itself."""
    rest = _QUOTED.sub(" ", reply)
    num_letters = sum(map(is_letter, reply))
    if sum(map(is_letter, rest)) <= (1 - _MOSTLY_QUOTED) * num_letters:
        return reply
    return rest
