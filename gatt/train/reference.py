"""The model that objectives compare with: without its adapter, or with the one that training starts from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from gatt.comb.attention.backend import Backend
from gatt.comb.head import Head
from gatt.comb.loss import reference_hidden
from gatt.comb.objectives.table import TABLE, Objectives
from gatt.errors import ConfigError
from gatt.train.config import TrainConfig
from gatt.train.runtime import undisturbed
from gatt.train.sharding import any_process, refuse_spread_weights, spreads_weights


class Reference:
    """Hidden states of the reference model, from forward passes without gradient through the same weights."""

    def __init__(
        self, model: Any, objectives: Objectives, config: TrainConfig, accelerator: Any
    ) -> None:
        """Copy the adapter's weights where an objective compares with the start of training.

        A checkpoint is loaded later, so a resumed run has the same copies.

        Raises:
            ConfigError: an adapter with biases; for the start of training also weights that are spread over
                the processes, or an adapter of the LM head.
        """
        self._objectives = objectives
        self._accelerator = accelerator
        names = [
            name for name in (config.objective, config.plain_loss) if TABLE[name].needs_reference
        ]
        self.is_needed = bool(names)
        """Whether steps also have forward passes of the reference model."""
        if names and any(a.bias != "none" for a in model.peft_config.values()):
            raise ConfigError(
                f"{' and '.join(map(repr, names))}: the first adapter has biases of its own, which cannot "
                "be taken off: expected one with bias 'none', or objective and plain_loss 'targets'"
            )
        self._start: dict[str, torch.Tensor] = {}
        compared = (o for _, o in objectives if o.name == config.objective)
        if any(objective.compares_with_start for objective in compared):
            self._start = _starting_weights(model, accelerator)

    def hidden(
        self,
        model: Any,
        inputs: dict[str, torch.Tensor],
        backend: Backend,
        lengths: Sequence[int],
    ) -> torch.Tensor | None:
        """Return `reference_hidden` of a batch; None where no objective needs it."""
        if not self.is_needed:
            return None
        is_needed = bool(self._objectives.reads_reference(inputs).any())
        # A forward of sharded weights takes all processes, also those without such a row.
        is_spread = spreads_weights(self._accelerator)
        if not (any_process(self._accelerator, is_needed) if is_spread else is_needed):
            return None
        # Unwrapped: a forward of DDP's on some of the processes alone would hang.
        whole = self._accelerator.unwrap_model(model)
        is_start_K = self._objectives.compares_with_start(inputs)
        if self._start and bool(is_start_K.any()):
            with torch.no_grad(), undisturbed(whole), self._as_at_start(whole):
                start_KH = reference_hidden(
                    whole, inputs, backend, lengths=lengths, objectives=self._objectives
                )
            if bool(is_start_K.all()):
                return start_KH
        trained = [(weight, weight.requires_grad) for weight in whole.parameters()]
        with torch.no_grad(), undisturbed(whole), whole.disable_adapter():
            # PEFT freezes the adapter, and FSDP2 stores at its first forward the type of trained gradients.
            for weight, is_trained in trained:
                weight.requires_grad_(is_trained)
            hidden_KH = reference_hidden(
                whole, inputs, backend, lengths=lengths, objectives=self._objectives
            )
        if self._start and bool(is_start_K.any()):
            hidden_KH = torch.where(is_start_K[:, None], start_KH, hidden_KH)
        return hidden_KH if is_needed else None

    @contextmanager
    def _as_at_start(self, whole: Any) -> Iterator[None]:
        """Give the adapter the weights that training started from while the block runs."""
        weights = [(name, w) for name, w in whole.named_parameters() if name in self._start]
        now = [weight.data for _, weight in weights]
        try:
            for name, weight in weights:
                weight.data = self._start[name].to(weight.data)
            # Autocast keeps what it has cast by the weight, not by its values.
            torch.clear_autocast_cache()
            yield
        finally:
            for (_, weight), data in zip(weights, now, strict=True):
                weight.data = data
            torch.clear_autocast_cache()


def _starting_weights(model: Any, accelerator: Any) -> dict[str, torch.Tensor]:
    """Return copies of the adapter's weights, by name."""
    refuse_spread_weights(accelerator, "preference.reference", "base")
    head = Head(model).module
    if hasattr(head, "base_layer") or hasattr(head, "original_module"):
        raise ConfigError(
            "preference.reference is 'init_adapter', and that adapter changes the LM head: expected 'base'"
        )
    trained = ((name, w) for name, w in model.named_parameters() if w.requires_grad)
    return {name: weight.detach().clone() for name, weight in trained}
