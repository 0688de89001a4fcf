"""Dialogues in memory as samples, and a trainer of them: what `GattTrainer.from_dialogues` is made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import torch
from peft import LoraConfig, PeftModel
from transformers import PreTrainedTokenizerBase
from trl import SFTConfig

from gatt.comb.model_support import packing_problem, why_not_packable
from gatt.config.load import config_dict
from gatt.data.dialogue import Dialogue, parse_messages
from gatt.data.instruction import Instruction
from gatt.data.sample import GattSample, TurnTarget
from gatt.errors import ConfigError, DataError
from gatt.runs.provenance import jsonable
from gatt.runs.typed import ShapeError, typed
from gatt.train.arguments import SAME, training_arguments
from gatt.train.config import TrainConfig
from gatt.train.data.rows import build_rows

OWN: Final = "own"
"""Family of an instruction that is no entry of a catalogue."""


_OF_A_FOLDER: Final = (
    "chat_template_kwargs",
    "init_adapter",
    "launch",
    "load_in_4bit",
    "model",
    "resume",
    "track",
)
"""Settings that `gatt.train.run` acts on before there is a trainer."""


def trainer_arguments(
    model: Any,
    tokenizer: Any,
    dialogues: Iterable[Any],
    args: SFTConfig | None,
    peft_config: Any,
    settings: Mapping[str, Any],
) -> dict[str, Any]:
    """Return what `GattTrainer` takes, for dialogues in memory; see `GattTrainer.from_dialogues`."""
    for value, kind, what in (
        (model, torch.nn.Module, "a causal LM"),
        (tokenizer, PreTrainedTokenizerBase, "its tokenizer"),
    ):
        if not isinstance(value, kind):
            raise ConfigError(f"{type(value).__name__} {str(value)[:40]!r}: expected {what}")
    if unread := [key for key in _OF_A_FOLDER if key in settings]:
        raise ConfigError(
            f"{', '.join(unread)}: read for a model in a folder only: expected a model prepared so, "
            "or `gatt.train.run.train`"
        )
    values = {"samples": ["memory"], "output_dir": "gatt-output", **_shared(args), **settings}
    try:
        config = typed(TrainConfig, jsonable(values))
    except ShapeError as error:
        raise ConfigError(str(error)) from None

    def problem() -> str | None:
        asked = (config.attn_implementation, config.max_length)
        return why_not_packable(model.config, *asked) or packing_problem(model, *asked)

    rows, report = build_rows(samples_of(dialogues), tokenizer, config, why_not_packable=problem)
    if peft_config is None and not isinstance(model, PeftModel):
        peft_config = LoraConfig(task_type="CAUSAL_LM", **config_dict(config.lora))
    args = training_arguments(config)
    args.gradient_accumulation_steps = report.rows_a_step
    return {
        "model": model, "config": config, "args": args, "rows": rows,
        "tokenizer": tokenizer, "layout": report.layout, "peft_config": peft_config,
    }  # fmt: skip


def _shared(args: SFTConfig | None) -> dict[str, Any]:
    """Return the settings of TRL that `TrainConfig` has too, without those that are unset."""
    if args is None:
        return {}
    given = {name: getattr(args, name) for name in ("output_dir", "bf16", *SAME)}
    given["report_to"] = args.report_to or "none"
    return {name: value for name, value in given.items() if value is not None}


def samples_of(rows: Iterable[Any]) -> Iterator[GattSample]:
    """Yield the sample of each row, in order.

    Args:
        rows: each a mapping: a sample as `gatt synth` writes it, or `messages` in chat form. The system message
            is the instruction; without one the dialogue is a plain one. `targets`, a text or None for each
            user message, are the replies to learn, and the messages' own replies are then the history only;
            without `targets` each of these replies is learned as well. `id` may name the row.

    Raises:
        DataError: a row that is none of these, with its number from 1.
    """
    for number, row in enumerate(rows, start=1):
        try:
            yield row if isinstance(row, GattSample) else _sample(number, row)
        except DataError as error:
            raise DataError(f"row {number}: {error}") from None


def _sample(number: int, row: Any) -> GattSample:
    if not isinstance(row, Mapping):
        raise DataError(f"{type(row).__name__}: expected an object with 'messages'")
    if "dialogue" in row:
        return GattSample.from_dict(row)
    if "messages" not in row:
        raise DataError(f"no 'messages': found {', '.join(map(repr, row)) or 'nothing'}")
    dialogue = Dialogue(str(row.get("id") or f"row-{number}"), parse_messages(row["messages"]))
    instruction = None
    if dialogue.has_system:
        text = dialogue.messages[0].content
        instruction = Instruction(
            id=OWN, text=text, wording="verbose", entries=(OWN,), families=(OWN,), split="train",
            verifiers=(), probes=(),
        )  # fmt: skip
        dialogue = replace(dialogue, messages=dialogue.messages[1:])
    targets = row.get("targets")
    texts = dialogue.replies if targets is None else targets
    if not isinstance(texts, list | tuple) or len(texts) > dialogue.num_turns:
        raise DataError(
            f"'targets' is {targets!r}: expected a list of a text or None for each of "
            f"{dialogue.num_turns} user messages"
        )
    missing = [None] * (dialogue.num_turns - len(texts))
    turns = enumerate([*texts, *missing], start=1)
    return GattSample(
        dialogue.id,
        dialogue,
        instruction,
        tuple(
            TurnTarget(turn, text or None, None if text else "none given") for turn, text in turns
        ),
    )
