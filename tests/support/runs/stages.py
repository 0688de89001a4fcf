"""What tests of whole stages share: dialogues, an instruction, and an engine that answers from a function."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gatt.data.dialogue import Dialogue, Message
from gatt.data.instruction import Instruction, Probe
from gatt.generation.base import Generation, GenerationRequest, SamplingParams
from gatt.verifiers.spec import VerifierSpec

PLACES = ("river", "harbor", "market", "valley", "station", "castle", "garden", "museum")


def dialogue(number: int, num_turns: int = 3) -> Dialogue:
    """Return a dialogue whose texts differ by number and turn."""
    messages = []
    for turn in range(1, num_turns + 1):
        place = PLACES[(number + turn) % len(PLACES)]
        messages.append(Message("user", f"What was the {place} like on day {turn} of {number}?"))
        messages.append(Message("assistant", f"The {place} was calm on day {turn} of {number}."))
    return Dialogue(f"d-{number:03d}", tuple(messages))


def hobby(value: str, **changes: Any) -> Instruction:
    """Return the instruction to enjoy something, as the catalogue would make it, with some fields changed."""
    rule = (VerifierSpec("terms", {"any_of": [value]}),)
    made = Instruction(
        id=f"hobby.{value}",
        text=f"You enjoy {value}.",
        wording="verbose",
        entries=(f"hobby.{value}",),
        families=("hobby",),
        split="train",
        verifiers=rule,
        probes=(Probe(f"Do you like {value}?", rule),),
    )
    return replace(made, **changes)


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Write JSON lines."""
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text("".join(lines), encoding="utf-8")
    return path


def write_dialogues(path: Path, num: int = 6, num_turns: int = 3) -> Path:
    """Write dialogues as JSONL in messages form."""
    return write_jsonl(path, (dialogue(n, num_turns).as_dict() for n in range(num)))


def write_model(folder: Path, weights: bytes = b"weights") -> Path:
    """Write what passes for the folder of a model until somebody loads it."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text("{}", encoding="utf-8")
    (folder / "model.safetensors").write_bytes(weights)
    return folder


class RecordingEngine:
    """Answers `reply(request)`, a text or a whole generation, and records what it was asked.

    With `interrupt_at`, call number `interrupt_at` (from 1) is interrupted as by Ctrl-C.
    """

    def __init__(
        self,
        reply: Callable[[GenerationRequest], str | Generation],
        interrupt_at: int | None = None,
    ) -> None:
        self.reply = reply
        self.interrupt_at = interrupt_at
        self.calls: list[tuple[tuple[GenerationRequest, ...], SamplingParams, str | None]] = []

    def generate(
        self,
        requests: Sequence[GenerationRequest],
        params: SamplingParams,
        adapter: str | None = None,
    ) -> list[Generation]:
        """Return the replies, all ended by the model unless `reply` says otherwise."""
        self.calls.append((tuple(requests), params, adapter))
        if len(self.calls) == self.interrupt_at:
            raise KeyboardInterrupt
        said = [self.reply(request) for request in requests]
        return [s if isinstance(s, Generation) else Generation(s, "stop", 5) for s in said]

    @property
    def requests(self) -> list[GenerationRequest]:
        """All requests of all calls, in order."""
        return [request for requests, _, _ in self.calls for request in requests]


def write_adapter(folder: Path) -> Path:
    """Make a folder that looks like an adapter, and return its path."""
    folder.mkdir()
    (folder / "adapter_model.safetensors").write_bytes(b"weights")
    return folder
