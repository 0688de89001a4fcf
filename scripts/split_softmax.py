"""Run `gatt eval` with split-softmax, a rival that trains nothing: more attention to the system message.

    python scripts/split_softmax.py EXPONENT FILE [--key=value …]

Each token behind the system message pays it a share p of its attention, in each head. Split-softmax raises the
share to p ** EXPONENT and scales the rest, so that the sum stays one; with 1 nothing changes.
Source: Li et al. 2024, "Measuring and Controlling Instruction (In)Stability in Language Model Dialogs",
arXiv:2402.10962.

All arms reply under this attention, otherwise as in any evaluation. The exponent is no setting of the run, so
each needs a folder of its own. The chat template has to begin a user's message with `<|im_start|>user`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from eval.config import EvalConfig, used_adapters
from eval.run import evaluate
from gatt.config.load import load_config
from gatt.generation.config import local_engine
from gatt.generation.local import decoding
from gatt.generation.local.prefix.attention import AppendStep, RowStep
from gatt.generation.local.prefix.row_attention import RowMask


def raised(weights: torch.Tensor, is_system: torch.Tensor, exponent: float) -> torch.Tensor:
    """Return attention weights `[…, L]` with the share of the system message raised.

    Args:
        weights: of a softmax over the last dimension.
        is_system: which keys are the system message's, for each query; of a shape that goes with the
            weights. A query without any keeps its weights.
        exponent: of the share.
    """
    share = (weights * is_system).sum(-1, keepdim=True).double()
    # Below, a share of 0 or 1 would divide by zero; then nothing changes.
    is_split = (share > 0) & (share < 1)
    share = torch.where(is_split, share, 0.5)
    more, less = share ** (exponent - 1), (1 - share**exponent) / (1 - share)
    factors = torch.where(is_system, more, less)
    return torch.where(is_split, weights * factors, weights).to(weights.dtype)


def split_steps(
    num_system: Callable[[Sequence[int]], int], exponent: float
) -> tuple[type[AppendStep], type[RowStep]]:
    """Return the two kinds of forward passes under split-softmax.

    Args:
        num_system: how many of the first tokens of a prompt are the system message's.
        exponent: see `raised`.
    """

    class SplitAppend(AppendStep):
        def attend(
            self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
            window: int | None, **how: Any,
        ) -> torch.Tensor:  # fmt: skip
            if window is not None or how["softcap"] is not None:
                raise ValueError("split-softmax: expected attention without window and softcap")
            return super().attend(layer, query, key, value, window, **how)

        def _attended(
            self, index: int, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor,
            mask: torch.Tensor | None, *, scale: float, **_: Any,  # noqa: ARG002 - causal, told by the places
        ) -> torch.Tensor:  # fmt: skip
            repeat = query.shape[1] // keys.shape[1]
            keys, values = (part.repeat_interleave(repeat, dim=1) for part in (keys, values))
            places = torch.arange(keys.shape[2], device=query.device)
            queries = places[-query.shape[2] :, None]
            scores = (query @ keys.transpose(-1, -2) * scale).float()
            weights = scores.masked_fill(places > queries, -torch.inf).softmax(-1)
            # The system message itself is read as ever.
            num = num_system((*self.prefixes[index].ids, *self._tokens[index]))
            is_system = (places < num) & (queries >= num)
            return raised(weights, is_system, exponent).to(values.dtype) @ values

    class SplitRow(RowStep):
        def __init__(self, cache: Any, tokens: Any, prefixes: Any, groups: Any, forks: Any) -> None:
            super().__init__(cache, tokens, prefixes, groups, forks)
            ids = {g: p.ids for s in prefixes.stacks for g, (p, _) in s._prefixes.items()}
            if not all(group in ids for group in groups):
                raise ValueError("split-softmax: a prompt shares no prefix with those of its case")
            nums = [num_system(ids[group]) for group in groups]
            self._num_system = torch.tensor(nums, device=self.input_ids.device)

        def _mask(self, window: int | None, repeat: int, dtype: torch.dtype) -> RowMask:
            mask = super()._mask(window, repeat, dtype)
            if mask.reweigh is None:
                columns = torch.arange(mask.seen.shape[-1], device=mask.seen.device)
                is_shared = columns < mask.num_shared
                told = (is_shared & (columns < self._num_system[:, None]))[:, None, None, None]
                mask.reweigh = lambda weights: raised(weights, told, exponent)
            return mask

    return SplitAppend, SplitRow


def main(arguments: Sequence[str] | None = None) -> None:
    """Evaluate under the exponent that comes first, then the configuration."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("exponent", type=float)
    parser.add_argument("config", type=Path)
    args, overrides = parser.parse_known_args(arguments)
    config = load_config(EvalConfig, args.config, overrides)
    engine = local_engine(config.engine, used_adapters(config))
    start = engine.tokenizer.encode("<|im_start|>user", add_special_tokens=False)

    def num_system(ids: Sequence[int]) -> int:
        pairs = zip(*(ids[offset:] for offset in range(len(start))), strict=False)
        return next((at for at, found in enumerate(pairs) if list(found) == start), len(ids))

    decoding.AppendStep, decoding.RowStep = split_steps(num_system, args.exponent)
    print(evaluate(config, engine=lambda: engine).report)


if __name__ == "__main__":
    main()
