"""Settings of a run, by the size of the model and what the machine has; each says why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gatt.commands.doctor.machine import GB, Machine
from gatt.commands.run.plan import LORA_BYTES

RATES: Final = (
    (
        300e6,
        1e-3,
        "measured with 135 million weights: half of it showed no difference (results/README.md)",
    ),
    (1e9, 1e-3, "tried with 0.5 billion weights on the six examples (docs/guides/own_data.md)"),
    (3e9, 2e-4, "rests on no measurement: the usual one for LoRA at this size"),
    (12e9, 1e-4, "rests on no measurement: the usual one for LoRA at this size"),
    (float("inf"), 5e-5, "rests on no measurement: the usual one for LoRA at this size"),
)
"""Up to how many weights, which learning rate, and what it rests on."""
_UNKNOWN: Final = 8e9
_LORA_BYTES: Final = 0.01 * LORA_BYTES
"""Of a weight of the model: about one weight of the adapter in a hundred, with gradient and Adam's means."""


@dataclass(frozen=True)
class Settings:
    """What `run.yaml` sets by model and machine."""

    learning_rate: float
    why_rate: str
    is_small: bool
    """Whether the model copies a history that it is shown, as one of 135 million weights does."""
    has_int8: bool
    """Whether the teacher computes in int8: half the time on a processor, which a small model need not."""
    max_rows: int
    memory: str
    """One line on what the model takes and what there is."""
    is_too_large: bool
    """Whether the model does not fit the machine, whatever is set."""
    load_in_4bit: bool
    gradient_checkpointing: bool


def choose_settings(weights: int | None, machine: Machine) -> Settings:
    """Return the settings for a model on a machine.

    Args:
        weights: of the model; None where nobody knows, which is taken for 8 billion.
        machine: that will train.
    """
    number = weights or _UNKNOWN
    rate, why = next((rate, why) for most, rate, why in RATES if number <= most)
    has = machine.model_bytes
    # A fifth is left for activations, and for what else runs there.
    plain = number * (machine.weight_bytes + _LORA_BYTES) / 0.8
    packed = number * (0.6 + _LORA_BYTES) / 0.8
    is_packed = plain > has and bool(machine.gpus)
    needs = packed if is_packed else plain
    kind = "4-bit" if is_packed else "bfloat16" if machine.gpus else "float32"
    return Settings(
        learning_rate=rate,
        why_rate=why,
        is_small=number <= RATES[0][0],
        has_int8=not machine.gpus and number > RATES[0][0],
        max_rows=64 if machine.gpus or number <= RATES[0][0] else 32,
        memory=f"{number * (0.6 if is_packed else machine.weight_bytes) / GB:.2g} GB of {kind} weights, "
        f"{needs / GB:.2g} GB to train; this machine has {has / GB:.2g} GB",
        # Engines hold plain weights.
        is_too_large=max(needs, number * machine.weight_bytes) > has,
        load_in_4bit=is_packed,
        gradient_checkpointing=needs > has / 2,
    )
