"""The local engine: shared-prefix sampling with a transformers model.

Requests of one group share what their prompts have in common: the longest of
them is the trunk, encoded once; every request is a row that forks from it.
All rows of many groups are decoded together, and keys and values of a trunk
are kept for the next call, so that a roll-out encodes only what is new. Where
prompts have little in common, each is a row of its own without a trunk.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch

from gatt.chat_template import encode, render, stop_token_ids
from gatt.errors import GenerationError, ModelError
from gatt.generation.base import Generation, GenerationRequest, SamplingParams
from gatt.generation.draw import next_tokens, uniform_stream
from gatt.generation.prefix_attention import PrefixStep, RowCache, prefix_implementation
from gatt.models import LoadedModel

MIN_SHARED_TOKENS = 64
"""Prompts of a group that save fewer tokens by sharing are rows of their own."""

PADDING_FREE = 32
"""Padding tokens of a forward that cost less than another forward."""
COMPACT_SHARE = 0.75
"""Finished rows are dropped once at most this share of a batch still goes on."""


@dataclass
class EngineCounters:
    """What the engine computed since it was made."""

    num_prompt_tokens: int = 0
    """Tokens of all prompts, as if each were encoded on its own."""
    num_encoded_tokens: int = 0
    """Prompt tokens that went through the model."""
    num_sampled_tokens: int = 0
    """Tokens drawn, end-of-turn tokens included."""


@dataclass
class _Row:
    index: int
    request: GenerationRequest
    prompt: tuple[int, ...]
    num_prefilled: int = 0
    """Last tokens of the prompt that are the beginning of the reply."""
    fork: int = 0
    uniform: torch.Tensor = field(default_factory=lambda: torch.empty(0))
    output: list[int] = field(default_factory=list)
    is_done: bool = False


@dataclass
class _Group:
    key: tuple[str | None, str]
    trunk: tuple[int, ...]
    rows: list[_Row]


class TransformersEngine:
    """Answers requests with a local causal LM whose attention is a plain KV cache.

    Args:
        loaded: model and tokenizer; adapters are PEFT's, switched by name.
        max_rows: most rows decoded together.
        max_cache_tokens: most tokens whose keys and values are held by one
            batch (the embedded model needs 46 kB for each).
        max_kept_tokens: most trunk tokens kept between calls.
        on_progress: called with the number of requests finished.

    Raises:
        ModelError: the model has sliding or recurrent layers.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        *,
        max_rows: int = 64,
        max_cache_tokens: int = 24_000,
        max_kept_tokens: int = 24_000,
        on_progress: Callable[[int], None] | None = None,
    ) -> None:
        self.model = loaded.model
        self.tokenizer = loaded.tokenizer
        self.name = loaded.name
        self.max_rows = max_rows
        self.max_cache_tokens = max_cache_tokens
        self.max_kept_tokens = max_kept_tokens
        self.on_progress = on_progress
        self.counters = EngineCounters()
        self.stop_ids = stop_token_ids(self.tokenizer)
        self.config = self.model.config.get_text_config()
        self._kept: OrderedDict[
            tuple[str | None, str], tuple[tuple[int, ...], torch.Tensor, torch.Tensor]
        ] = OrderedDict()
        layer_types = set(getattr(self.config, "layer_types", None) or ()) - {"full_attention"}
        if layer_types:
            raise ModelError(
                f"{loaded.name}: layers of type {', '.join(sorted(layer_types))} have no plain KV cache, "
                "and no engine here samples from such a model: choose one with full attention"
            )
        # Mistral and Phi-3 name no layer types: their window holds for every layer.
        window = getattr(self.config, "sliding_window", None)
        if (
            window
            and not getattr(self.config, "layer_types", None)
            and window < self.context_tokens
        ):
            raise ModelError(
                f"{loaded.name}: sliding_window {window} is shorter than its context of "
                f"{self.context_tokens} tokens, and no engine here samples from such a model: "
                "choose one with full attention"
            )

    @property
    def context_tokens(self) -> int:
        """Most positions of prompt and reply together."""
        return int(self.config.max_position_embeddings)

    def generate(
        self,
        requests: Sequence[GenerationRequest],
        params: SamplingParams,
        adapter: str | None = None,
    ) -> list[Generation]:
        """Return one reply per request, in order; see `Engine.generate`.

        A prompt that leaves no room for one token gets an empty reply with
        `finish="context_limit"`.
        """
        results: list[Generation | None] = [None] * len(requests)
        groups = self._plan(requests, params, adapter, results)
        with torch.inference_mode(), self._adapter(adapter), prefix_implementation(self.model):
            for batch in self._batches(groups, params):
                self._generate_batch(batch, params)
                for row in (r for g in batch for r in g.rows):
                    results[row.index] = self._finish(row)
                if self.on_progress:
                    self.on_progress(sum(len(g.rows) for g in batch))
        missing = [r.key for r, result in zip(requests, results, strict=True) if result is None]
        if missing:
            raise GenerationError(
                f"no reply for {len(missing)} requests, the first is {missing[0]!r}"
            )
        return [r for r in results if r is not None]

    def _plan(
        self,
        requests: Sequence[GenerationRequest],
        params: SamplingParams,
        adapter: str | None,
        results: list[Generation | None],
    ) -> list[_Group]:
        by_group: dict[str, list[_Row]] = {}
        for index, request in enumerate(requests):
            prompt, num_prefilled = self._encode_prompt(request)
            if len(prompt) >= self.context_tokens:
                results[index] = Generation("", "context_limit", 0)
                continue
            self.counters.num_prompt_tokens += len(prompt)
            row = _Row(index, request, prompt, num_prefilled)
            if params.temperature:
                row.uniform = uniform_stream(params.seed, request.key, params.max_new_tokens)
            by_group.setdefault(request.group or f"\x00{index}", []).append(row)
        groups = []
        for name, rows in by_group.items():
            longest = max(rows, key=lambda r: len(r.prompt)).prompt
            forks = [min(_num_common(r.prompt, longest), len(r.prompt) - 1) for r in rows]
            trunk = longest[: max(forks)]
            known = self._kept.get((adapter, name), ((),))[0]
            num_saved = sum(forks) - len(trunk) + _num_common(trunk, known)
            if num_saved < MIN_SHARED_TOKENS:
                # A roll-out asks once per dialogue and call: what it encodes now, the next call needs.
                kept_as = name if len(rows) == 1 else ""
                groups += [_Group((adapter, kept_as), (), [row]) for row in rows]
                continue
            for row, fork in zip(rows, forks, strict=True):
                row.fork = fork
            groups.append(_Group((adapter, name), trunk, rows))
        return groups

    def _encode_prompt(self, request: GenerationRequest) -> tuple[tuple[int, ...], int]:
        """Return the ids of prompt and prefill together, and how many are the prefill's."""
        prompt = encode(self.tokenizer, request.messages, add_generation_prompt=True)
        if not request.prefill:
            return prompt, 0
        text = render(self.tokenizer, request.messages, add_generation_prompt=True)
        ids = tuple(self.tokenizer(text + request.prefill, add_special_tokens=False)["input_ids"])
        if ids[: len(prompt)] != prompt:
            raise GenerationError(
                f"request {request.key!r}: the prefill {request.prefill!r} changes the tokens of the prompt"
            )
        return ids, len(ids) - len(prompt)

    def _batches(self, groups: list[_Group], params: SamplingParams) -> Iterator[list[_Group]]:
        """Yield groups that fit together; one with too many rows is cut."""
        batch: list[_Group] = []
        shared = [g for g in groups if g.trunk]
        alone = sorted((g for g in groups if not g.trunk), key=lambda g: len(g.rows[0].prompt))
        for group in sorted(shared, key=lambda g: len(g.trunk), reverse=True) + alone:
            for start in range(0, len(group.rows), self.max_rows):
                part = _Group(group.key, group.trunk, group.rows[start : start + self.max_rows])
                is_other = bool(batch) and bool(batch[0].trunk) != bool(part.trunk)
                if batch and (is_other or not self._fits([*batch, part], params)):
                    yield batch
                    batch = []
                batch.append(part)
        if batch:
            yield batch

    def _fits(self, groups: list[_Group], params: SamplingParams) -> bool:
        rows = [r for g in groups for r in g.rows]
        own = max(len(r.prompt) - r.fork for r in rows) + params.max_new_tokens
        trunk = max(len(g.trunk) for g in groups) * len(groups)
        return len(rows) <= self.max_rows and trunk + own * len(rows) <= self.max_cache_tokens

    def _generate_batch(self, batch: list[_Group], params: SamplingParams) -> None:
        device = self.model.device
        trunk = self._encode_trunks(batch) if batch[0].trunk else None
        rows = [r for g in batch for r in g.rows]
        suffixes = [r.prompt[r.fork :] for r in rows]
        capacity = max(map(len, suffixes)) + params.max_new_tokens
        cache = RowCache(self.config, len(rows), capacity, self.model.dtype, device)
        sizes = [len(g.rows) for g in batch]
        forks_R = torch.tensor([r.fork for r in rows], device=device) if trunk else None
        logits = self._prefill(suffixes, cache, trunk, sizes, forks_R)
        if trunk is None:
            for index, group in enumerate(batch):
                self._keep(group.key, group.rows[0].prompt, cache, index)
        held = list(rows)
        for position in range(params.max_new_tokens):
            uniform = (
                torch.stack([r.uniform[position] for r in held])
                if params.temperature
                else torch.empty(0)
            )
            tokens = next_tokens(logits, params, uniform.to(logits.device)).tolist()
            for row, token in zip(held, tokens, strict=True):
                if not row.is_done:
                    row.output.append(token)
                    row.is_done = (
                        token in self.stop_ids
                        or len(row.prompt) + len(row.output) >= self.context_tokens
                    )
                    self.counters.num_sampled_tokens += 1
            going = [i for i, row in enumerate(held) if not row.is_done]
            if not going or position + 1 == params.max_new_tokens:
                break
            # Dropping rows copies the caches of the others, so it waits until it pays.
            if len(going) <= COMPACT_SHARE * len(held):
                kept = torch.tensor(going, device=device)
                cache.keep_rows(kept)
                forks_R = forks_R[kept] if forks_R is not None else None
                sizes = [sum(start <= i < end for i in going) for start, end in _spans(sizes)]
                held = [held[i] for i in going]
            last = [[r.output[-1]] for r in held]
            logits = self._forward(last, cache, trunk, _spans(sizes), forks_R)

    def _prefill(
        self,
        suffixes: list[tuple[int, ...]],
        cache: RowCache,
        trunk: RowCache | None,
        sizes: Sequence[int],
        forks_R: torch.Tensor | None,
    ) -> torch.Tensor:
        """Encode what each row adds to its trunk; return the logits `[R, V]` behind it.

        Rows of like length go together, so that little is spent on padding.
        """
        device = self.model.device
        spans = _spans(sizes)
        logits: torch.Tensor | None = None
        for part in _like_lengths([len(s) for s in suffixes]):
            rows = torch.tensor(part, device=device)
            width = max(len(suffixes[i]) for i in part)
            own = RowCache(self.config, len(part), width, self.model.dtype, device)
            groups = _spans([sum(start <= i < end for i in part) for start, end in spans])
            forks = forks_R[rows] if forks_R is not None else None
            found = self._forward([suffixes[i] for i in part], own, trunk, groups, forks)
            if logits is None:
                logits = found.new_empty(len(suffixes), found.shape[-1])
            logits[rows] = found
            cache.load_rows(rows, own, width)
        self.counters.num_encoded_tokens += sum(map(len, suffixes))
        if logits is None:
            raise GenerationError("an empty batch: expected at least one request")
        return logits

    def _encode_trunks(self, batch: list[_Group]) -> RowCache:
        """Return the trunks' keys and values, taking what earlier calls left."""
        device = self.model.device
        longest = max(len(g.trunk) for g in batch)
        trunk = RowCache(self.config, len(batch), max(longest, 1), self.model.dtype, device)
        for index, group in enumerate(batch):
            known, keys, values = self._kept.get(group.key, ((), None, None))
            shared = _num_common(group.trunk, known)
            if shared and keys is not None and values is not None:
                trunk.load_row(index, keys[:, :, :shared], values[:, :, :shared])
            rest = group.trunk[shared:]
            self.counters.num_encoded_tokens += len(rest)
            # One by one: trunks differ in length, and a row alone is causal without mask or padding.
            if rest:
                row = trunk.row_view(index)
                self._forward([rest], row, None, (), None)
                trunk.lengths[index] = row.lengths[0]
        for index, group in enumerate(batch):
            self._keep(group.key, group.trunk, trunk, index)
        return trunk

    def _keep(
        self, key: tuple[str | None, str], ids: tuple[int, ...], cache: RowCache, index: int
    ) -> None:
        if not key[1] or key[1].startswith("\x00"):
            return
        self._kept.pop(key, None)
        self._kept[key] = (ids, *cache.row_tokens(index, len(ids)))
        while sum(len(ids) for ids, _, _ in self._kept.values()) > self.max_kept_tokens:
            self._kept.popitem(last=False)

    def _forward(
        self,
        tokens: Sequence[Sequence[int]],
        cache: RowCache,
        trunk: RowCache | None,
        groups: Sequence[tuple[int, int]],
        forks_R: torch.Tensor | None,
    ) -> torch.Tensor:
        """Return the logits `[R, V]` after each row's last new token."""
        device = self.model.device
        width = max(map(len, tokens))
        padded = [[0] * (width - len(t)) + list(t) for t in tokens]
        counts_R = torch.tensor([len(t) for t in tokens], device=device)
        step = PrefixStep(cache, counts_R, width, trunk, groups, forks_R)
        output = self.model(
            input_ids=torch.tensor(padded, device=device),
            position_ids=step.position_ids_RS,
            use_cache=False,
            logits_to_keep=1,
            prefix_step=step,
        )
        step.commit()
        logits: torch.Tensor = output.logits[:, -1]
        return logits

    def _finish(self, row: _Row) -> Generation:
        is_stopped = bool(row.output) and row.output[-1] in self.stop_ids
        ids = list(row.prompt[len(row.prompt) - row.num_prefilled :])
        ids += row.output[:-1] if is_stopped else row.output
        text = self.tokenizer.decode(ids, skip_special_tokens=True).strip()
        if is_stopped:
            return Generation(text, "stop", len(row.output))
        at_limit = len(row.prompt) + len(row.output) >= self.context_tokens
        return Generation(text, "context_limit" if at_limit else "length", len(row.output))

    def _adapter(self, name: str | None) -> AbstractContextManager[Any]:
        known = list(getattr(self.model, "peft_config", {}))
        if name is None:
            return self.model.disable_adapter() if known else nullcontext()
        if name not in known:
            raise ModelError(
                f"no adapter {name!r} is loaded (loaded: {', '.join(known) or 'none'})"
            )
        self.model.set_adapter(name)
        return nullcontext()


def _num_common(a: Sequence[int], b: Sequence[int]) -> int:
    """Return how many first tokens the two have in common."""
    for index, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return index
    return min(len(a), len(b))


def _like_lengths(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield indices in order, grouped so that padding adds at most a quarter."""
    part: list[int] = []
    total = 0
    for index in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if (
            part
            and lengths[index] * (len(part) + 1) > 1.25 * (total + lengths[index]) + PADDING_FREE
        ):
            yield sorted(part)
            part, total = [], 0
        part.append(index)
        total += lengths[index]
    yield sorted(part)


def _spans(sizes: Sequence[int]) -> list[tuple[int, int]]:
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    return [(end - size, end) for end, size in zip(ends, sizes, strict=True)]
