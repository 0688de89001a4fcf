"""Which token of a packed row sees which.

Shapes: T tokens of the row, Q queries, K keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from gatt.comb.comb import TRUNK


@dataclass(frozen=True)
class RowGeometry:
    """The vectors of one packed row that its attention depends on, int64 `[T]` each."""

    document_ids: torch.Tensor
    branch_ids: torch.Tensor
    visible: torch.Tensor
    position_ids: torch.Tensor

    @classmethod
    def from_batch(cls, batch: Mapping[str, torch.Tensor]) -> RowGeometry:
        """Return the geometry of a batch of `gatt.comb.collator.GattCollator`, one row `[1, T]`."""
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
        positions count from 0 within the document, so position and index agree.

        Args:
            queries: indices into the row.
            keys: likewise.
            window: tokens that a layer with a sliding window sees, itself
                included, by position; None sees all.
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
