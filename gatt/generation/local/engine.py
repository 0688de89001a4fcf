"""The local engine: sampling with a transformers model, with shared prefixes.

The prefix of a group is usually its longest prompt on record. It is encoded once, and every
request of the group is a row that forks from it. Rows of many groups are decoded together
(`gatt.generation.local.decoding`). Keys and values of prefixes are kept for the next call, in a roll-out
with those of the reply, so that only new tokens are encoded. On a GPU whole prompts are encoded instead, and
decode steps replayed (`gatt.generation.local.dense`), which is faster there. Models that cannot share
prefixes are sampled prompt by prompt (`gatt.generation.local.decoding`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch.nn.functional import cross_entropy

from gatt.data.dialogue import Dialogue, Message
from gatt.errors import GenerationError, ModelError
from gatt.generation.base import FinishReason, Generation, GenerationRequest, SamplingParams
from gatt.generation.local.batching import RunningRequest, plan_batches, plan_groups
from gatt.generation.local.cpu_linear import PackedLinears
from gatt.generation.local.decoding import (
    EngineCounters,
    generate_batch,
    generate_by_reencoding,
    uniform_stream,
)
from gatt.generation.local.dense import Decoders, generate_dense
from gatt.generation.local.model_support import sharing_problem
from gatt.generation.local.prefix.attention import prefix_implementation
from gatt.generation.local.prefix.cache import KeptPrefixes
from gatt.models.chat_template import encode_text, render
from gatt.models.encoded_view import encode_view, stop_token_ids
from gatt.models.load import LoadedModel
from gatt.models.reasoning import opens_reasoning, without_reasoning

log = logging.getLogger(__name__)


class TransformersEngine:
    """Answers requests with a local causal LM.

    Args:
        loaded: model and tokenizer; adapters are PEFT's, switched by name.
        max_rows: most rows decoded together.
        max_cache_tokens: most tokens in the key/value cache of one batch, copies included (46 kB a
            token for the embedded model); a larger prompt is answered alone.
        max_kept_tokens: most tokens of prefixes kept between calls and batches.
        is_dense: whether to decode whole prompts side by side; None: on a GPU. For models that can share
            prefixes.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        *,
        max_rows: int = 64,
        max_cache_tokens: int = 24_000,
        max_kept_tokens: int = 48_000,
        is_dense: bool | None = None,
    ) -> None:
        self.model = loaded.model
        self.tokenizer = loaded.tokenizer
        self.name = loaded.name
        self.max_rows = max_rows
        self.max_cache_tokens = max_cache_tokens
        self.kept = KeptPrefixes(max_kept_tokens)
        self.is_dense = self.model.device.type == "cuda" if is_dense is None else is_dense
        self._decoders = Decoders()
        self._linears = PackedLinears(self.model)
        self.counters = EngineCounters()
        self.stop_ids = stop_token_ids(self.tokenizer)
        prompt = render(self.tokenizer, (Message("user", "a"),), add_generation_prompt=True)
        self._opens_reasoning = opens_reasoning(prompt)
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
        """Drop the prefixes of earlier calls, and the buffer of the last one."""
        self.kept.forget()
        self._decoders = Decoders()

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
        results = [Generation("", "context_limit", 0)] * len(requests)
        rows = []
        for index, request in enumerate(requests):
            row = RunningRequest(index, request, *self._encode_prompt(request))
            if len(row.prompt) >= self.context_tokens:
                continue
            self.counters.num_prompt_tokens += len(row.prompt)
            if params.temperature:
                row.uniform = uniform_stream(params.seed, request.key, params.max_new_tokens)
            rows.append(row)
        with torch.inference_mode(), self.using(adapter), self._linears.installed():
            for row in self._answered(rows, params, adapter):
                prefill = row.prompt[len(row.prompt) - row.num_prefilled :]
                results[row.index] = self.generation_of(row.output, len(row.prompt), prefill)
        return results

    def reply_loss(self, dialogue: Dialogue, adapter: str | None = None) -> tuple[float, int]:
        """Return the summed negative log-likelihood of a dialogue's replies, and the number of their tokens.

        Counted are replies before a further user message, with their end-of-turn tokens, that end within
        the context; the sum is in nats. Without such a reply it is (0.0, 0).

        Raises:
            DataError: a prompt is not the beginning of the next one.
        """
        encoded = encode_view(self.tokenizer, dialogue)
        spans = [span for span in encoded.reply_spans if span[1] <= self.context_tokens]
        places = [i for start, end in spans for i in range(start, end)]
        if not places:
            return 0.0, 0
        device = self.model.device
        ids_1T = torch.tensor([encoded.input_ids[: spans[-1][1]]], device=device)
        before_K = torch.tensor(places, device=device) - 1
        with self.using(adapter), torch.inference_mode():
            output = self.model(input_ids=ids_1T, logits_to_keep=before_K, use_cache=False)
        loss = cross_entropy(output.logits[0].float(), ids_1T[0, before_K + 1], reduction="sum")
        return float(loss), len(places)

    def _answered(
        self, rows: Sequence[RunningRequest], params: SamplingParams, adapter: str | None
    ) -> Iterator[RunningRequest]:
        """Yield the rows with their outputs."""
        if not self.shares_prefixes:
            yield from generate_by_reencoding(self, rows, params)
            return
        if self.is_dense:
            with prefix_implementation(self.model):
                yield from generate_dense(self, self._decoders, rows, params, adapter)
            return
        batches = plan_batches(
            plan_groups(rows),
            max_rows=self.max_rows,
            max_cache_tokens=self.max_cache_tokens,
            max_new_tokens=params.max_new_tokens,
        )
        with prefix_implementation(self.model):
            for batch in batches:
                generate_batch(self, batch, params, adapter)
        yield from rows

    def _encode_prompt(self, request: GenerationRequest) -> tuple[tuple[int, ...], int]:
        """Return the ids of prompt and prefill, and the number of those of the prefill."""
        text = render(self.tokenizer, request.messages, add_generation_prompt=True)
        prompt = encode_text(self.tokenizer, text)
        if not request.prefill:
            return prompt, 0
        ids = encode_text(self.tokenizer, text + request.prefill)
        if ids[: len(prompt)] != prompt:
            raise GenerationError(
                f"request {request.key!r}: the prefill {request.prefill!r} changes the tokens of the prompt"
            )
        return ids, len(ids) - len(prompt)

    def generation_of(
        self, output: Sequence[int], num_prompt_tokens: int, prefill: Sequence[int] = ()
    ) -> Generation:
        """Return the reply of some sampled tokens.

        `output` has the token that ends the turn. `num_prompt_tokens` counts the prompt and `prefill`, the
        given beginning of the reply.
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
        loaded = list(getattr(self.model, "peft_config", {}))
        if name is None:
            return self.model.disable_adapter() if loaded else nullcontext()
        if name not in loaded:
            raise ModelError(
                f"no adapter {name!r} is loaded (loaded: {', '.join(loaded) or 'none'})"
            )
        self.model.set_adapter(name)
        return nullcontext()
