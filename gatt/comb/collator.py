"""Packed rows: their columns, the vectors of a batch, and which token sees which.

A row is stored as its segments, one behind the other: the trunk of a comb, its branches, the trunk of the
next comb. Combs of a teacher stand behind the comb that they are of. The collator makes vectors of them
and never a T x T mask: `gatt.comb.attention` makes what each attention back end needs from the vectors,
on the device that uses it.

Shapes: B rows, T tokens of the row, S segments, Q queries, K keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import torch
from torch.nn.utils.rnn import pad_sequence

from gatt.comb.comb import IGNORE, Comb
from gatt.comb.objectives.table import NUMBERS, READING_REFERENCE
from gatt.errors import DataError

RowLayout = Literal["comb", "expanded"]
COLUMNS = ("input_ids", "labels", "forks", "lengths", "objectives", "partners", "teachers")
TRUNK = 0
"""Branch id of trunk tokens, and the fork of a trunk; branches count from 1 within their document."""
REFERENCE: Final = "reference."
"""Prefix of batch keys for the input of the model without its adapter, if that input is a different one."""


def combs_to_features(combs: Sequence[Comb]) -> dict[str, Any]:
    """Return the combs as the columns of one row of a `datasets.Dataset` (plain integers).

    `input_ids` and `labels` hold a value a token; `forks` (`TRUNK` for a trunk), `lengths`, `objectives`
    (numbers of `gatt.comb.objectives.table`), `partners` (whether it makes a pair with the segment
    before it) and `teachers` (whether the teacher alone reads it) a value a segment.
    """
    columns: dict[str, Any] = {name: [] for name in COLUMNS}
    with_teachers = ((c, c is not own) for own in combs for c in (own, *own.teacher))
    for comb, is_teacher in with_teachers:
        trunk = (TRUNK, comb.trunk, comb.trunk_labels, comb.objective, comb.is_partner)
        branches = (
            (b.fork, b.input_ids, b.labels, b.objective, b.is_partner) for b in comb.branches
        )
        for fork, ids, labels, objective, is_partner in (trunk, *branches):
            columns["input_ids"] += ids
            columns["labels"] += labels
            columns["forks"].append(fork)
            columns["lengths"].append(len(ids))
            columns["objectives"].append(NUMBERS[objective])
            columns["partners"].append(is_partner)
            columns["teachers"].append(is_teacher)
    return columns


@dataclass(frozen=True)
class GattCollator:
    """Makes one micro-batch of several rows of one or more combs.

    `layout="comb"` packs all combs into one row; the batch holds, each `[1, T]`, `input_ids`, `labels` and

    - `position_ids`: from 0 within each document; those of a branch go on from its fork;
    - `document_ids`, `branch_ids`: from 0; the trunk is branch 0 (`TRUNK`);
    - `visible`: how many trunk tokens of its document a token may see at most (a trunk token: up to
      itself, a branch token: its fork);
    - `source`: index in the row of the token whose hidden state predicts this one: the one before it, or
      for the head of a branch the last trunk token that it sees; -1 for the first token of a document.

    `layout="expanded"` pads plain sequences on the right; the batch holds, each `[B, T]`, `input_ids`,
    `attention_mask` and `labels`. Rows with branches raise `DataError`.

    Where a segment has another objective than the first of the table, `objectives` has the number at each
    token; where there are pairs of segments, `pairs` has k from 1 at the tokens of the first of pair k, -k at
    those of its partner, else 0. Where there are combs of a teacher, these, and those without a teacher that
    need a reference, are another batch whose names begin with `REFERENCE`.

    Example: a trunk of four tokens, and a target of two that follows the first three.

        >>> from gatt.comb.comb import Branch
        >>> comb = Comb((5, 6, 7, 8), (IGNORE,) * 4, (Branch(3, (20, 21), (20, 21)),))
        >>> batch = GattCollator(pad_token_id=0)([combs_to_features([comb])])
        >>> batch["input_ids"].tolist()
        [[5, 6, 7, 8, 20, 21]]
        >>> batch["position_ids"].tolist()
        [[0, 1, 2, 3, 3, 4]]
    """

    pad_token_id: int
    layout: RowLayout = "comb"

    def __call__(self, features: Sequence[Mapping[str, Any]]) -> dict[str, torch.Tensor]:
        """Return the batch of rows of `combs_to_features`."""
        columns = {
            name: torch.tensor([value for row in features for value in row[name]])
            for name in COLUMNS
        }
        teachers_S = columns.pop("teachers")
        if not teachers_S.any():
            return self._batch(columns)
        reference = self._batch(_chosen(columns, _read_by_reference(teachers_S, **columns)))
        named = {f"{REFERENCE}{name}": vector for name, vector in reference.items()}
        return {**self._batch(_chosen(columns, ~teachers_S)), **named}

    def _batch(self, columns: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return the vectors of segments that are read together."""
        columns = dict(columns)
        objectives_S, partners_S = columns.pop("objectives"), columns.pop("partners")
        by_segment = {"objectives": objectives_S} if objectives_S.any() else {}
        if partners_S.any():
            by_segment["pairs"] = _pairs(partners_S)
        if self.layout == "comb":
            batch = _packed(**columns)
            spread = {
                n: v.repeat_interleave(columns["lengths"])[None] for n, v in by_segment.items()
            }
        else:
            batch = _padded(self.pad_token_id, **columns)
            spread = {n: v[:, None].expand_as(batch["input_ids"]) for n, v in by_segment.items()}
        return {**batch, **spread}


def of_reference(batch: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return what the model without its adapter reads of a batch: its own one, or the batch itself."""
    own = {n.removeprefix(REFERENCE): v for n, v in batch.items() if n.startswith(REFERENCE)}
    return own or dict(batch)


def _chosen(columns: Mapping[str, torch.Tensor], is_in_S: torch.Tensor) -> dict[str, torch.Tensor]:
    """Return the columns of some of the segments."""
    is_in_T = is_in_S.repeat_interleave(columns["lengths"])
    by_token = ("input_ids", "labels")
    return {n: vector[is_in_T if n in by_token else is_in_S] for n, vector in columns.items()}


def _read_by_reference(
    teachers_S: torch.Tensor, forks: torch.Tensor, objectives: torch.Tensor, **_: torch.Tensor
) -> torch.Tensor:
    """Return whether the model without its adapter reads a segment: a teacher's, or of a comb without one."""
    comb_S = ((forks == TRUNK) & ~teachers_S).cumsum(0) - 1
    needs_S = torch.isin(objectives, objectives.new_tensor(READING_REFERENCE))
    has_teacher_S, is_needed_S = (
        torch.isin(comb_S, comb_S[is_there_S]) for is_there_S in (teachers_S, needs_S)
    )
    return teachers_S | (is_needed_S & ~has_teacher_S)


def _pairs(partners_S: torch.Tensor) -> torch.Tensor:
    """Return the pair of each segment: k, -k of its partner right behind it, 0 of none."""
    numbers_S = partners_S.long().cumsum(0) * partners_S
    return numbers_S.roll(-1) - numbers_S


def _packed(
    input_ids: torch.Tensor, labels: torch.Tensor, forks: torch.Tensor, lengths: torch.Tensor
) -> dict[str, torch.Tensor]:
    """Return all segments as one row; see `GattCollator`."""
    is_trunk_S = forks == TRUNK
    starts_S = lengths.cumsum(0) - lengths
    documents_S = is_trunk_S.cumsum(0) - 1
    trunk_of_S = is_trunk_S.nonzero()[:, 0][documents_S]
    index_S, index_T = torch.arange(len(forks)), torch.arange(len(input_ids))
    segment_T = index_S.repeat_interleave(lengths)
    positions_T = index_T + (forks - starts_S)[segment_T]
    source_T = index_T - 1
    source_T[starts_S] = torch.where(is_trunk_S, -1, starts_S[trunk_of_S] + forks - 1)
    vectors = {
        "input_ids": input_ids,
        "position_ids": positions_T,
        "labels": labels,
        "document_ids": documents_S[segment_T],
        "branch_ids": (index_S - trunk_of_S)[segment_T],
        "visible": torch.where(is_trunk_S[segment_T], positions_T + 1, forks[segment_T]),
        "source": source_T,
    }
    return {name: vector[None] for name, vector in vectors.items()}


def _padded(
    pad_token_id: int,
    input_ids: torch.Tensor,
    labels: torch.Tensor,
    forks: torch.Tensor,
    lengths: torch.Tensor,
) -> dict[str, torch.Tensor]:
    """Return a row a trunk, each as long as the longest."""
    if (forks != TRUNK).any():
        raise DataError("a row with branches in the expanded layout: write it out with `expand`")

    def padded(vector: torch.Tensor, fill: int) -> torch.Tensor:
        rows = torch.split(vector, lengths.tolist())
        return pad_sequence(list(rows), batch_first=True, padding_value=fill)

    return {
        "input_ids": padded(input_ids, pad_token_id),
        "attention_mask": padded(torch.ones_like(input_ids), 0),
        "labels": padded(labels, IGNORE),
    }


@dataclass(frozen=True)
class RowGeometry:
    """The vectors of one packed row that its attention depends on, int64 `[T]` each."""

    document_ids: torch.Tensor
    branch_ids: torch.Tensor
    visible: torch.Tensor
    position_ids: torch.Tensor

    @classmethod
    def from_batch(cls, batch: Mapping[str, torch.Tensor]) -> RowGeometry:
        """Return the geometry of a batch of `GattCollator`, one row `[1, T]`."""
        return cls(*(batch[name][0] for name in cls.__dataclass_fields__))

    @property
    def num_tokens(self) -> int:
        """T."""
        return len(self.document_ids)

    def sees(
        self, queries: torch.Tensor, keys: torch.Tensor, window: int | None = None
    ) -> torch.Tensor:
        """Return whether each query sees each key: bool, of the shape that the indices broadcast to.

        A query q sees a key k of its own document if k stands in the trunk among
        the first `visible[q]` tokens, or in q's own branch no later than q. Trunk
        positions count from 0 within the document, so position and index agree. A layer with
        a sliding window sees `window` tokens by position, itself included.
        """
        at_q, at_k = self.position_ids[queries], self.position_ids[keys]
        branch_q, branch_k = self.branch_ids[queries], self.branch_ids[keys]
        in_visible_trunk = (branch_k == TRUNK) & (at_k < self.visible[queries])
        in_branch_before = (branch_q == branch_k) & (branch_k != TRUNK) & (at_k <= at_q)
        same_document = self.document_ids[queries] == self.document_ids[keys]
        seen = same_document & (in_visible_trunk | in_branch_before)
        return seen if window is None else seen & (at_q - at_k < window)

    def mask(self, window: int | None = None) -> torch.Tensor:
        """Return `sees` of all tokens: bool `[T, T]`, query rows, key columns."""
        indices = torch.arange(self.num_tokens, device=self.document_ids.device)
        return self.sees(indices[:, None], indices[None, :], window)
