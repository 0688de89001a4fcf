"""The local engine: sampling with a transformers model, with shared prefixes.

The prefix of a group is usually its longest prompt on record. It is encoded once, and every
request of the group is a row that forks from it. Rows of many groups are decoded together. Keys and
values of prefixes are kept for the next call, in a roll-out with those of the reply, so that only new
tokens are encoded.

These tokens are encoded more than once: common tokens of different groups; a prompt that shares too
little with its group; common tokens of two rows after their forks, such as probes with the same beginning;
the last token of a prompt of an earlier call or batch, for its logits; and prefixes that were
dropped because of `max_kept_tokens` (`num_encoded_again`). Models that cannot share prefixes are sampled
prompt by prompt (`gatt.generation.local.without_sharing`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from gatt.data.dialogue import Dialogue
from gatt.errors import GenerationError, ModelError
from gatt.generation.base import FinishReason, Generation, GenerationRequest, SamplingParams
from gatt.generation.local.batching import (
    Group,
    Row,
    pieces,
    plan_batches,
    plan_groups,
    prefilled_together,
    spans_of,
)
from gatt.generation.local.cpu_linear import PackedLinears
from gatt.generation.local.likelihood import reply_loss
from gatt.generation.local.model_support import sharing_problem
from gatt.generation.local.prefix.attention import (
    AppendStep,
    RowStep,
    prefix_implementation,
    run_step,
)
from gatt.generation.local.prefix.cache import Prefix, RowCache
from gatt.generation.local.prefix.lru import KeptPrefixes
from gatt.generation.local.prefix.stack import MOST_PAIRS, SharedPrefixes
from gatt.generation.local.sampling import next_tokens, uniform_stream
from gatt.generation.local.without_sharing import generate_by_reencoding
from gatt.generation.reasoning import opens_reasoning, without_reasoning
from gatt.models.chat_template import encode, render
from gatt.models.encoded_view import stop_token_ids
from gatt.models.load import LoadedModel

log = logging.getLogger(__name__)

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
    """Encoded tokens that an earlier call or batch had encoded too, and that were dropped because of
    `max_kept_tokens`."""


class TransformersEngine:
    """Answers requests with a local causal LM.

    Args:
        loaded: model and tokenizer; adapters are PEFT's, switched by name.
        max_rows: most rows decoded together.
        max_cache_tokens: most tokens in the key/value cache of one batch, copies included (46 kB a
            token for the embedded model); a larger prompt is answered alone.
        max_kept_tokens: most tokens of prefixes kept between calls and batches.
        on_progress: called with the number of requests finished.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        *,
        max_rows: int = 64,
        max_cache_tokens: int = 24_000,
        max_kept_tokens: int = 48_000,
        on_progress: Callable[[int], None] | None = None,
    ) -> None:
        self.model = loaded.model
        self.tokenizer = loaded.tokenizer
        self.name = loaded.name
        self.max_rows = max_rows
        self.max_cache_tokens = max_cache_tokens
        self.kept = KeptPrefixes(max_kept_tokens)
        self._linears = PackedLinears(self.model)
        self.on_progress = on_progress
        self.counters = EngineCounters()
        self.stop_ids = stop_token_ids(self.tokenizer)
        self._opens_reasoning = opens_reasoning(self.tokenizer)
        with self.using(None):
            problem = sharing_problem(self.model)
        self.shares_prefixes = problem is None
        """Whether common prefixes of prompts are encoded once."""
        if problem:
            log.warning("%s: every prompt is encoded on its own: %s", self.name, problem)

    @property
    def context_tokens(self) -> int:
        """Most positions of prompt and reply together."""
        config = self.model.config.get_text_config()
        return int(getattr(config, "max_position_embeddings", None) or 2**31)

    def forget(self) -> None:
        """Drop the prefixes of earlier calls."""
        self.kept.forget()

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
        rows = []
        for index, request in enumerate(requests):
            row = Row(index, request, *self._encode_prompt(request))
            if len(row.prompt) >= self.context_tokens:
                results[index] = Generation("", "context_limit", 0)
                continue
            self.counters.num_prompt_tokens += len(row.prompt)
            if params.temperature:
                row.uniform = uniform_stream(params.seed, request.key, params.max_new_tokens)
            rows.append(row)
        with torch.inference_mode(), self.using(adapter), self._linears.installed():
            for done in self._answered(rows, params, adapter):
                for row in done:
                    results[row.index] = self._finish(row)
                if self.on_progress:
                    self.on_progress(len(done))
        missing = [r.key for r, result in zip(requests, results, strict=True) if result is None]
        if missing:
            raise GenerationError(
                f"no reply for {len(missing)} requests, the first is {missing[0]!r}"
            )
        return [r for r in results if r is not None]

    def reply_loss(self, dialogue: Dialogue, adapter: str | None = None) -> tuple[float, int]:
        """Return the loss of a dialogue's replies, see `gatt.generation.local.likelihood.reply_loss`."""
        with self.using(adapter):
            return reply_loss(self.model, self.tokenizer, dialogue, self.context_tokens)

    def _answered(
        self, rows: Sequence[Row], params: SamplingParams, adapter: str | None
    ) -> Iterator[list[Row]]:
        """Yield rows with their output, batch by batch."""
        if not self.shares_prefixes:
            yield from generate_by_reencoding(self, rows, params)
            return
        batches = plan_batches(
            plan_groups(rows),
            max_rows=self.max_rows,
            max_cache_tokens=self.max_cache_tokens,
            max_new_tokens=params.max_new_tokens,
        )
        with prefix_implementation(self.model):
            for batch in batches:
                self._generate_batch(batch, params, adapter)
                yield [row for group in batch for row in group.rows]

    def _encode_prompt(self, request: GenerationRequest) -> tuple[tuple[int, ...], int]:
        """Return the ids of prompt and prefill, and the number of those of the prefill."""
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

    def _generate_batch(
        self, batch: list[Group], params: SamplingParams, adapter: str | None
    ) -> None:
        prefixes, logits = self._encode_prefixes(batch, adapter)
        rows = [row for group in batch for row in group.rows]
        own = max(len(r.suffix) if batch[0].name else len(r.prompt) for r in rows)
        cache = RowCache(len(rows), own + params.max_new_tokens, self.model.device)
        if not batch[0].name:
            # The prefixes are not shared, and one buffer for all is faster to read.
            for index, (row, prefix) in enumerate(zip(rows, prefixes, strict=True)):
                cache.load_prefix(index, prefix)
                row.fork = 0
            prefixes = [Prefix() for _ in batch]
        sizes = [len(group.rows) for group in batch]
        unread = [i for i, row in enumerate(rows) if row.index not in logits]
        shared = SharedPrefixes(prefixes, [group.reach for group in batch], self.model.device)
        self._prefill(unread, logits, cache, shared, rows, sizes)
        first = torch.stack([logits[row.index] for row in rows])
        read_again = {
            group.continued.index: prefix
            for group, prefix in zip(batch, prefixes, strict=True)
            if group.continued
        }

        def retire(row: Row, index: int) -> None:
            """Move tokens that a roll-out reads again from the cache to the prefix."""
            if (prefix := read_again.get(row.index)) is not None:
                # The last sampled token has no keys yet.
                cache.append_to(prefix, index, (*row.suffix, *row.output[:-1]))

        self._decode(first, rows, cache, shared, sizes, params, retire)
        for group, prefix in zip(batch, prefixes, strict=True):
            self.kept.put((adapter, group.name), prefix)

    def _decode(
        self,
        logits: torch.Tensor,
        rows: Sequence[Row],
        cache: RowCache,
        shared: SharedPrefixes,
        sizes: list[int],
        params: SamplingParams,
        retire: Callable[[Row, int], None],
    ) -> None:
        """Sample tokens for all rows until every row is done."""
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
            # Dropping rows copies the caches of the others, so several are dropped at once.
            if len(going) <= COMPACT_SHARE * len(held):
                for index in sorted(set(range(len(held))) - set(going)):
                    retire(held[index], index)
                cache.keep_rows(torch.tensor(going, device=self.model.device))
                sizes = [sum(start <= i < end for i in going) for start, end in spans_of(sizes)]
                held = [held[i] for i in going]
                shared.keep(sizes)
            last = [r.output[-1:] for r in held]
            logits = self._rows_forward(last, cache, shared, held, sizes)
        for index, row in enumerate(held):
            retire(row, index)

    def _prefill(
        self,
        places: Sequence[int],
        logits: dict[int, torch.Tensor],
        cache: RowCache,
        shared: SharedPrefixes,
        rows: Sequence[Row],
        sizes: Sequence[int],
    ) -> None:
        """Encode the own tokens of the rows at some places, and add the logits `[V]` after them.

        Rows of similar length are encoded together, with little padding.
        """
        suffixes = [rows[i].suffix for i in places]
        self.counters.num_encoded_tokens += sum(map(len, suffixes))
        # On a GPU the whole matrix of scores is in memory.
        most_pairs = MOST_PAIRS if self.model.device.type == "cuda" else None
        forks = [rows[i].fork for i in places]
        for part in prefilled_together([len(s) for s in suffixes], forks, most_pairs):
            width = max(len(suffixes[i]) for i in part)
            own = RowCache(len(part), width, self.model.device)
            own_places = [places[i] for i in part]
            own_sizes = [
                sum(start <= i < end for i in own_places) for start, end in spans_of(sizes)
            ]
            own_rows = [rows[i] for i in own_places]
            found = self._rows_forward(
                [suffixes[i] for i in part], own, shared, own_rows, own_sizes
            )
            cache.load_rows(torch.tensor(own_places, device=self.model.device), own)
            logits |= {row.index: one for row, one in zip(own_rows, found, strict=True)}

    def _encode_prefixes(
        self, batch: list[Group], adapter: str | None
    ) -> tuple[list[Prefix], dict[int, torch.Tensor]]:
        """Return the groups' prefixes, of which kept parts are used and the rest is encoded.

        Also returns the logits `[V]` of prompts that end within the encoded tokens, by the index of
        their row.
        """
        prefixes = []
        ends: list[dict[int, list[Row]]] = []
        reaches = [group.reach for group in batch]
        for group, reach in zip(batch, reaches, strict=True):
            prefix, num_again = self.kept.take((adapter, group.name), group.prefix, reach)
            self.counters.num_encoded_again += num_again
            prefixes.append(prefix)
            ends.append({})
            for row in (r for r in group.rows if r.fork == len(r.prompt)):
                if row.fork > len(prefix):
                    ends[-1].setdefault(row.fork - 1, []).append(row)
                else:
                    # Its last token was encoded before, but the logits were not kept.
                    row.fork -= 1
        known = [len(prefix) for prefix in prefixes]
        rest = [
            group.prefix[num:reach] for group, num, reach in zip(batch, known, reaches, strict=True)
        ]
        self.counters.num_encoded_tokens += sum(map(len, rest))
        logits: dict[int, torch.Tensor] = {}
        for part in pieces([len(ids) for ids in rest], MOST_APPENDED):
            step = AppendStep(
                [prefixes[index] for index, _, _ in part],
                [rest[index][start:end] for index, start, end in part],
                self.model.device,
            )
            at = [
                (place, ends[index].get(known[index] + offset, ()))
                for place, (index, offset) in enumerate(
                    (index, offset) for index, start, end in part for offset in range(start, end)
                )
            ]
            wanted = [(place, rows) for place, rows in at if rows]
            # An empty tensor would mean all positions.
            kept = torch.tensor([place for place, _ in wanted] or [0], device=self.model.device)
            found = run_step(self.model, step, kept)[0]
            for one, (_, rows) in zip(found, wanted, strict=False):
                logits |= {row.index: one for row in rows}
        return prefixes, logits

    def _rows_forward(
        self,
        tokens: Sequence[Sequence[int]],
        cache: RowCache,
        shared: SharedPrefixes,
        rows: Sequence[Row],
        sizes: Sequence[int],
    ) -> torch.Tensor:
        """Return the logits `[R, V]` after each row's last new token."""
        device = self.model.device
        forks_R = torch.tensor([row.fork for row in rows], device=device)
        step = RowStep(cache, tokens, shared, sizes, forks_R, device)
        return run_step(self.model, step)[:, -1]

    def _finish(self, row: Row) -> Generation:
        prefill = row.prompt[len(row.prompt) - row.num_prefilled :]
        return self.generation_of(row.output, len(row.prompt), prefill)

    def generation_of(
        self, output: Sequence[int], num_prompt_tokens: int, prefill: Sequence[int] = ()
    ) -> Generation:
        """Return the reply of some sampled tokens.

        Args:
            output: sampled tokens, with the token that ends the turn.
            num_prompt_tokens: of prompt and prefill.
            prefill: tokens of the given beginning of the reply.
        """
        finish: FinishReason = "length"
        if output and output[-1] in self.stop_ids:
            finish = "stop"
        elif num_prompt_tokens + len(output) >= self.context_tokens:
            finish = "context_limit"
        ids = [*prefill, *(output[:-1] if finish == "stop" else output)]
        text = self.tokenizer.decode(ids, skip_special_tokens=True).strip()
        is_cut = finish != "stop"
        reply = without_reasoning(text, is_cut=is_cut, is_opened=self._opens_reasoning)
        return Generation(reply, finish, len(output))

    def using(self, name: str | None) -> AbstractContextManager[Any]:
        """Activate an adapter, or switch adapters off (None) while the block runs.

        Raises:
            ModelError: no such adapter.
        """
        known = list(getattr(self.model, "peft_config", {}))
        if name is None:
            return self.model.disable_adapter() if known else nullcontext()
        if name not in known:
            raise ModelError(
                f"no adapter {name!r} is loaded (loaded: {', '.join(known) or 'none'})"
            )
        self.model.set_adapter(name)
        return nullcontext()
