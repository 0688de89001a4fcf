"""Kinds that count: `bullets`, `sentences`, `words`, `lines`, `paragraphs`, `emoji`, `number`."""

from __future__ import annotations

import re
from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Ge

from gatt.verifiers.base import Verdict
from gatt.verifiers.rule import Rule, Span
from gatt.verifiers.text.markup import EMOJI, strip_markdown
from gatt.verifiers.text.sentences import sentence_spans
from gatt.verifiers.text.words import words

Count = Annotated[int, Ge(0)]
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+")
_HAS_WORD = re.compile(r"[^\W_]")
_BLANK_LINES = re.compile(r"\r?\n[ \t]*(?:\r?\n[ \t]*)+")

_FLAG = r"[\U0001f1e6-\U0001f1ff]{2}"
_KEYCAP = r"[0-9#*]\ufe0f?\u20e3"
# Shown as pictures by themselves; "™", "→" and "✓" only where a selector (U+FE0F) asks for it.
_PICTURE = (
    "\u231a\u231b\u23e9-\u23f3\u23f8-\u23fa\u2600-\u2604\u260e\u2614\u2615\u2618\u261d\u2620\u2622\u2623"
    "\u2626\u262a\u262e\u262f\u2638-\u263a\u2648-\u2653\u2660\u2663\u2665\u2666\u2668\u267b\u267f\u2692-\u2697"
    "\u2699\u269b\u269c\u26a0\u26a1\u26aa\u26ab\u26b0\u26b1\u26bd\u26be\u26c4\u26c5\u26c8\u26ce\u26cf\u26d1"
    "\u26d3\u26d4\u26e9\u26ea\u26f0-\u26f5\u26f7-\u26fa\u26fd\u2702\u2705\u2708-\u270d\u270f\u2712\u2728\u2744"
    "\u274c\u274e\u2753-\u2755\u2757\u2763\u2764\u2795-\u2797\u27b0\u27bf\u2b1b\u2b1c\u2b50\u2b55"
    "\U0001f004\U0001f0cf\U0001f18e\U0001f191-\U0001f19a\U0001f201\U0001f21a\U0001f22f\U0001f232-\U0001f23a"
    "\U0001f250\U0001f251\U0001f300-\U0001f64f\U0001f680-\U0001f6ff\U0001f7e0-\U0001f7f0\U0001f90c-\U0001faff"
)
_PICTOGRAPH = rf"(?:[{_PICTURE}]|[{EMOJI}©®Ⓜ]\ufe0f)[\ufe0f\U0001f3fb-\U0001f3ff]*"
_ONE_EMOJI = f"(?:{_FLAG}|{_KEYCAP}|{_PICTOGRAPH})"
_EMOJI = re.compile(rf"{_ONE_EMOJI}(?:\u200d{_ONE_EMOJI})*")
_NUMBER = re.compile(r"(?<![^\W_])\d+(?:[.,:/]\d+)*")

# With a blank behind them: "*so*" is emphasis, "+5" and "-5" are numbers, "–" opens a remark.
_SPACED = r"[-*+–—~»›][ \t]++"
# Nothing else is ever written with these at the start of a line.
_SIGNS = (
    r"[•◦‣⁃∙·●○◉■□▪▫◾◽◼◻▸▹►▻▶▷➤➢➔➜➡→⇒✓✔✅☑✗✦✧✪★☆❖♦◆◇❯\U0001f538\U0001f539\U0001f536\U0001f537"
    r"\U0001f449]\ufe0f?[ \t]*+"
)
# Typed in haste; "-5" is a number and "--" a dash.
_GLUED = r"-(?=[^\W\d_]|[\"'“‘*(\[])"
_NUMBERED = r"\d{1,3}(?:[.)][ \t]++|\)(?=[^\W_]))"
_REST = r"[^\n]*?[^\W_][^\n]*$"
_START = r"^[ \t]*+(?:>[ \t]*+)?"
_ITEM = re.compile(rf"{_START}(?:{_SPACED}|{_SIGNS}|{_GLUED}|{_NUMBERED}){_REST}", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class CountRule(Rule):
    """Passes if the number of units lies within the bounds, both included.

    Args:
        min: fewest allowed, a whole number.
        max: most allowed; unbounded if not given.
    """

    least: ClassVar[int] = 0
    """The smallest bound that makes sense."""
    min: Count | None = None
    max: Count | None = None

    def __post_init__(self) -> None:
        given = [bound for bound in (self.min, self.max) if bound is not None]
        if not given or given != sorted(given) or given[0] < self.least:
            raise ValueError(
                f"'min' {self.min} and 'max' {self.max}: expected at least one, from {self.least} up, and "
                "min <= max"
            )

    @abstractmethod
    def count(self, reply: str) -> int:
        """Return how many units a reply has."""

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        return self.of_count(self.count(reply))

    def of_count(self, number: int, span: Span | None = None) -> Verdict:
        """Return the verdict on a number of units."""
        evidence = f"{self.kind}: {number}"
        if number < (self.min or 0):
            return self.failed(f"{evidence}, expected at least {self.min}", span)
        if self.max is not None and number > self.max:
            return self.failed(f"{evidence}, expected at most {self.max}", span)
        return self.passed(evidence, span)


class Sentences(CountRule):
    """Passes if the number of sentences is within the bounds."""

    kind = "sentences"
    version = 3

    def count(self, reply: str) -> int:
        """Return the number of sentences."""
        return len(sentence_spans(reply))


class Words(CountRule):
    """Passes if the number of words is within the bounds.

    "don't", "well-known" and an address are one word each, and so is a Han or kana character.
    """

    kind = "words"
    version = 2

    def count(self, reply: str) -> int:
        """Return the number of words, markdown marks aside."""
        return len(words(strip_markdown(_ADDRESS.sub("x", reply))))


class Lines(CountRule):
    """Passes if the number of lines that hold a letter or digit is within the bounds."""

    kind = "lines"

    def count(self, reply: str) -> int:
        """Return the number of lines with something on them."""
        return sum(bool(_HAS_WORD.search(line)) for line in reply.splitlines())


class Paragraphs(CountRule):
    """Passes if the number of blocks that blank lines part is within the bounds."""

    kind = "paragraphs"

    def count(self, reply: str) -> int:
        """Return the number of blocks that hold a letter or digit."""
        return sum(bool(_HAS_WORD.search(block)) for block in _BLANK_LINES.split(reply))


@dataclass(frozen=True, kw_only=True)
class PatternRule(CountRule):
    """Counts the matches of a pattern, at least one by default."""

    least = 1
    regex: ClassVar[re.Pattern[str]]
    min: Count | None = 1

    def count(self, reply: str) -> int:
        """Return the number of matches."""
        return sum(1 for _ in self.regex.finditer(reply))

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate, with the place of the first match."""
        first = self.regex.search(reply)
        return self.of_count(self.count(reply), first.span() if first else None)


@dataclass(frozen=True, kw_only=True)
class Bullets(PatternRule):
    """Passes if the number of list items ("- ", "* ", "• ", "→ ", "1. ") is within the bounds.

    A dash may stand right before its word ("-tea"); other signs that are letters of
    markdown or arithmetic need a blank behind them.

    Args:
        min: fewest allowed, a whole number from 1 up.
    """

    kind = "bullets"
    version = 2
    regex = _ITEM
    min: Count | None = 2


class Emoji(PatternRule):
    """Passes if the number of emoji is within the bounds; a joined family counts once."""

    kind = "emoji"
    version = 2
    regex = _EMOJI


class Number(PatternRule):
    """Passes if the number of numbers in digits is within the bounds ("3.14" is one)."""

    kind = "number"
    regex = _NUMBER
