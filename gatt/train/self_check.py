"""The self-check of the attention of packed rows, on the device and in the type that a run uses.

A back end that was never run on this device is not trusted: a small packed row goes through the model by
each back end, and its loss and LoRA gradients are compared with those of plain rows, which transformers'
own attention computes. What differs by more than rounding is named as a problem.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from peft import LoraConfig, get_peft_model

from gatt.comb.attention.backend import Backend, enable_comb_attention
from gatt.comb.collator import GattCollator, RowLayout, combs_to_features
from gatt.comb.comb import IGNORE, Branch, Comb, expand
from gatt.comb.loss import batch_loss
from gatt.comb.model_support import most_error
from gatt.train.runtime import from_everyone, undisturbed

log = logging.getLogger(__name__)

_BRANCHES: Final = ((40, 160, 8), (90, 168, 12), (140, 180, 16), (20, 196, 10))
"""Fork, and place and number of the ids, of each branch of `_small_combs`."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What the check found of one back end."""

    backend: Backend
    device: str
    dtype: str
    """Of the forward pass, such as `bfloat16`."""
    loss_error: float
    """Relative difference of the loss; NaN where the back end failed."""
    gradient_error: float
    """Relative difference of the LoRA gradients, all as one vector; NaN where the back end failed."""
    problem: str | None
    """Why the back end is not to be used; None where it is right."""

    @property
    def is_right(self) -> bool:
        """Whether the back end may be used."""
        return self.problem is None


def usable_backend(
    model: Any,
    wanted: Backend,
    *,
    bf16: bool,
    lengths: Sequence[int],
    is_spread: bool,
    is_asked_for: bool,
) -> Backend:
    """Return the back end of packed rows: the wanted one if it is right on every process, else `split`.

    Every process calls it.

    `split` on a CPU needs no check. With `is_spread` no process has all the weights, so nothing can be checked:
    the wanted back end is used if the user named it (`is_asked_for`). For all else see `check_attention`.
    """
    if wanted == "split" and model.device.type == "cpu":
        return wanted
    if is_spread:
        used: Backend = wanted if is_asked_for else "split"
        log.info("attention: %r, unchecked, since the weights are spread", used)
        return used
    findings = from_everyone(
        lambda: check_attention(model, (wanted,), bf16=bf16, lengths=lengths)[0]
    )
    wrong = next((finding for finding in findings if not finding.is_right), None)
    if wrong is None:
        return wanted
    # `split` is left, whatever its check finds: torch's own attention computes it everywhere.
    log.warning(
        "the attention back end %r is not right on %s in %s (%s): using 'split'",
        wanted, wrong.device, wrong.dtype, wrong.problem,
    )  # fmt: skip
    return "split"


def check_attention(
    model: Any,
    backends: Sequence[Backend] | None = None,
    *,
    bf16: bool = False,
    lengths: Sequence[int] = (),
) -> list[Finding]:
    """Return one finding for each back end, in their order; the model is left as it was.

    `model` is a `PeftModel` around a causal LM, on its device; `tiny_model` makes one where none is at hand.
    Without `backends` all are checked that the device can run: `split`, and `flex` on CUDA. `bf16` computes as
    a run with `bf16` does. FlexAttention is compiled for `lengths`, and for no other one.

    Raises:
        ValueError: weights that are not all on this process (FSDP, ZeRO stage 3).
    """
    if any(p.is_meta or hasattr(p, "ds_id") for p in model.parameters()):
        raise ValueError("the attention cannot be checked: the weights are not all on this process")
    can_run: tuple[Backend, ...] = ("split", "flex") if model.device.type == "cuda" else ("split",)
    base, dtype = model.get_base_model(), torch.bfloat16 if bf16 else model.dtype
    before = base.config._attn_implementation
    combs = _small_combs(model.get_input_embeddings().weight.shape[0])
    autocast = torch.autocast(model.device.type, torch.bfloat16, enabled=bf16)
    with undisturbed(model), torch.enable_grad(), autocast:
        try:
            try:
                base.set_attn_implementation("sdpa")
            except ValueError:
                # Gemma 2 has none.
                base.set_attn_implementation("eager")
            plain = _outcome(model, [row for c in combs for row in expand(c)], "expanded")
            enable_comb_attention(model)
            return [
                _finding(model, combs, plain, backend, dtype, lengths)
                for backend in backends or can_run
            ]
        finally:
            base.set_attn_implementation(before)


def _finding(
    model: Any,
    combs: Sequence[Comb],
    plain: tuple[torch.Tensor, torch.Tensor],
    backend: Backend,
    dtype: torch.dtype,
    lengths: Sequence[int],
) -> Finding:
    """Return how far loss and gradients of packed rows are from those of plain rows."""
    errors, problem, most = [math.nan, math.nan], None, most_error(dtype)
    try:
        own = _outcome(model, combs, "comb", backend, lengths)
        errors = [float((a - b).norm() / b.norm()) for a, b in zip(own, plain, strict=True)]
        if not max(errors) < most:
            problem = (
                f"loss off by {errors[0]:.2g}, LoRA gradients by {errors[1]:.2g}, where rounding "
                f"explains {most:g}"
            )
    except Exception as error:
        # Compilers and kernels fail with errors of any class.
        problem = f"failed: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
    return Finding(
        backend=backend, device=str(model.device), dtype=str(dtype).removeprefix("torch."),
        loss_error=errors[0], gradient_error=errors[1], problem=problem,
    )  # fmt: skip


def tiny_model(device: str | torch.device = "cpu", dtype: torch.dtype = torch.float32) -> Any:
    """Return a random model of two layers, one of them with a sliding window, and an adapter."""
    from transformers import Gemma3ForCausalLM, Gemma3TextConfig

    config = Gemma3TextConfig(
        vocab_size=256, hidden_size=64, intermediate_size=64, num_hidden_layers=2, head_dim=16,
        num_attention_heads=4, num_key_value_heads=2, sliding_window=48, initializer_range=0.2,
        layer_types=["sliding_attention", "full_attention"],
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Gemma3ForCausalLM(config).to(device, dtype)
        lora = LoraConfig(task_type="CAUSAL_LM", r=4, target_modules="all-linear")
        return get_peft_model(model, lora).eval()


def _small_combs(vocabulary: int) -> list[Comb]:
    """Return two dialogues for one row: more tokens than one block of the mask, and three branches."""
    draw = torch.Generator().manual_seed(0)
    ids = tuple(torch.randint(vocabulary, (206,), generator=draw).tolist())
    branches = [Branch(fork, ids[at : at + n], ids[at : at + n]) for fork, at, n in _BRANCHES]
    return [
        Comb(ids[:140], (IGNORE,) * 140, tuple(branches[:3])),
        Comb(ids[140:160], (IGNORE,) * 20, tuple(branches[3:])),
    ]


def _outcome(
    model: Any,
    combs: Sequence[Comb],
    layout: RowLayout,
    backend: Backend = "split",
    lengths: Sequence[int] = (),
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the summed loss of the combs and its gradients at the adapter, as one vector."""
    rows = GattCollator(0, layout)([combs_to_features([comb]) for comb in combs])
    batch = {name: value.to(model.device) for name, value in rows.items()}
    loss = batch_loss(model, batch, backend, lengths=lengths).loss
    weights = [p for name, p in model.named_parameters() if "lora_" in name]
    for weight in weights:
        weight.requires_grad_(True)
    gradients = torch.autograd.grad(loss, weights, allow_unused=True)
    parts = [g.float().flatten() for g in gradients if g is not None]
    return loss.detach().float(), torch.cat(parts)
