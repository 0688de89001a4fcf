"""`language`: the language that a reply is written in, sentence by sentence."""

from __future__ import annotations

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
    MIN_WORDS,
    is_connected,
    own_script_share,
    plain_text,
    telling_text,
)
from gatt.verifiers.rule import Rule, quote
from gatt.verifiers.text.words import spaceless_characters, words

MIN_SPACELESS_CHARACTERS = 4
MIN_PROBABILITY = 0.72
"""Least probability of the asked language for a pass."""
MAX_RULED_OUT = 0.02
"""Largest probability of the asked language for a fail."""
MIN_ENGLISH_WORDS = 2
MAX_FOREIGN_SCRIPT_SHARE = 0.35

_NAMES = LANGUAGES | NEIGHBOURS


@dataclass(frozen=True, kw_only=True)
class Language(Rule):
    """Passes if the reply is written in the language, all of it.

    Code, addresses, emoji, markdown, quoted titles and capitalised names inside a sentence are left out
    first. Undecided are fewer than `MIN_WORDS` words, a text whose probability of being in the language lies
    between `MAX_RULED_OUT` and `MIN_PROBABILITY`, and one with some English function words among few of its
    own. One sentence in another language is a fail ("Answer only in German." too), and so is a text in a
    neighbouring language (Ukrainian for Russian) and a mix: as many function words of English as of its own.

    Args:
        language: ISO 639-1 code, one of `LANGUAGES`.
    """

    kind = "language"
    version = 8

    language: str

    def __post_init__(self) -> None:
        if self.language not in LANGUAGES:
            hint = did_you_mean(self.language, LANGUAGES)
            codes = ", ".join(sorted(LANGUAGES))
            raise ValueError(f"unknown language {self.language!r}{hint} (known: {codes})")

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
        likely, confidence, own = likeliest(text, code)
        if own <= MAX_RULED_OUT and is_connected(text):
            return self.failed(f"{_NAMES[likely]}, not {name} ({confidence:.2f})")
        foreign = foreign_sentence(plain, code)
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
        if own < MIN_PROBABILITY:
            return self.undecided(f"perhaps {_NAMES[likely]} ({confidence:.2f})")
        return self.passed(f"{name} ({own:.2f})")
