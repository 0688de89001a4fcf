"""Samples replies: the draw of a token, and batches of rows that continue shared prefixes.

Models that cannot share prefixes sample through their own cache (`generate_by_reencoding`).

These tokens are encoded more than once: common tokens of different groups; a prompt that shares too
little with its group; common tokens of two rows after their forks, such as probes with the same beginning;
the last token of a prompt of an earlier call or batch, for its logits; and prefixes that were
dropped because of `max_kept_tokens` (`num_encoded_again`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from transformers import GenerationConfig, LogitsProcessor, LogitsProcessorList

from gatt.generation.base import SamplingParams, stream_seed
from gatt.generation.local.batching import Group, RunningRequest, pieces, prefilled_together
from gatt.generation.local.prefix.attention import AppendStep, RowStep, run_step
from gatt.generation.local.prefix.cache import (
    MOST_PAIRS,
    KeptPrefixes,
    Prefix,
    RowCache,
    SharedPrefixes,
)

MOST_APPENDED = 2048
"""Prompt tokens of one forward pass."""
COMPACT_SHARE = 0.75
"""Finished rows are dropped once at most this share of a batch is unfinished."""


@dataclass
class EngineCounters:
    """What the engine has computed."""

    num_prompt_tokens: int = 0
    """Tokens of all prompts, without sharing."""
    num_encoded_tokens: int = 0
    """Prompt tokens that were encoded."""
    num_sampled_tokens: int = 0
    """Sampled tokens, with end-of-turn tokens."""
    num_encoded_again: int = 0
    """Most tokens that were encoded again because their prefix was dropped to stay within
    `max_kept_tokens`."""


class SharingEngine(Protocol):
    """What these functions take from `gatt.generation.local.engine.TransformersEngine`."""

    model: Any
    tokenizer: Any
    stop_ids: frozenset[int]
    kept: KeptPrefixes
    counters: EngineCounters
    max_rows: int
    max_cache_tokens: int

    @property
    def context_tokens(self) -> int:
        """Most positions of prompt and reply together."""


def generate_batch(
    engine: SharingEngine, batch: list[Group], params: SamplingParams, adapter: str | None
) -> None:
    """Sample the outputs of the rows of a batch of `plan_batches`."""
    device = engine.model.device
    for number, group in enumerate(batch):
        for row in group.rows:
            row.group = number
    prefixes, logits = _encode_prefixes(engine, batch, adapter)
    rows = [row for group in batch for row in group.rows]
    own = max(len(r.suffix) if batch[0].name else len(r.prompt) for r in rows)
    cache = RowCache(len(rows), own + params.max_new_tokens, device)
    if not batch[0].name:
        # The prefixes are not shared, and one buffer for all is faster to read.
        for index, (row, prefix) in enumerate(zip(rows, prefixes, strict=True)):
            cache.load_prefix(index, prefix)
            row.fork = 0
        prefixes = [Prefix() for _ in batch]
    shared = SharedPrefixes(prefixes, [group.reach for group in batch], device)
    _prefill(engine, rows, cache, shared, logits)
    first = torch.stack([logits[row.index] for row in rows])
    read_again = {
        group.continued.index: prefix
        for group, prefix in zip(batch, prefixes, strict=True)
        if group.continued
    }

    def retire(row: RunningRequest, index: int) -> None:
        """Move tokens that a roll-out reads again from the cache to the prefix."""
        if (prefix := read_again.get(row.index)) is not None:
            # The last sampled token has no keys yet.
            cache.append_to(prefix, index, (*row.suffix, *row.output[:-1]))

    _decode(engine, first, rows, cache, shared, params, retire)
    for group, prefix in zip(batch, prefixes, strict=True):
        engine.kept.put((adapter, group.name), prefix)


def _decode(
    engine: SharingEngine,
    logits: torch.Tensor,
    rows: list[RunningRequest],
    cache: RowCache,
    shared: SharedPrefixes,
    params: SamplingParams,
    retire: Callable[[RunningRequest, int], None],
) -> None:
    """Sample tokens for all rows until every row is done; `logits` `[R, V]` are those of the prompts."""
    for position in range(params.max_new_tokens):
        uniform = torch.empty(0)
        if params.temperature:
            uniform = torch.stack([row.uniform[position] for row in rows])
        tokens = next_tokens(logits, params, uniform.to(logits.device)).tolist()
        for row, token in zip(rows, tokens, strict=True):
            if not row.is_done:
                row.output.append(token)
                num = len(row.prompt) + len(row.output)
                row.is_done = token in engine.stop_ids or num >= engine.context_tokens
                engine.counters.num_sampled_tokens += 1
        going = [i for i, row in enumerate(rows) if not row.is_done]
        if not going or position + 1 == params.max_new_tokens:
            break
        # Dropping rows copies the caches of the others, so several are dropped at once.
        if len(going) <= COMPACT_SHARE * len(rows):
            for index, row in enumerate(rows):
                if row.is_done:
                    retire(row, index)
            cache.keep_rows(torch.tensor(going, device=logits.device))
            rows = [rows[i] for i in going]
            shared.keep({row.group for row in rows})
        logits = _forward(engine, [row.output[-1:] for row in rows], cache, shared, rows)
    for index, row in enumerate(rows):
        retire(row, index)


def _prefill(
    engine: SharingEngine,
    rows: Sequence[RunningRequest],
    cache: RowCache,
    shared: SharedPrefixes,
    logits: dict[int, torch.Tensor],
) -> None:
    """Encode the own tokens of the rows without logits, and add the logits `[V]` after them.

    Rows of similar length are encoded together, with little padding.
    """
    device = engine.model.device
    places = [i for i, row in enumerate(rows) if row.index not in logits]
    lengths = [len(rows[i].suffix) for i in places]
    engine.counters.num_encoded_tokens += sum(lengths)
    # On a GPU the whole matrix of scores is in memory.
    most_pairs = MOST_PAIRS if device.type == "cuda" else None
    for part in prefilled_together(lengths, [rows[i].fork for i in places], most_pairs):
        own = RowCache(len(part), max(lengths[i] for i in part), device)
        members = [rows[places[i]] for i in part]
        logits_of_rows = _forward(engine, [row.suffix for row in members], own, shared, members)
        cache.load_rows(torch.tensor([places[i] for i in part], device=device), own)
        logits |= {
            row.index: row_logits for row, row_logits in zip(members, logits_of_rows, strict=True)
        }


def _encode_prefixes(
    engine: SharingEngine, batch: list[Group], adapter: str | None
) -> tuple[list[Prefix], dict[int, torch.Tensor]]:
    """Return the groups' prefixes, of which kept parts are used and the rest is encoded.

    Also returns the logits `[V]` of prompts that end within the encoded tokens, by the index of
    their row.
    """
    prefixes = []
    ends: dict[tuple[int, int], list[RunningRequest]] = {}
    """Group and last token to the rows whose prompt ends there."""
    reaches = [group.reach for group in batch]
    for number, (group, reach) in enumerate(zip(batch, reaches, strict=True)):
        prefix, num_again = engine.kept.take((adapter, group.name), group.prefix, reach)
        engine.counters.num_encoded_again += num_again
        prefixes.append(prefix)
        for row in (r for r in group.rows if r.fork == len(r.prompt)):
            if row.fork > len(prefix):
                ends.setdefault((number, row.fork - 1), []).append(row)
            else:
                # Its last token was encoded before, but the logits were not kept.
                row.fork -= 1
    num_kept = [len(prefix) for prefix in prefixes]
    rest = [
        group.prefix[num:reach] for group, num, reach in zip(batch, num_kept, reaches, strict=True)
    ]
    engine.counters.num_encoded_tokens += sum(map(len, rest))
    logits: dict[int, torch.Tensor] = {}
    for part in pieces([len(ids) for ids in rest], MOST_APPENDED):
        step = AppendStep(
            [prefixes[index] for index, _, _ in part],
            [rest[index][start:end] for index, start, end in part],
            engine.model.device,
        )
        places = [
            (index, num_kept[index] + offset)
            for index, start, end in part
            for offset in range(start, end)
        ]
        wanted = [(at, ends[place]) for at, place in enumerate(places) if place in ends]
        # An empty tensor would mean all positions.
        kept = torch.tensor([at for at, _ in wanted] or [0], device=engine.model.device)
        after = run_step(engine.model, step, kept)[0]
        for after_prefix, (_, rows) in zip(after, wanted, strict=False):
            logits |= {row.index: after_prefix for row in rows}
    return prefixes, logits


def _forward(
    engine: SharingEngine,
    tokens: Sequence[Sequence[int]],
    cache: RowCache,
    shared: SharedPrefixes,
    rows: Sequence[RunningRequest],
) -> torch.Tensor:
    """Return the logits `[R, V]` after each row's last new token."""
    step = RowStep(cache, tokens, shared, [row.group for row in rows], [row.fork for row in rows])
    return run_step(engine.model, step)[:, -1]


_TOP = 128
"""Candidates of a first look; only rows with a larger nucleus are sorted completely."""


def uniform_stream(seed: int, key: str, num_draws: int) -> torch.Tensor:
    """Return `num_draws` uniform numbers in [0, 1) that depend only on seed and key.

    The number at index i is for position i of the reply, in any batch.
    """
    generator = np.random.Generator(np.random.Philox(key=stream_seed(seed, key)))
    return torch.from_numpy(generator.random(num_draws))


def next_tokens(
    logits_RV: torch.Tensor, params: SamplingParams, uniform_R: torch.Tensor
) -> torch.Tensor:
    """Return one token id per row.

    Greedy at temperature 0. Otherwise the token comes from the smallest set of most likely tokens whose mass
    reaches `top_p`, by inverse transform of the row's uniform number over the tokens in descending
    order of probability.
    """
    if params.temperature == 0:
        return logits_RV.argmax(dim=-1)
    chosen, wide, scaled, total = _first_look(logits_RV, params, uniform_R)
    if logits_RV.shape[-1] > _TOP and bool(wide.any()):
        values, indices = scaled[wide].sort(dim=-1, descending=True)
        chosen[wide] = _invert(values, indices, total[wide], params.top_p, uniform_R[wide])
    return chosen


def few_can_suffice(num_tokens: int, params: SamplingParams) -> bool:
    """Return whether draws from so many tokens are worth trying by `tokens_of_few`."""
    return params.temperature > 0 and params.top_p < 1 and num_tokens > _TOP


def tokens_of_few(
    logits_RV: torch.Tensor, params: SamplingParams, uniform_R: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return one token id per row, and a mask `[R]` of rows where it may differ from that of `next_tokens`.

    In these rows the nucleus (`top_p`) is wider than the few most likely tokens. The call never waits for the
    device. It needs `few_can_suffice`.
    """
    chosen_R, wide_R, _, _ = _first_look(logits_RV, params, uniform_R)
    return chosen_R, wide_R


def _first_look(
    logits_RV: torch.Tensor, params: SamplingParams, uniform_R: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return tokens of the most likely ones, the rows where these are too few, scaled logits and their sums."""
    scaled = logits_RV.float() / params.temperature
    total = scaled.logsumexp(dim=-1, keepdim=True)
    best, order = scaled.topk(min(_TOP, scaled.shape[-1]), dim=-1)
    wide = (best - total).exp().sum(dim=-1) < params.top_p
    return _invert(best, order, total, params.top_p, uniform_R), wide, scaled, total


def _invert(
    sorted_logits: torch.Tensor,
    order: torch.Tensor,
    total: torch.Tensor,
    top_p: float,
    uniform_R: torch.Tensor,
) -> torch.Tensor:
    probabilities = (sorted_logits - total).exp().double()
    before = probabilities.cumsum(dim=-1) - probabilities
    probabilities = probabilities.masked_fill(before >= top_p, 0.0)
    cumulative = probabilities.cumsum(dim=-1)
    threshold = uniform_R.to(cumulative)[:, None] * cumulative[:, -1:]
    rank = (cumulative <= threshold).sum(dim=-1, keepdim=True)
    last = (probabilities > 0).sum(dim=-1, keepdim=True) - 1
    return order.gather(-1, torch.minimum(rank, last))[:, 0]


def generate_by_reencoding(
    engine: SharingEngine, rows: Sequence[RunningRequest], params: SamplingParams
) -> Iterator[RunningRequest]:
    """Yield rows with their output; those of one length are sampled together.

    There is no padding: it would change a recurrent state and the length of the text.
    """
    by_length: dict[int, list[RunningRequest]] = {}
    for row in rows:
        by_length.setdefault(len(row.prompt), []).append(row)
    for length, members in sorted(by_length.items()):
        room = min(params.max_new_tokens, engine.context_tokens - length)
        num = max(1, min(engine.max_rows, engine.max_cache_tokens // (length + room)))
        for start in range(0, len(members), num):
            part = members[start : start + num]
            _answer(engine, part, params, room)
            yield from part


def _answer(
    engine: SharingEngine, rows: Sequence[RunningRequest], params: SamplingParams, room: int
) -> None:
    model = engine.model
    prompts = torch.tensor([row.prompt for row in rows], device=model.device)
    # The model's own defaults, such as a repetition penalty, are put aside.
    defaults, model.generation_config = model.generation_config, GenerationConfig()
    try:
        out = model.generate(
            prompts, attention_mask=torch.ones_like(prompts), do_sample=False, max_new_tokens=room,
            eos_token_id=sorted(engine.stop_ids) or None,
            pad_token_id=engine.tokenizer.pad_token_id or 0,
            logits_processor=LogitsProcessorList([_Draw(rows, prompts.shape[1], params)]),
        )  # fmt: skip
    finally:
        model.generation_config = defaults
    engine.counters.num_encoded_tokens += prompts.numel()
    for row, ids in zip(rows, out[:, prompts.shape[1] :].tolist(), strict=True):
        ends = [i for i, token in enumerate(ids) if token in engine.stop_ids]
        row.output = ids[: ends[0] + 1] if ends else ids
        engine.counters.num_sampled_tokens += len(row.output)


class _Draw(LogitsProcessor):  # type: ignore[misc]
    """Leaves one candidate: the token that the row's random stream draws."""

    def __init__(
        self, rows: Sequence[RunningRequest], prompt_length: int, params: SamplingParams
    ) -> None:
        self._uniforms = torch.stack([row.uniform for row in rows]) if params.temperature else None
        self._prompt_length = prompt_length
        self._params = params

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return scores `[R, V]` that are -inf except at the drawn token."""
        position = input_ids.shape[1] - self._prompt_length
        uniform = torch.empty(0) if self._uniforms is None else self._uniforms[:, position]
        tokens = next_tokens(scores, self._params, uniform.to(scores.device))
        return torch.full_like(scores, -torch.inf).scatter_(1, tokens[:, None], 0.0)
