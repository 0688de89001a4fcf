"""Some dialogues in the terminal: what two arms replied to the same messages, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

from rich.table import Table as RichTable
from rich.text import Text

from eval.records.samples import Sample
from eval.report.data.selection import arm_name

NUM_CASES: Final = 3
MOST_LETTERS: Final = 220
"""Of one reply."""
_Replies = dict[tuple[int, str], Sample]
"""Of one case, by turn and arm."""
_MARKS: Final = {"pass": ("✓ ", "green"), "fail": ("✗ ", "red"), "undecided": ("? ", "yellow")}


def side_by_side(samples: Sequence[Sample], arms: tuple[str, str]) -> list[RichTable]:
    """Return a table for each of three cases: three turns, the user's message and the replies of two arms.

    The cases are the first of each family, not chosen by how they went; the turns are the first, the
    last and the one before it.

    Args:
        samples: of an evaluation; those of its last history are shown.
        arms: to compare.
    """
    turns = [s for s in samples if s.kind == "turn" and s.arm in arms and s.instruction]
    turns = [s for s in turns if s.history == turns[-1].history]
    cases: dict[tuple[str, str, str], _Replies] = {}
    for sample in turns:
        cases.setdefault(sample.case, {})[sample.turn, sample.arm] = sample
    by_family: dict[str, list[_Replies]] = {}
    for replies in cases.values():
        by_family.setdefault(next(iter(replies.values())).family, []).append(replies)
    order = [replies for each in zip_longest(*by_family.values()) for replies in each if replies]
    return [_table(replies, arms) for replies in order[:NUM_CASES]]


def _table(replies: _Replies, arms: tuple[str, str]) -> RichTable:
    """Return the table of a case."""
    sample = next(iter(replies.values()))
    assert sample.instruction is not None
    found = RichTable(title=Text(f"“{sample.instruction.text}”", style="bold"), expand=True)
    found.add_column("turn", justify="right", no_wrap=True)
    for name, ratio in zip(("the user says", *map(arm_name, arms)), (2, 3, 3), strict=True):
        found.add_column(name, ratio=ratio)
    both = [turn for turn, arm in replies if arm == arms[0] and (turn, arms[1]) in replies]
    for turn in sorted({*both[:1], *both[-2:]}):
        pair = [replies[turn, arm] for arm in arms]
        cells = [Text(_clipped(pair[0].user)), *map(_judged, pair)]
        found.add_row(str(turn), *cells, end_section=True)
    return found


def _judged(sample: Sample) -> Text:
    mark, colour = _MARKS[sample.status]
    return Text.assemble((mark, colour), _clipped(sample.reply) or "(nothing)")


def _clipped(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= MOST_LETTERS else flat[: MOST_LETTERS - 1] + "…"
