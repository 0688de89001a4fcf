"""`language`: the language that a reply is written in, sentence by sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gatt.runs.suggest import did_you_mean
from gatt.verifiers.base import Verdict
from gatt.verifiers.language.clauses import clauses, num_english_words
from gatt.verifiers.language.probabilities import LANGUAGES, detector, probabilities
from gatt.verifiers.language.sentences import (
    english_words,
    foreign_sentence,
    is_half_english,
    is_short_of_function_words,
)
from gatt.verifiers.language.siblings import alien_words, sibling_of
from gatt.verifiers.language.text import (
    MIN_PIECE_WORDS,
    MIN_WORDS,
    foreign_script_share,
    is_connected,
    pieces,
    plain_text,
    telling_text,
    weight,
)
from gatt.verifiers.rule import Rule, quote
from gatt.verifiers.text.words import spaceless_characters, words

__all__ = ["LANGUAGES", "Language", "detector"]

MIN_SPACELESS_CHARACTERS = 4
MIN_PROBABILITY = 0.72
"""Least probability of the asked language for a pass."""
MIN_NEAR_PROBABILITY = 0.9
"""The same for Danish and Norwegian, which share whole sentences."""
MAX_RULED_OUT = 0.02
"""Largest probability of the asked language for a fail."""
# A window cut out of a sentence says less than a sentence does.
MAX_WINDOW_RULED_OUT = 0.005
MIN_ENGLISH_WORDS = 2
MAX_FOREIGN_SHARE = 0.22
MAX_FOREIGN_SCRIPT_SHARE = 0.35

_SCRIPTS = {"el": "greek", "ru": "cyrillic", "zh": "han", "ja": "japanese", "ko": "hangul"}
_NEAR = frozenset({"da", "nb"})
# Characters of nearly every Chinese sentence; Japanese writes the same words in kana.
_CHINESE_WORDS = re.compile("[的是了们这吗你我他她很没]")
_KANA = re.compile("[\u3040-\u30ff]")


@dataclass(frozen=True, kw_only=True)
class Language(Rule):
    """Passes if the reply is written in the language, all of it.

    Code, addresses, emoji, markdown and capitalised names inside a sentence are
    left out first. Undecided are fewer than `MIN_WORDS` words (or
    `MIN_SPACELESS_CHARACTERS` Han or kana characters), a text whose probability
    of being in the language lies between `MAX_RULED_OUT` and `MIN_PROBABILITY`,
    and one with some English function words among few of its own. One sentence in
    another language is a fail ("Answer only in German." too), and so is a text in a
    sibling language (Ukrainian for Russian) and a mix: as many function words of
    English as of its own, or more than `MAX_FOREIGN_SHARE` of the letters in
    sentences, clauses and quotations of another language. Quoted titles are left out.

    Args:
        language: ISO 639-1 code, one of `LANGUAGES`.
    """

    kind = "language"
    version = 5

    language: str

    def __post_init__(self) -> None:
        if self.language not in LANGUAGES:
            hint = did_you_mean(self.language, LANGUAGES)
            known = ", ".join(sorted(LANGUAGES))
            raise ValueError(f"unknown language {self.language!r}{hint} (known: {known})")

    @property
    def _name(self) -> str:
        return LANGUAGES[self.language]

    @property
    def _script(self) -> str:
        return _SCRIPTS.get(self.language, "latin")

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        plain = plain_text(reply)
        text = telling_text(plain, self.language, is_latin=self._script == "latin")
        num_words, num_spaceless = len(words(text)), spaceless_characters(text)
        if num_words < MIN_WORDS or 0 < num_spaceless == num_words < MIN_SPACELESS_CHARACTERS:
            return self.undecided(f"only {num_words} words: too short to tell the language")
        script_share = foreign_script_share(text, self._script)
        if script_share > MAX_FOREIGN_SCRIPT_SHARE:
            return self.failed(f"{script_share:.0%} in a script that {self._name} does not use")
        found, confidence, own = self._detect(text)
        if own <= MAX_RULED_OUT and is_connected(text):
            return self.failed(f"{LANGUAGES[found]}, not {self._name} ({confidence:.2f})")
        alien = alien_words(text, self.language)
        if alien:
            return self.failed(
                f"{quote(' '.join(alien[:3]))}: letters that {self._name} does not use"
            )
        sibling = sibling_of(text, self.language)
        if sibling and sibling[1]:
            return self.failed(f"{sibling[0]}, not {self._name}")
        foreign = foreign_sentence(plain, self.language, self._script, self._own_of)
        if foreign:
            return self._failed_by(reply, *foreign)
        share, piece, other = self._foreign_share(text)
        if share <= MAX_FOREIGN_SHARE:
            share, piece, other = self._foreign_clause_share(text)
        if share > MAX_FOREIGN_SHARE:
            return self._failed_by(reply, piece, other)
        english, num_own = english_words(plain, self.language)
        if len(english) >= max(MIN_ENGLISH_WORDS, num_own):
            verdict = self.failed if is_half_english(plain, self.language) else self.undecided
            return verdict(
                f"{self._name} ({own:.2f}), but English {quote(' '.join(english))} in it"
            )
        if own < (
            MIN_NEAR_PROBABILITY if self.language in _NEAR else MIN_PROBABILITY
        ) or is_short_of_function_words(text, self.language):
            return self.undecided(f"perhaps {LANGUAGES[found]} ({confidence:.2f})")
        if sibling:
            return self.undecided(f"perhaps {sibling[0]}")
        return self.passed(f"{self._name} ({own:.2f})")

    def _detect(self, text: str) -> tuple[str, float, float]:
        """Return the likeliest code, its probability, and that of the asked language."""
        found = probabilities(text, self.language)
        best = max(found, key=lambda code: found[code])
        return best, found[best], found[self.language]

    def _own_of(self, text: str) -> tuple[str, float]:
        found, _, own = self._detect(text)
        return found, own

    def _failed_by(self, reply: str, piece: str, other: str) -> Verdict:
        start = reply.find(piece)
        span = (start, start + len(piece)) if start >= 0 else None
        return self.failed(f"{quote(piece)} is {LANGUAGES.get(other, other)}", span)

    def _foreign_share(self, text: str) -> tuple[float, str, str]:
        """Return the share of letters in another language, and the first such piece.

        A text of one piece is no mix; its language is what it was found to be.
        """
        foreign = total = 0
        first = other = ""
        found_pieces = pieces(text)
        if len(found_pieces) == 1:
            return 0.0, "", ""
        for piece, is_window in found_pieces:
            size = weight(piece)
            total += size
            found, _, own = self._detect(piece)
            if own <= (MAX_WINDOW_RULED_OUT if is_window else MAX_RULED_OUT):
                foreign += size
                first, other = (first, other) if first else (piece, found)
        return (foreign / total if total else 0.0), first, other

    def _foreign_clause_share(self, text: str) -> tuple[float, str, str]:
        """Return the share of letters in clauses of another language, and the first of these."""
        parts = clauses(text)
        foreign = 0
        first = other = ""
        for part in parts:
            found = self._foreign_clause(part, is_alone=len(parts) == 1)
            if found:
                foreign += weight(part)
                first, other = (first, other) if first else (part, found)
        total = sum(map(weight, parts))
        return (foreign / total if total else 0.0), first, other

    def _foreign_clause(self, clause: str, *, is_alone: bool) -> str:
        """Return the code of the other language that a clause is in, or nothing."""
        num_words, num_spaceless = len(words(clause)), spaceless_characters(clause)
        num_english = num_english_words(clause) if self.language != "en" else 0
        found, _, own = self._detect(clause)
        if num_english and (own <= 0.1 or (num_english > 1 and 3 * num_english >= num_words)):
            return "en"
        if self.language == "ja" and num_spaceless == num_words:
            # Headings and terms are written without kana.
            return "zh" if _CHINESE_WORDS.search(clause) and not _KANA.search(clause) else ""
        is_other = own <= MAX_WINDOW_RULED_OUT and num_words >= MIN_PIECE_WORDS
        return found if is_other and not is_alone else ""
