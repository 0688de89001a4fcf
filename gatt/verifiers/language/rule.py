"""`language`: the language that a reply is written in, sentence by sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gatt.runs.suggest import did_you_mean
from gatt.verifiers.base import Verdict
from gatt.verifiers.language.probabilities import LANGUAGES, NEIGHBOURS, likeliest
from gatt.verifiers.language.sentences import (
    MIN_SURE_ENGLISH_WORDS,
    english_words,
    foreign_sentence,
)
from gatt.verifiers.language.text import (
    MIN_PIECE_WORDS,
    MIN_WORDS,
    clauses,
    is_connected,
    num_english_words,
    own_script_share,
    plain_text,
    telling_text,
    weight,
)
from gatt.verifiers.rule import Rule, quote
from gatt.verifiers.text.words import spaceless_characters, words

MIN_SPACELESS_CHARACTERS = 4
MIN_PROBABILITY = 0.72
"""Least probability of the asked language for a pass."""
MIN_NEAR_PROBABILITY = 0.9
"""The same for Danish and Norwegian, which share whole sentences."""
MAX_RULED_OUT = 0.02
"""Largest probability of the asked language for a fail."""
MAX_CLAUSE_RULED_OUT = 0.005
"""The same of a clause, which says less than a reply does."""
MIN_ENGLISH_WORDS = 2
MAX_FOREIGN_SHARE = 0.22
MAX_FOREIGN_SCRIPT_SHARE = 0.35

_NAMES = LANGUAGES | NEIGHBOURS
_NEAR = frozenset({"da", "nb"})
# Characters of nearly every Chinese sentence; Japanese writes the same words in kana.
_CHINESE_WORDS = re.compile("[的是了们这吗你我他她很没]")
_KANA = re.compile("[\u3040-\u30ff]")


@dataclass(frozen=True, kw_only=True)
class Language(Rule):
    """Passes if the reply is written in the language, all of it.

    Code, addresses, emoji, markdown, quoted titles and capitalised names inside a sentence are left out
    first. Undecided are fewer than `MIN_WORDS` words, a text whose probability of being in the language lies
    between `MAX_RULED_OUT` and `MIN_PROBABILITY`, and one with some English function words among few of its
    own. One sentence in another language is a fail ("Answer only in German." too), and so is a text in a
    neighbouring language (Ukrainian for Russian) and a mix: as many function words of English as of its own, or
    more than `MAX_FOREIGN_SHARE` of the letters in clauses of another language.

    Args:
        language: ISO 639-1 code, one of `LANGUAGES`.
    """

    kind = "language"
    version = 7

    language: str

    def __post_init__(self) -> None:
        if self.language not in LANGUAGES:
            hint = did_you_mean(self.language, LANGUAGES)
            known = ", ".join(sorted(LANGUAGES))
            raise ValueError(f"unknown language {self.language!r}{hint} (known: {known})")

    def decide(self, reply: str) -> Verdict:
        code, name = self.language, LANGUAGES[self.language]
        plain = plain_text(reply)
        text = telling_text(plain, code)
        num_words, num_spaceless = len(words(text)), spaceless_characters(text)
        if num_words < MIN_WORDS or 0 < num_spaceless == num_words < MIN_SPACELESS_CHARACTERS:
            return self.undecided(f"only {num_words} words: too short to tell the language")
        script_share = 1 - own_script_share(text, code)
        if script_share > MAX_FOREIGN_SCRIPT_SHARE:
            return self.failed(f"{script_share:.0%} in a script that {name} does not use")
        found, confidence, own = likeliest(text, code)
        if own <= MAX_RULED_OUT and is_connected(text):
            return self.failed(f"{_NAMES[found]}, not {name} ({confidence:.2f})")
        foreign = foreign_sentence(plain, code) or _mixed_in(self._clauses(text))
        if foreign:
            piece, other = foreign
            start = reply.find(piece)
            span = (start, start + len(piece)) if start >= 0 else None
            return self.failed(f"{quote(piece)} is {_NAMES[other]}", span)
        english, num_own = english_words(plain, code)
        if len(english) >= max(MIN_ENGLISH_WORDS, num_own):
            is_mix = len(english) >= MIN_SURE_ENGLISH_WORDS
            verdict = self.failed if is_mix else self.undecided
            return verdict(f"{name} ({own:.2f}), but English {quote(' '.join(english))} in it")
        enough = MIN_NEAR_PROBABILITY if code in _NEAR else MIN_PROBABILITY
        if own < enough:
            return self.undecided(f"perhaps {_NAMES[found]} ({confidence:.2f})")
        return self.passed(f"{name} ({own:.2f})")

    def _clauses(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield each clause of a text with the other language that it is in, or nothing."""
        parts = clauses(text)
        for clause in parts:
            num_words, num_english = len(words(clause)), 0
            if self.language != "en":
                num_english = num_english_words(clause)
            found, _, own = likeliest(clause, self.language)
            if num_english and (own <= 0.1 or (num_english > 1 and 3 * num_english >= num_words)):
                yield clause, "en"
            elif self.language == "ja" and spaceless_characters(clause) == num_words:
                # Headings and terms are written without kana.
                is_chinese = _CHINESE_WORDS.search(clause) and not _KANA.search(clause)
                yield clause, "zh" if is_chinese else ""
            else:
                is_other = own <= MAX_CLAUSE_RULED_OUT and num_words >= MIN_PIECE_WORDS
                yield clause, found if is_other and len(parts) > 1 else ""


def _mixed_in(parts: Iterable[tuple[str, str]]) -> tuple[str, str] | None:
    """Return the first part in another language with that language, if such parts are much of a text."""
    known = list(parts)
    foreign = [part for part in known if part[1]]
    total = sum(weight(piece) for piece, _ in known)
    is_mix = sum(weight(piece) for piece, _ in foreign) > MAX_FOREIGN_SHARE * total
    return foreign[0] if is_mix else None
