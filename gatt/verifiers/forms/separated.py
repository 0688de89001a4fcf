"""`separated`: pieces with a separator between them."""

from __future__ import annotations

from dataclasses import dataclass

from gatt.verifiers.base import Verdict
from gatt.verifiers.rule import Rule, quote
from gatt.verifiers.text.words import words


@dataclass(frozen=True, kw_only=True)
class Separated(Rule):
    r"""Passes if the reply is pieces with a separator between them, each with a word in it.

    Args:
        by: the separator as it is written ("***", "-"); white space at its edges makes no difference,
            except for one of white space alone ("\n").
        min: fewest pieces, from 2 up.
        max: most pieces; unbounded if not given.
        own_line: whether each separator stands on a line of its own.
        single_words: whether each piece is one word.
    """

    kind = "separated"
    reads_markup = True

    by: str
    min: int = 2
    max: int | None = None
    own_line: bool = False
    single_words: bool = False

    def __post_init__(self) -> None:
        if not self.by:
            raise ValueError("'by' is empty: expected a separator")
        if self.min < 2 or (self.max is not None and self.max < self.min):
            raise ValueError(f"'min' {self.min} and 'max' {self.max}: expected 2 <= min <= max")

    def decide(self, reply: str) -> Verdict:
        by = self.by.strip() or self.by
        if self.own_line:
            lines = [line.strip() for line in reply.strip().splitlines()]
            pieces = "\n".join("\0" if line == by else line for line in lines).split("\0")
        else:
            pieces = reply.strip().split(by)
        for piece in pieces:
            num_words = len(words(piece))
            # "eight-legged" is one word, and its hyphen parts two pieces.
            is_long = self.single_words and len(piece.split()) > 1
            if not num_words or is_long:
                return self.failed(f"piece {quote(piece)}: {num_words} words")
        if len(pieces) < self.min or len(pieces) > (self.max or len(pieces)):
            most = f" to {self.max}" if self.max else " or more"
            return self.failed(f"{len(pieces)} pieces between {by!r}, expected {self.min}{most}")
        return self.passed(f"{len(pieces)} pieces between {by!r}")
