"""Comb packing: every turn of a dialogue in one sequence. Plain values, no torch.

::

    trunk     sys+inst u1 a1 u2 a2 … un      training view, context replies
    branch t  forks after prompt t and holds the target reply s_t

A branch token sees the first `fork` tokens of its trunk and the branch before
itself, and its position goes on from the fork. So the tokens of branch t get
exactly the hidden states that they would get in a row of their own that holds
prompt t and s_t, and the history is encoded once instead of n times.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from gatt.errors import DataError

IGNORE = -100
"""Label of a token that carries no loss (as in torch's cross-entropy)."""
DEFAULT_OBJECTIVE = "targets"


@dataclass(frozen=True, slots=True)
class Branch:
    """Tokens that continue the first `fork` tokens of a trunk.

    The first of them needs a trunk token that predicts it: a fork below 1 raises `DataError`.
    """

    fork: int
    input_ids: tuple[int, ...]
    labels: tuple[int, ...]
    objective: str = DEFAULT_OBJECTIVE
    """What its tokens with labels cost: a name of `gatt.comb.objectives.table`."""
    is_partner: bool = False
    """Whether it makes a pair with the branch before it, which forks at the same token."""

    def __post_init__(self) -> None:
        if not self.input_ids or len(self.labels) != len(self.input_ids) or self.fork < 1:
            raise DataError(
                f"a branch of {len(self.input_ids)} tokens with {len(self.labels)} labels after {self.fork} "
                "trunk tokens: expected tokens, as many labels, and a fork of at least 1"
            )


@dataclass(frozen=True, slots=True)
class Comb:
    """A trunk with its labels, and the branches that fork from it.

    Parts that do not fit together raise `DataError`: nothing predicts a label of the first token.
    """

    trunk: tuple[int, ...]
    trunk_labels: tuple[int, ...]
    branches: tuple[Branch, ...] = ()
    objective: str = DEFAULT_OBJECTIVE
    """What the trunk's tokens with labels cost."""
    is_partner: bool = False
    """Whether it makes a pair with the comb before it: rows of `expand`."""
    teacher: tuple[Comb, ...] = ()
    """Where the teacher reads other tokens before the same replies: combs of them, with the same labels in
    the same order, all in trunks or all in branches."""

    def __post_init__(self) -> None:
        if not self.trunk or len(self.trunk) != len(self.trunk_labels):
            raise DataError(
                f"a trunk of {len(self.trunk)} tokens with {len(self.trunk_labels)} labels: expected tokens, "
                "and as many labels"
            )
        if self.trunk_labels[0] != IGNORE:
            raise DataError("the first trunk token has a label, but nothing stands before it")
        if (last := max((b.fork for b in self.branches), default=0)) > len(self.trunk):
            raise DataError(f"a branch forks after token {last} of a trunk of {len(self.trunk)}")
        for first, second in zip((None, *self.branches), self.branches, strict=False):
            if second.is_partner and (
                first is None or first.is_partner or first.fork != second.fork
            ):
                raise DataError(
                    f"a partner branch after {second.fork} trunk tokens: expected it right behind the one "
                    "branch that it makes a pair with, at the same fork"
                )
        if self.teacher:
            self._check_teacher()

    def _check_teacher(self) -> None:
        own, read = self.supervised, [x for comb in self.teacher for x in comb.supervised]
        in_trunk = any(label != IGNORE for label in self.trunk_labels)
        if own != read or (in_trunk and self.branches):
            raise DataError(
                f"a teacher of {len(read)} labels for a comb of {len(own)}: expected the same ones in the "
                "same order, all in the trunk or all in branches"
            )

    @property
    def num_tokens(self) -> int:
        """Length of the comb as one row."""
        return len(self.trunk) + sum(len(b.input_ids) for b in self.branches)

    @property
    def num_positions(self) -> int:
        """Most tokens that any of its tokens stands behind, itself included."""
        branches = (b.fork + len(b.input_ids) for b in self.branches)
        teachers = (comb.num_positions for comb in self.teacher)
        return max(len(self.trunk), *branches, *teachers, 0)

    @property
    def supervised(self) -> list[int]:
        """The tokens that carry loss, in order."""
        return [label for _, labels in self.labelled for label in labels if label != IGNORE]

    @property
    def num_supervised(self) -> int:
        """Number of tokens that carry loss."""
        return len(self.supervised)

    @property
    def labelled(self) -> list[tuple[str, tuple[int, ...]]]:
        """Objective and labels of the trunk and of each branch."""
        branches = [(b.objective, b.labels) for b in self.branches]
        return [(self.objective, self.trunk_labels), *branches]


P = TypeVar("P", Branch, Comb)


def expand(comb: Comb) -> list[Comb]:
    """Return the rows that the comb stands for, written out: plain sequences.

    One row per branch (its visible trunk, then the branch, loss on the branch
    only) and, where the trunk carries loss, the trunk itself. This is what the
    comb must equal in loss and gradients, and the fallback for templates and
    models that cannot share a trunk.
    """
    teachers = ((row,) for teacher in comb.teacher for row in expand(teacher))
    rows = [
        Comb(
            comb.trunk[: b.fork] + b.input_ids,
            (IGNORE,) * b.fork + b.labels,
            objective=b.objective,
            is_partner=b.is_partner,
            teacher=next(teachers, ()),
        )
        for b in comb.branches
        if any(label != IGNORE for label in b.labels)
    ]
    if any(label != IGNORE for label in comb.trunk_labels):
        rows.append(replace(comb, branches=()))
    return rows


def fold_branches(comb: Comb) -> Comb:
    """Return the same supervised tokens with fewer branches: those that repeat the trunk become its labels.

    A branch whose tokens are those that follow its fork in the trunk becomes
    labels of the trunk, and so does one that forks at its end, which is then
    appended. With history `sampled` no branch is left: one plain sequence.
    A branch whose place in the trunk carries loss already stays a branch, and so do both of a pair and one
    whose objective is not the trunk's. With a teacher all branches stay if one has to.
    """
    trunk, labels = list(comb.trunk), list(comb.trunk_labels)
    branches = []
    for together in pairs(comb.branches):
        branch = together[0]
        end = branch.fork + len(branch.input_ids)
        if len(together) > 1 or branch.objective != comb.objective:
            branches += together
            continue
        if branch.fork == len(trunk):
            trunk += branch.input_ids
            labels += [IGNORE] * len(branch.input_ids)
        is_said = tuple(trunk[branch.fork : end]) == branch.input_ids
        if is_said and all(label == IGNORE for label in labels[branch.fork : end]):
            labels[branch.fork : end] = branch.labels
        else:
            branches.append(branch)
    if comb.teacher and branches:
        return comb
    return replace(
        comb,
        trunk=tuple(trunk),
        trunk_labels=tuple(labels),
        branches=tuple(branches),
        teacher=tuple(map(_fold_whole, comb.teacher)),
    )


def _fold_whole(comb: Comb) -> Comb:
    """Return a comb without branches, or as it is: its labels stay in order."""
    folded = fold_branches(comb)
    return comb if folded.branches else folded


def split_to_fit(comb: Comb, max_tokens: int) -> list[Comb]:
    """Return combs of at most `max_tokens` that carry the same branches and labels.

    Each has the part of the trunk that its branches see, the last one the whole
    trunk if that carries loss behind all forks. A trunk token carries its label
    in the first comb that holds it. Where the cuts fall depends on no label, and none parts a pair.
    Each has the part of the teacher that reads its branches, whose tokens are not counted.

    Raises:
        DataError: one branch and its trunk alone are longer, or the trunk is.
    """
    if comb.num_tokens <= max_tokens:
        return [comb]
    groups: list[list[Branch]] = [[]]
    size = 0
    for together in pairs(sorted(comb.branches, key=lambda b: b.fork)):
        fork, length = together[0].fork, sum(len(b.input_ids) for b in together)
        if fork + length > max_tokens:
            what = "a branch" if len(together) == 1 else "a pair of branches"
            raise DataError(
                f"{what} of {length} tokens after {fork} trunk tokens does not fit in "
                f"{max_tokens}: raise max_tokens_per_row or shorten the dialogue"
            )
        if groups[-1] and fork + size + length > max_tokens:
            groups.append([])
            size = 0
        groups[-1] += together
        size += length
    ends = [group[-1].fork if group else 0 for group in groups]
    whole = len(comb.trunk)
    if not comb.branches or any(label != IGNORE for label in comb.trunk_labels[ends[-1] :]):
        if whole > max_tokens:
            raise DataError(
                f"a trunk of {whole} tokens does not fit in {max_tokens}: "
                "raise max_tokens_per_row or shorten the dialogue"
            )
        if whole + size > max_tokens:
            groups.append([])
            ends.append(whole)
        ends[-1] = whole
    parts = []
    num_labelled = 0
    num_read = 0
    for group, end in zip(groups, ends, strict=True):
        labels = (IGNORE,) * num_labelled + comb.trunk_labels[num_labelled:end]
        teacher = _teacher_of(comb, num_read, num_read + len(group)) if group else comb.teacher
        parts.append(
            replace(
                comb,
                trunk=comb.trunk[:end],
                trunk_labels=labels,
                branches=tuple(group),
                teacher=teacher,
            )
        )
        num_labelled, num_read = end, num_read + len(group)
    return parts


def _teacher_of(comb: Comb, start: int, end: int) -> tuple[Comb, ...]:
    """Return the part of the teacher that reads some of the branches."""
    parts = []
    for teacher in comb.teacher:
        branches = teacher.branches[max(start, 0) : max(end, 0)]
        if branches:
            length = branches[-1].fork
            labels = teacher.trunk_labels[:length]
            parts.append(
                replace(
                    teacher, trunk=teacher.trunk[:length], trunk_labels=labels, branches=branches
                )
            )
        start, end = start - len(teacher.branches), end - len(teacher.branches)
    return tuple(parts)


def pairs(parts: Iterable[P]) -> Iterator[list[P]]:
    """Yield each branch, or comb, with its partner where it has one: they are trained together."""
    together: list[P] = []
    for part in parts:
        if together and not part.is_partner:
            yield together
            together = []
        together.append(part)
    if together:
        yield together


def best_fit(lengths: Sequence[int], capacity: int) -> list[list[int]]:
    """Return the indices of each row: best-fit decreasing, at most `capacity` tokens a row.

    The longest come first, and each goes where the least room is left after it;
    a new row is opened where none has room. At most 11/9 of the fewest possible
    rows and one more (Johnson et al., 1974). Indices within a row, and rows by
    their first index, are in order. A longer dialogue gets a row of its own.
    """
    rows: list[list[int]] = []
    room: list[tuple[int, int]] = []  # (tokens left, row), ascending
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        place = bisect_left(room, (lengths[index], -1))
        if place == len(room):
            left, row = capacity, len(rows)
            rows.append([])
        else:
            left, row = room.pop(place)
        rows[row].append(index)
        insort(room, (left - lengths[index], row))
    return sorted(sorted(row) for row in rows)
