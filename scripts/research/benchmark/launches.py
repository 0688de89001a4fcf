"""Counts what a GPU would be given: kernels that are launched, and times at which the processor waits for it.

Counted on a CPU, where the same calls reach torch. A decode step that CUDA replays as one graph
(`gatt.generation.local.dense`) counts as one launch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final
from unittest.mock import patch

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from gatt.generation.local.dense import Decoder

_WAITS: Final = {"_local_scalar_dense", "nonzero", "is_nonzero"}
"""Operations whose result the processor must know."""
_ALLOCATES: Final = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"}


class Launches(TorchDispatchMode):
    """While it is entered, counts operations that are neither views nor allocations, and waits."""

    def __init__(self) -> None:
        super().__init__()
        self.num_launches = 0
        self.num_waits = 0
        self._is_paused = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Count a call, and make it."""
        if not self._is_paused:
            name = func.overloadpacket.__name__
            returned = [one.alias_info for one in func._schema.returns]
            is_view = any(alias is not None and not alias.is_write for alias in returned)
            self.num_launches += not is_view and name not in _ALLOCATES
            self.num_waits += name in _WAITS
        return func(*args, **(kwargs or {}))

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count while the block runs, lists that are made of tensors included."""
        to_list, step = torch.Tensor.tolist, Decoder._step

        def listed(tensor: torch.Tensor) -> Any:
            self.num_waits += 1
            return to_list(tensor)

        def replayed(decoder: Decoder) -> torch.Tensor:
            self.num_launches += 1
            self._is_paused = True
            try:
                return step(decoder)
            finally:
                self._is_paused = False

        with (
            patch.object(torch.Tensor, "tolist", listed),
            patch.object(Decoder, "_step", replayed),
            self,
        ):
            yield


def of_a_token(generate: Callable[[int], Any], few: int, many: int) -> tuple[float, float]:
    """Return launches and waits a token, of the tokens behind the first ones.

    Args:
        generate: makes replies of so many tokens.
        few: tokens of a short reply.
        many: of a long one.
    """
    found = []
    # What is set up at the first call is not counted.
    generate(few)
    for num_tokens in (few, many):
        counts = Launches()
        with counts.counting():
            generate(num_tokens)
        found.append((counts.num_launches, counts.num_waits))
    (launches, waits), (more_launches, more_waits) = found
    return (more_launches - launches) / (many - few), (more_waits - waits) / (many - few)
