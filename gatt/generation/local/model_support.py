"""What a model can do in sampling: whether its prompts can share a prefix, and how much cache it may use."""

from __future__ import annotations

from typing import Any, Final

import torch

from gatt.comb.model_support import MOST_ERROR, MOST_ERROR_BF16, why_not_packable
from gatt.generation.local.prefix.attention import (
    AppendStep,
    RowStep,
    prefix_implementation,
    run_step,
)
from gatt.generation.local.prefix.cache import Prefix, RowCache, SharedPrefixes

CPU_CACHE_TOKENS: Final = 24_000
CPU_KEPT_TOKENS: Final = 48_000
_CACHE_SHARE: Final = 0.25
_KEPT_SHARE: Final = 0.35
"""Share of a GPU's free memory; the rest is for logits and activations."""


def sharing_problem(model: Any) -> str | None:
    """Return why a loaded model cannot sample from shared prefixes; None if it can.

    The requirements are those of packed rows in training: attention with any mask, a cache of keys
    and values, and given positions. They exclude recurrent layers, attention in chunks or with sinks, a
    sliding window that the configuration does not declare (PhiMoE), and a rotary embedding that changes
    all positions once the text is long (longrope, unless the whole context is short): keys of a
    short prompt are wrong for a longer one.
    """
    config = model.config
    # A recurrent model may have no furthest position.
    furthest = getattr(config.get_text_config(), "max_position_embeddings", None) or 0
    problem = why_not_packable(config, None, furthest)
    if problem is not None:
        return problem
    try:
        error = sharing_error(model)
    except (RuntimeError, ValueError, TypeError, AttributeError, IndexError, KeyError) as failure:
        return f"a trial forward pass failed: {' '.join(str(failure).split())}"
    most = MOST_ERROR if model.dtype in (torch.float32, torch.float64) else MOST_ERROR_BF16
    if not error < most:
        return (
            f"in a trial forward pass logits differ by {error:.2g} from those of plain prompts, relative to "
            "the largest"
        )
    return None


@torch.inference_mode()
def sharing_error(model: Any) -> float:
    """Return the largest difference of logits with shared prefixes from plain ones, relative to the largest.

    Two prompts of 12 and 15 tokens share the first 9; one of 9 tokens shares nothing. Each is answered by
    three tokens. This covers prefixes that grow and lie side by side, rows that fork from them, and
    decoding.
    """
    size = model.get_input_embeddings().weight.shape[0]
    ids = torch.randint(size, (21,), generator=torch.Generator().manual_seed(0)).tolist()
    rows = [ids[:12], ids[:9] + ids[12:18], ids[6:15]]
    replies = [ids[18:20], ids[19:21], ids[16:18]]
    device = model.device
    plain = []
    for row, reply in zip(rows, replies, strict=True):
        output = model(torch.tensor([row + reply], device=device), use_cache=False)
        plain.append(output.logits[0, len(row) - 1 :])
    prefixes, cache = [Prefix(), Prefix()], RowCache(3, 10, device)
    steps = []
    with prefix_implementation(model):
        for parts in ((rows[0][:5], rows[2][:4]), (rows[0][5:11], rows[2][4:7])):
            run_step(model, AppendStep(prefixes, parts, device))
        stacks = SharedPrefixes(prefixes, [11, 7], device)
        tokens = [rows[0][11:], rows[1][9:], rows[2][7:]]
        for position in range(3):
            step = RowStep(cache, tokens, stacks, [0, 0, 1], [11, 9, 7])
            steps.append(run_step(model, step)[:, -1])
            if position < 2:
                tokens = [[reply[position]] for reply in replies]
    shared = torch.stack(steps, dim=1).float()
    expected = torch.stack(plain).float()
    return float((shared - expected).abs().max() / expected.abs().max())


def cache_limits(model: Any) -> tuple[int, int]:
    """Return the most tokens of one batch, and of the prefixes that are kept between batches.

    On a GPU they follow from the free memory; on a CPU they are small enough for any machine.
    """
    if model.device.type != "cuda":
        return CPU_CACHE_TOKENS, CPU_KEPT_TOKENS
    config = model.config.get_text_config()
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    # Keys and values of one token in all layers.
    num_bytes = 2 * config.num_hidden_layers * heads * size * model.dtype.itemsize
    num = torch.cuda.mem_get_info(model.device)[0] // num_bytes
    return (
        max(int(num * _CACHE_SHARE), CPU_CACHE_TOKENS),
        max(int(num * _KEPT_SHARE), CPU_KEPT_TOKENS),
    )
