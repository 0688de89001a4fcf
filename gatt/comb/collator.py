"""The collator: combs to the 1-D vectors of a batch. Keeps the instruction in turn 1 only.

The views have put the instruction there; this module moves ids and labels
into tensors and never a T x T mask: `gatt.comb.attention` makes what each attention
back end needs from the vectors, on the device that uses it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch

from gatt.comb.comb import IGNORE, Branch, Comb, pack
from gatt.errors import DataError

Layout = Literal["comb", "expanded"]
LAYOUTS: tuple[str, ...] = get_args(Layout)


def combs_to_features(combs: Sequence[Comb]) -> dict[str, Any]:
    """Return the combs as one row of a `datasets.Dataset` (plain integers)."""
    return {
        "documents": [
            {
                "trunk": list(comb.trunk),
                "trunk_labels": list(comb.trunk_labels),
                "forks": [b.fork for b in comb.branches],
                "branch_ids": [list(b.input_ids) for b in comb.branches],
                "branch_labels": [list(b.labels) for b in comb.branches],
                "by_kl": comb.by_kl,
            }
            for comb in combs
        ]
    }


def features_to_combs(features: Mapping[str, Any]) -> list[Comb]:
    """Return the combs of such a row.

    Raises:
        DataError: a missing column, or a comb that breaks its contract.
    """
    combs: list[Comb] = []
    try:
        for document in features["documents"]:
            branches = zip(
                document["forks"], document["branch_ids"], document["branch_labels"], strict=True
            )
            combs.append(
                Comb(
                    tuple(document["trunk"]),
                    tuple(document["trunk_labels"]),
                    tuple(
                        Branch(fork, tuple(ids), tuple(labels)) for fork, ids, labels in branches
                    ),
                    document.get("by_kl", False),
                )
            )
    except DataError as error:
        raise DataError(f"document {len(combs) + 1} of a training row: {error}") from None
    except KeyError as error:
        raise DataError(
            f"a training row without column {error}: expected rows of `build_rows`"
        ) from None
    return combs


@dataclass(frozen=True)
class GattCollator:
    """Makes one micro-batch of several rows of one or more combs.

    `layout="comb"` packs all combs into one row; the batch holds, each `[1, T]`:
    `input_ids`, `position_ids`, `labels`, `document_ids`, `branch_ids`,
    `visible`, `source` (see `gatt.comb.comb.Row`).

    `layout="expanded"` pads plain sequences on the right; the batch holds, each
    `[B, T]`: `input_ids`, `attention_mask`, `labels`. Rows must have no branches.

    Where a comb is to be learned by the KL divergence, the batch also holds `by_kl`, true on its tokens.

    Raises:
        DataError: a row with branches in the expanded layout.

    Example:
        A trunk of four tokens, and a target of two that follows the first three:

        >>> comb = Comb((5, 6, 7, 8), (IGNORE,) * 4, (Branch(3, (20, 21), (20, 21)),))
        >>> batch = GattCollator(pad_token_id=0)([combs_to_features([comb])])
        >>> batch["input_ids"].tolist()
        [[5, 6, 7, 8, 20, 21]]
        >>> batch["position_ids"].tolist()
        [[0, 1, 2, 3, 3, 4]]
        >>> batch["labels"].tolist()
        [[-100, -100, -100, -100, 20, 21]]
    """

    pad_token_id: int
    layout: Layout = "comb"

    def __call__(self, features: Sequence[Mapping[str, Any]]) -> dict[str, torch.Tensor]:
        """Return the batch of the given rows."""
        combs = [comb for row in features for comb in features_to_combs(row)]
        is_comb = self.layout == "comb"
        batch = self._packed(combs) if is_comb else self._padded(combs)
        by_kl = torch.tensor([c.by_kl for c in combs])
        if by_kl.any():
            width = batch["input_ids"].shape[1]
            counts = torch.tensor([c.num_tokens if is_comb else width for c in combs])
            batch["by_kl"] = by_kl.repeat_interleave(counts).view_as(batch["input_ids"])
        return batch

    def _packed(self, combs: Sequence[Comb]) -> dict[str, torch.Tensor]:
        """Return the combs behind each other in one row."""
        row = pack(combs)
        return {
            name: torch.tensor([getattr(row, name)], dtype=torch.long)
            for name in row.__dataclass_fields__
        }

    def _padded(self, combs: Sequence[Comb]) -> dict[str, torch.Tensor]:
        """Return a row a comb, each as long as the longest."""
        if any(c.branches for c in combs):
            raise DataError(
                "a row with branches in the expanded layout: write it out with `expand`"
            )
        length = max(len(c.trunk) for c in combs)

        def padded(values: Sequence[int], fill: int) -> list[int]:
            return [*values, *[fill] * (length - len(values))]

        return {
            "input_ids": torch.tensor([padded(c.trunk, self.pad_token_id) for c in combs]),
            "attention_mask": torch.tensor([padded([1] * len(c.trunk), 0) for c in combs]),
            "labels": torch.tensor([padded(c.trunk_labels, IGNORE) for c in combs]),
        }
