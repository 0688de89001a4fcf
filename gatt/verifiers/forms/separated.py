"""`separated`: pieces with a separator between them."""

from __future__ import annotations

from dataclasses import dataclass

from gatt.verifiers.base import Verdict
from gatt.verifiers.forms.counts import Count, CountRule
from gatt.verifiers.rule import quote
from gatt.verifiers.text.words import words


@dataclass(frozen=True, kw_only=True)
class Separated(CountRule):
    r"""Passes if the reply is pieces with a separator between them, each with a word in it.

    Args:
        by: the separator as it is written ("***", "-"); white space at its edges makes no difference,
            except for one of white space alone ("\n").
        min: fewest pieces, from 2 up.
        own_line: whether each separator stands on a line of its own.
        single_words: whether each piece is one word.
    """

    kind = "separated"
    reads_markup = True
    least = 2

    by: str
    min: Count | None = 2
    own_line: bool = False
    single_words: bool = False

    def __post_init__(self) -> None:
        if not self.by:
            raise ValueError("'by' is empty: expected a separator")
        super().__post_init__()

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
        return self.judged(len(pieces))
