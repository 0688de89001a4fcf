"""A text as tokens: words, numbers with their values, and marks, each with its place."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Final, Literal

from gatt.verifiers.answers.numbers import NUMBER, ORDINAL, scale_after, spoken_number, values_of
from gatt.verifiers.phrases import WordLists, read_phrases
from gatt.verifiers.rule import Span
from gatt.verifiers.text.folding import fold
from gatt.verifiers.text.words import MARKS, SPACELESS

TokenKind = Literal["word", "number", "mark"]

_LETTERS: Final = rf"(?:[^\W\d_{SPACELESS}]|[{MARKS}])+"
_TOKEN: Final = re.compile(
    # "p.m", "u.s.a": letters between points are one word.
    r"(?P<points>(?<![^\W_.])(?:[a-z]\.){1,2}[a-z](?![^\W_]))"
    rf"|(?P<minus>(?<![^\W_])(?<!\d )-(?=\d))?(?:{NUMBER}){ORDINAL}?"
    r"|(?P<sign>[€$£¥%])"
    rf"|(?P<word>[{SPACELESS}]|{_LETTERS}(?:'{_LETTERS})*)"
    r"|(?P<mark>\.{3}|[.,;:!?()\n|=\"]|[。，、；：！？（）…]| - )"
)
# "isn't" as "is not" and "it's" as "it is"; a possessive stays one word.
_CONTRACTED: Final = re.compile(
    r"(?P<stem>\w+?)(?P<end>n't)|(?P<subject>it|that|there|he|she|they|we|you|i)(?P<be>'(?:s|re|m))"
)

_WORDS = WordLists("answers")
_UNITS: Final = {
    written: unit
    for unit, forms in read_phrases("answers")["written_units"].items()
    for written in forms
}
_BEFORE_NUMBERS: Final = frozenset("€$£¥") | {"eur", "usd", "gbp", "jpy"}
_STEMS: Final = {"ca": "can", "wo": "will", "sha": "shall"}
_BE: Final = {"'s": "is", "'re": "are", "'m": "am"}


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a number or a mark of a text."""

    kind: TokenKind
    text: str
    """Folded; of a word the part before an apostrophe stands in `stem`."""
    span: Span
    """Where it stands in the text as it was written."""
    values: frozenset[Decimal] = frozenset()

    @property
    def parts(self) -> tuple[str, ...]:
        """The word and its pieces beside an apostrophe: "Paris'te" says Paris, "l'eau" eau."""
        return (self.text, *self.text.split("'")) if "'" in self.text else (self.text,)


@lru_cache(maxsize=512)
def tokens(text: str) -> tuple[Token, ...]:
    """Return the tokens of a text; English number words and digits become numbers."""
    plain = "".join(
        str(unicodedata.decimal(c)) if not c.isascii() and c.isdecimal() else c for c in text
    )
    folded = fold(plain)
    single: list[Token] = []
    for match in _TOKEN.finditer(folded.text):
        span = folded.span(*match.span())
        contracted = _CONTRACTED.fullmatch(match[0]) if match["word"] else None
        if contracted:
            middle = match.start() + contracted.start("end" if contracted["end"] else "be")
            first = contracted["subject"] or _STEMS.get(contracted["stem"], contracted["stem"])
            last = "not" if contracted["end"] else _BE[contracted["be"]]
            single.append(Token("word", first, folded.span(match.start(), middle)))
            single.append(Token("word", last, folded.span(middle, match.end())))
        elif match["word"] or match["points"] or match["sign"]:
            single.append(Token("word", match[0].replace(".", ""), span))
        elif match["mark"]:
            single.append(Token("mark", match[0].strip() or "\n", span))
        else:
            values = frozenset() if match["ordinal"] else values_of(match)
            sign = -1 if match["minus"] else 1
            single.append(Token("number", match[0], span, frozenset(sign * v for v in values)))
    return tuple(_with_units(_with_spoken(single)))


def _with_units(given: list[Token]) -> list[Token]:
    """Return the tokens with one word for a unit, behind its number: "€6", "6 EUR" and "6 euros" are one."""
    joined: list[Token] = []
    at = 0
    while at < len(given):
        token = given[at]
        pair = given[at : at + 2]
        unit_of_pair = _UNITS.get(f"{token.text} {pair[-1].text}")
        unit = unit_of_pair or _UNITS.get(token.text)
        if token.kind != "word" or unit is None:
            joined.append(token)
            at += 1
            continue
        last = pair[-1] if unit_of_pair else token
        span = (token.span[0], last.span[1])
        at += len(pair) if unit_of_pair else 1
        number = given[at] if at < len(given) and token.text in _BEFORE_NUMBERS else None
        if number and number.kind == "number" and not (joined and joined[-1].kind == "number"):
            span = (span[0], number.span[1])
            joined.append(Token("number", number.text, span, number.values))
            at += 1
        joined.append(Token("word", unit, span))
    return joined


def _with_spoken(given: list[Token]) -> list[Token]:
    """Return the tokens with English number words, and words that scale a number, as one number each."""
    words = [token.text if token.kind == "word" else f"\0{token.text}" for token in given]
    joined: list[Token] = []
    at = 0
    while at < len(given):
        token = given[at]
        spoken = spoken_number(words, at) if token.kind == "word" else None
        if spoken and not (words[at] == "one" and spoken[1] == at + 1 and _is_pronoun(words, at)):
            value, end = spoken
            span = (token.span[0], given[end - 1].span[1])
            text = " ".join(one.text for one in given[at:end])
            joined.append(Token("number", text, span, frozenset({value})))
            at = end
            continue
        scale = scale_after(words, at + 1) if token.kind == "number" else 1
        if scale > 1:
            span = (token.span[0], given[at + 1].span[1])
            values = frozenset(value * scale for value in token.values)
            joined.append(Token("number", f"{token.text} {words[at + 1]}", span, values))
            at += 2
            continue
        joined.append(token)
        at += 1
    return joined


def _is_pronoun(words: list[str], at: int) -> bool:
    """Whether "one" stands for a thing: "this one", "one of them"."""
    before = words[at - 1] if at else ""
    after = words[at + 1] if at + 1 < len(words) else ""
    return before in _WORDS.before_pronoun_one or after in _WORDS.after_pronoun_one
