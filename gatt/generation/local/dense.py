"""Sampling on a GPU: whole prompts in one padded buffer, and every decode step replayed as one CUDA graph.

On a GPU a step of a small model is short: most of its time goes to launching kernels, not to running them.
Sharing prefixes needs more launches, and encodes fewer tokens than a GPU would notice. So here each row holds
its whole prompt, padded on the left, all rows write to the same column, and the launches of one step are
recorded once (`torch.cuda.CUDAGraph`) and replayed. The processor waits for the GPU once in `STEPS_UNSEEN`
steps, not at every token, as long as the nuclei of draws are among the most likely tokens.

Shapes: R rows, S new tokens a row, L columns of the buffer, H query heads, K key/value heads, D head size,
V vocabulary, T most new tokens.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import torch
from torch.nn import functional

from gatt.comb.attention.split import soft_capped
from gatt.generation.base import SamplingParams
from gatt.generation.local.batching import RunningRequest
from gatt.generation.local.decoding import (
    SharingEngine,
    few_can_suffice,
    next_tokens,
    tokens_of_few,
)
from gatt.generation.local.prefix.attention import run_step

log = logging.getLogger(__name__)

STEPS_UNSEEN: Final = 8
"""Steps between two looks at whether all rows have ended."""
COLUMNS: Final = 256
"""The buffer's columns are a multiple of this, so that calls of similar lengths replay the same graph."""
PREFILL_TOKENS: Final = 2**15
"""Prompt tokens of one forward pass, padding included."""
PREFILL_PAIRS: Final = 2**26
"""Most pairs of tokens in the mask of one forward pass: 64 MiB."""


class DenseCache:
    """Keys and values `[R, K, L, D]` of each layer; a layer's buffer is made when it is first written."""

    def __init__(self, num_rows: int, num_columns: int) -> None:
        self.num_rows = num_rows
        self.num_columns = num_columns
        self._held: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def write(
        self,
        layer: int,
        rows: slice,
        columns_S: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Store `[rows, K, S, D]` at the columns; return views of all columns of these rows."""
        if layer not in self._held:
            shape = (self.num_rows, key.shape[1], self.num_columns, key.shape[3])
            # Zeros: masked values are still multiplied by a weight of zero, and must not be NaN.
            self._held[layer] = key.new_zeros(shape), value.new_zeros(shape)
        views = tuple(held[rows] for held in self._held[layer])
        for view, new in zip(views, (key, value), strict=True):
            view.index_copy_(2, columns_S, new)
        return views[0], views[1]


@dataclass(eq=False)
class DenseStep:
    """New tokens `[rows, S]` of some rows, in the same S columns of the buffer.

    It is what the model's forward takes as `prefix_step`; see `gatt.generation.local.prefix.attention`.
    """

    cache: DenseCache
    rows: slice
    input_ids: torch.Tensor
    columns_S: torch.Tensor
    """Rising by one."""
    first_R: torch.Tensor
    """The column of the first token of each of the rows."""
    read: slice
    """The columns that may be seen."""
    _masks: dict[int | None, torch.Tensor] = field(default_factory=dict)

    @property
    def position_ids(self) -> torch.Tensor:
        """Positions `[rows, S]`; those of padding are 0."""
        return (self.columns_S[None] - self.first_R[:, None]).clamp(min=0)

    def attend(
        self,
        layer: int,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        window: int | None,
        **how: Any,
    ) -> torch.Tensor:
        """Store keys and values of a layer; return its attention output `[rows, S, H, D]`."""
        scale, softcap = how["scale"], how["softcap"]
        keys, values = self.cache.write(layer, self.rows, self.columns_S, key, value)
        keys, values = keys[:, :, self.read], values[:, :, self.read]
        rows, heads, num_new, size = query.shape
        shared = heads // keys.shape[1]
        mask = self._mask(window)
        if num_new == 1:
            # The query heads of one key head are queries of it: nothing is copied.
            query = query.view(rows, keys.shape[1], shared, size)
        elif shared > 1:
            keys, values = (x.repeat_interleave(shared, dim=1) for x in (keys, values))
        if softcap is None:
            output = functional.scaled_dot_product_attention(
                query, keys, values, attn_mask=mask, scale=scale
            )
        else:
            scores = soft_capped((query @ keys.transpose(-1, -2)).float() * scale, softcap)
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
            output = scores.softmax(dim=-1).to(values.dtype) @ values
        return output.reshape(rows, heads, num_new, size).transpose(1, 2)

    def commit(self) -> None:
        """Nothing is counted: the columns say what is stored."""

    def _mask(self, window: int | None) -> torch.Tensor:
        """Return which columns each new token sees, `[rows, 1, S, columns]`; each sees itself at least."""
        if window not in self._masks:
            columns = torch.arange(self.read.start, self.read.stop, device=self.columns_S.device)
            back = self.columns_S[:, None] - columns[None]
            seen = (back >= 0) & (columns[None, None] >= self.first_R[:, None, None])
            if window is not None:
                seen &= back < window
            # A token of padding would see nothing, and its values would be NaN.
            self._masks[window] = (seen | (back == 0))[:, None]
        return self._masks[window]


class Decoder:
    """Decode steps over one buffer: all rows by one token.

    The model is under `prefix_implementation`. `num_rows` is R, `num_columns` L.
    """

    def __init__(self, model: Any, num_rows: int, num_columns: int) -> None:
        device = model.device
        self.cache = DenseCache(num_rows, num_columns)
        self.first_R = torch.zeros(num_rows, dtype=torch.long, device=device)
        self._model = model
        self._tokens_R1 = torch.zeros(num_rows, 1, dtype=torch.long, device=device)
        self._column_1 = torch.zeros(1, dtype=torch.long, device=device)
        self._replay: Callable[[], torch.Tensor] | None = None

    def __call__(self, tokens_R: torch.Tensor, column: int) -> torch.Tensor:
        """Return the logits `[R, V]` after one more token of every row, which goes to a column.

        They are overwritten by the next call.
        """
        self._tokens_R1.copy_(tokens_R[:, None])
        self._column_1.fill_(column)
        if self._replay is None:
            self._replay = self._recorded() if tokens_R.is_cuda else self._step
        return self._replay()

    def _step(self) -> torch.Tensor:
        step = DenseStep(
            self.cache, slice(None), self._tokens_R1, self._column_1, self.first_R,
            slice(0, self.cache.num_columns),
        )  # fmt: skip
        return run_step(self._model, step)[:, -1]

    def _recorded(self) -> Callable[[], torch.Tensor]:
        """Return what replays the step, or the step itself where it cannot be recorded."""
        aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            # What libraries set up at their first call cannot be recorded.
            for _ in range(2):
                self._step()
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph):
                logits_RV = self._step()
        except RuntimeError as error:
            log.warning(
                "decoding without a CUDA graph, several times slower: %s cannot be recorded: %s",
                type(self._model).__name__, " ".join(str(error).split())[:200],
            )  # fmt: skip
            torch.cuda.synchronize()
            return self._step

        def replay() -> torch.Tensor:
            graph.replay()
            return logits_RV

        return replay


@dataclass
class Decoders:
    """The decoder of the last call, with its buffer and its graph: one shape at a time is held."""

    key: tuple[Any, ...] = ()
    decoder: Decoder | None = None

    def get(self, model: Any, adapter: str | None, num_rows: int, num_columns: int) -> Decoder:
        """Return the decoder of an adapter and a shape, made anew if the last one was another."""
        key = (adapter, num_rows, num_columns)
        if self.decoder is None or key != self.key:
            self.key, self.decoder = (), None
            self.key, self.decoder = key, Decoder(model, num_rows, num_columns)
        return self.decoder


def generate_dense(
    engine: SharingEngine,
    decoders: Decoders,
    rows: Sequence[RunningRequest],
    params: SamplingParams,
    adapter: str | None,
) -> Iterator[RunningRequest]:
    """Yield rows with their output, those of similar lengths in one batch."""
    for batch in _batches(engine, rows, params.max_new_tokens):
        width = max(len(row.prompt) for row in batch)
        needed = width + params.max_new_tokens
        decoder = decoders.get(engine.model, adapter, len(batch), -(-needed // COLUMNS) * COLUMNS)
        logits_RV = _prefill(engine, decoder, batch, width)
        _decode(engine, decoder, logits_RV, batch, params, width)
        yield from batch


def _batches(
    engine: SharingEngine, rows: Sequence[RunningRequest], max_new_tokens: int
) -> Iterator[list[RunningRequest]]:
    """Yield rows, longest first, as many together as rows and tokens allow."""
    batch: list[RunningRequest] = []
    for row in sorted(rows, key=lambda r: -len(r.prompt)):
        width = len(batch[0].prompt) if batch else 0
        held = (len(batch) + 1) * (width + max_new_tokens)
        if batch and (len(batch) == engine.max_rows or held > engine.max_cache_tokens):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def _prefill(
    engine: SharingEngine, decoder: Decoder, batch: Sequence[RunningRequest], width: int
) -> torch.Tensor:
    """Encode the prompts, which end in column `width - 1`; return the logits `[R, V]` after them."""
    device = engine.model.device
    lengths = [len(row.prompt) for row in batch]
    engine.counters.num_encoded_tokens += sum(lengths)
    decoder.first_R.copy_(torch.tensor([width - length for length in lengths]))
    parts, start = [], 0
    while start < len(batch):
        # The longest comes first.
        longest = lengths[start]
        num = max(1, min(PREFILL_TOKENS // longest, PREFILL_PAIRS // longest**2))
        part = slice(start, min(start + num, len(batch)))
        padded = [[0] * (longest - len(row.prompt)) + list(row.prompt) for row in batch[part]]
        first = width - longest
        step = DenseStep(
            decoder.cache, part, torch.tensor(padded, device=device),
            torch.arange(first, width, device=device), decoder.first_R[part], slice(first, width),
        )  # fmt: skip
        parts.append(run_step(engine.model, step)[:, -1])
        start = part.stop
    return torch.cat(parts)


def _decode(
    engine: SharingEngine,
    decoder: Decoder,
    logits_RV: torch.Tensor,
    batch: Sequence[RunningRequest],
    params: SamplingParams,
    width: int,
) -> None:
    """Sample tokens for all rows until every row has ended.

    The processor waits for the device once in `STEPS_UNSEEN` tokens. Draws are made from the most likely
    tokens first; where these do not suffice, the steps since the last look are made again, and from then on
    the processor looks at every token.
    """
    device, most_new = logits_RV.device, params.max_new_tokens
    stops = torch.tensor(sorted(engine.stop_ids) or [-1], device=device)
    room = [engine.context_tokens - len(row.prompt) for row in batch]
    room_R = torch.tensor(room, device=device)
    uniform_RT = torch.empty(len(batch), most_new)
    if params.temperature:
        uniform_RT = torch.stack([row.uniform for row in batch]).to(device)
    sampled: list[torch.Tensor] = []
    has_ended_R = torch.zeros(len(batch), dtype=torch.bool, device=device)
    is_quick, position = few_can_suffice(logits_RV.shape[-1], params), 0
    while True:
        # The decoder overwrites them.
        first_RV = logits_RV.clone() if is_quick else logits_RV
        end = min(position + STEPS_UNSEEN, most_new)
        new_RS, is_wide = _drawn(
            decoder, logits_RV, params, uniform_RT[:, position:end], width + position,
            is_quick=is_quick,
        )  # fmt: skip
        ended_R = has_ended_R | torch.isin(new_RS, stops).any(dim=1) | (room_R <= end)
        all_ended, has_wide = torch.stack((ended_R.all(), is_wide)).tolist()
        if has_wide:
            is_quick, logits_RV = False, first_RV
            continue
        sampled.append(new_RS)
        if all_ended or end == most_new:
            break
        logits_RV = decoder(new_RS[:, -1], width + end - 1)
        position, has_ended_R = end, ended_R
    for row, most, tokens in zip(batch, room, torch.cat(sampled, dim=1).tolist(), strict=True):
        end = next((i for i, token in enumerate(tokens) if token in engine.stop_ids), len(tokens))
        row.output = tokens[: min(end + 1, most)]
        row.is_done = True
        engine.counters.num_sampled_tokens += len(row.output)


def _drawn(
    decoder: Decoder,
    logits_RV: torch.Tensor,
    params: SamplingParams,
    uniform_RS: torch.Tensor,
    column: int,
    *,
    is_quick: bool,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the tokens `[R, S]` of S steps, and whether few tokens did not suffice for one of them.

    `logits_RV` stand before the first token, whose place is `column`; `uniform_RS` is unused at temperature 0.
    With `is_quick` the most likely tokens alone are drawn from, without waiting for the device.
    """
    tokens: list[torch.Tensor] = []
    wide: list[torch.Tensor] = []
    for step in range(uniform_RS.shape[1]):
        if step:
            logits_RV = decoder(tokens[-1], column + step - 1)
        if is_quick:
            tokens_R, wide_R = tokens_of_few(logits_RV, params, uniform_RS[:, step])
            wide.append(wide_R)
        else:
            tokens_R = next_tokens(logits_RV, params, uniform_RS[:, step])
        tokens.append(tokens_R)
    new_RS = torch.stack(tokens, dim=1)
    return new_RS, torch.stack(wide).any() if wide else torch.zeros_like(
        new_RS[0, 0], dtype=torch.bool
    )
