"""Training rows of a few samples, as a run with a tiny tokenizer makes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gatt.data.sample import GattSample
from gatt.train.config import TrainConfig
from gatt.train.data.report import RowReport
from gatt.train.data.rows import build_rows
from tests.support.models.tiny import CHATML, tiny_tokenizer


def packable() -> None:
    """What a model says that takes packed rows."""


def recurrent() -> str:
    return "it has recurrent layers"


def make(**changes: Any) -> TrainConfig:
    settings: dict[str, Any] = {"gradient_accumulation_steps": 1, **changes}
    return TrainConfig(samples=(Path("s.jsonl"),), output_dir=Path("out"), **settings)


def build(
    samples: Sequence[GattSample],
    template: str | None = CHATML,
    *,
    why_not_packable: Any = packable,
    world_size: int = 1,
    **changes: Any,
) -> tuple[Any, RowReport]:
    return build_rows(
        samples, tiny_tokenizer(template), make(**changes),
        why_not_packable=why_not_packable, world_size=world_size,
    )  # fmt: skip
