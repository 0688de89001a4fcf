"""The LM head of a causal LM: scored in pieces, with its weights gathered once a forward.

FSDP and DeepSpeed gather weights in hooks around the forward of a module, and every process must run the
same hooks. Processes have different numbers of pieces, so no piece may run a hook: all pieces are
computed inside one call of the head, which every process makes once in each forward.

Shapes: B rows, K kept positions, P tokens of a piece, H hidden size, V vocabulary.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

import torch
from transformers.modeling_outputs import BaseModelOutputWithPast

T = TypeVar("T", torch.Tensor, dict[str, torch.Tensor])


def causal_lm(model: Any) -> Any:
    """Return the model of transformers within DDP, DeepSpeed and PEFT."""
    model = getattr(model, "module", model)
    return model.get_base_model() if hasattr(model, "get_base_model") else model


class Head:
    """The LM head of a causal LM, with what its forward makes of the head's output (soft cap, scale)."""

    def __init__(self, model: Any) -> None:
        self.model = causal_lm(model)
        self.module = self.model.get_output_embeddings()
        self._forward = self.model.forward
        self._score = self.module.forward

    @property
    def num_logits(self) -> int:
        """How many logits a token has."""
        weight = self.model.get_input_embeddings().weight
        # ZeRO stage 3 leaves an empty tensor where it took a weight away.
        size: int = getattr(weight, "ds_shape", weight.shape)[0]
        return size

    def in_place(
        self,
        run: Callable[..., Any],
        inputs: Mapping[str, Any],
        compute: Callable[[torch.Tensor], T],
    ) -> T:
        """Run a model and return what `compute` makes of the hidden states `[B, K, H]` that its head reads.

        `compute` takes the place of the head: the hooks around the head run once, its weights are at hand
        in between, and the gradient of what is returned goes through the same hooks.

        `run` is the model, or its forward. `compute` is called once; it may call this object.
        """
        outputs: list[T] = []

        def replacement(hidden_BKH: torch.Tensor) -> T:
            with ExitStack() as stack:
                for module in self.module.modules():
                    stack.enter_context(_without_hooks(module))
                return compute(hidden_BKH)

        def keep(_: Any, inputs: tuple[torch.Tensor, ...], output: T) -> torch.Tensor:
            outputs.append(output)
            return inputs[0][..., :1]

        self._gather_inner_weights()
        with replaced(self.module, replacement):
            # The last of the head's hooks, so that the output has passed all others.
            handle = self.module.register_forward_hook(keep)
            try:
                run(**inputs)
            finally:
                handle.remove()
        return outputs[0]

    def __call__(self, hidden_PH: torch.Tensor, *, is_adapted: bool = True) -> torch.Tensor:
        """Return the logits `[P, V]`; only within `in_place`.

        Without `is_adapted` the adapter of the head is left out.
        """
        score, module = self._score, self.module
        if not is_adapted:
            base = getattr(module, "base_layer", getattr(module, "original_module", None))
            score = score if base is None else base.forward
        logits_1PV = score(hidden_PH[None])
        # The model's own forward finishes them; what stands before the head has nothing to do.
        done = _HiddenAlone(last_hidden_state=logits_1PV[..., :1])
        ids = torch.zeros(1, len(hidden_PH), dtype=torch.long, device=hidden_PH.device)
        with ExitStack() as stack:
            for inner in {self.model.base_model, self.model.get_decoder()}:
                stack.enter_context(_without_hooks(inner))
                stack.enter_context(replaced(inner, lambda *_, **__: done))
            stack.enter_context(replaced(module, lambda *_, **__: logits_1PV))
            finished: torch.Tensor = self._forward(input_ids=ids, use_cache=False).logits[0]
        return finished

    def _gather_inner_weights(self) -> None:
        """Let ZeRO stage 3 gather with the head what modules within it hold, such as a trained copy.

        Its hooks around the head gather the head's own weights alone, forward and backward.
        """
        own = {id(weight) for weight in self.module.parameters(recurse=False)}
        inner = [w for w in self.module.parameters() if hasattr(w, "ds_id") and id(w) not in own]
        if inner:
            from deepspeed.runtime.zero import register_external_parameter

            for weight in inner:
                register_external_parameter(self.module, weight)


class _HiddenAlone(BaseModelOutputWithPast):  # type: ignore[misc]
    """The output of a model without its LM head: hidden states only."""

    def __getattr__(self, name: str) -> None:
        """Return None for whatever else a forward asks for, such as `router_logits`."""
        if name.startswith("__"):
            raise AttributeError(name)


@contextmanager
def replaced(module: Any, forward: Callable[..., Any]) -> Iterator[None]:
    """Let a module compute something else while the block runs."""
    with ExitStack() as stack:
        if "forward" in module.__dict__:
            stack.callback(setattr, module, "forward", module.forward)
        else:
            stack.callback(delattr, module, "forward")
        module.forward = forward
        yield


@contextmanager
def _without_hooks(module: Any) -> Iterator[None]:
    """Take the hooks of a module's forward off while the block runs."""
    hooks = module._forward_pre_hooks, module._forward_hooks
    module._forward_pre_hooks, module._forward_hooks = OrderedDict(), OrderedDict()
    try:
        yield
    finally:
        module._forward_pre_hooks, module._forward_hooks = hooks
