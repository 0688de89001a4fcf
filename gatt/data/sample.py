"""GAtt samples: a dialogue, its instruction, and for each turn a target or the reason for none.

One JSON line per (dialogue, instruction). Absent texts are stored as empty
strings and verifier parameters and expectations as JSON strings, so that
`datasets.load_dataset("json", …)` finds the same types in every row.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from gatt.data.dialogue import Dialogue, parse_dialogue
from gatt.data.expectation import Expectation
from gatt.data.instruction import Instruction
from gatt.data.switches import Switch, check_switches, in_force
from gatt.errors import CatalogError, DataError
from gatt.runs.input_file import parse_json
from gatt.runs.store import parsed_records
from gatt.runs.values import ShapeError, typed

TargetKind = Literal["kept", "rewritten", "sampled", "hinted", "prefilled", "composed"]
KIND_NAMES: Final[Mapping[TargetKind, str]] = {
    "kept": "own reply as it was",
    "rewritten": "own reply rewritten",
    "sampled": "sampled",
    "hinted": "with a hint",
    "prefilled": "beginning given",
    "composed": "composed by program",
}
"""How a target came to be, in the words of terminal, cards and reports; see `TurnTarget.kind`."""


@dataclass(frozen=True)
class TurnTarget:
    """What the teacher gave for one turn: `reply`, or `reason` for none; `DataError` for both or neither."""

    turn: int
    reply: str | None
    reason: str | None = None
    """Why there is no target: `rejected`, `cut`, `blank`, `degenerate`, …"""
    kind: TargetKind | None = None
    """`kept`: the dialogue's own reply as it was; `rewritten`: that reply in the teacher's words; `sampled`
    from the sampling view; `hinted`: rewritten or sampled with the teacher hint; `prefilled` with a given
    beginning; `composed`: with an utterance added, or brought into a form by program."""
    attempts: int = 0
    verdicts: tuple[Mapping[str, Any], ...] = ()
    """Verdicts on the target, or on the last rejected reply where there is none."""
    rejected: str | None = None
    """A worse reply to the same prompt, for `objective: preference`; None where there is none."""
    refused: tuple[str, ...] = ()
    """Reason of every draw, or composed reply, that was refused, in order; files of before it was
    kept have none."""

    def __post_init__(self) -> None:
        if (self.reply is None) == (self.reason is None):
            raise DataError(
                f"turn {self.turn}: expected a target reply or a reason for none, found "
                f"{'neither' if self.reply is None else 'both'}"
            )

    def as_dict(self) -> dict[str, Any]:
        """Return the target as a sample line holds it."""
        return {
            "turn": self.turn,
            "reply": self.reply or "",
            "reason": self.reason or "",
            "kind": self.kind or "",
            "attempts": self.attempts,
            "verdicts": [dict(v) for v in self.verdicts],
            "rejected": self.rejected or "",
            "refused": " ".join(self.refused),
        }


@dataclass(frozen=True)
class GattSample:
    """One dialogue under one instruction (None: a plain dialogue).

    Raises:
        DataError: targets of other turns than 1 to n in order, or another part that cannot be.
    """

    id: str
    dialogue: Dialogue
    instruction: Instruction | None
    targets: tuple[TurnTarget, ...]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    switches: tuple[Switch, ...] | None = None
    """Changes of the instruction, by turn; None where the run makes none: its lines have no such key."""

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not isinstance(self.provenance, Mapping):
            raise DataError(
                f"sample {self.id!r}: expected a text as its id, and an object as its provenance"
            )
        turns = [t.turn for t in self.targets]
        if turns != list(range(1, self.dialogue.num_turns + 1)):
            raise DataError(
                f"sample {self.id!r}: targets of turns {turns}, "
                f"expected 1 to {self.dialogue.num_turns}"
            )
        check_switches(
            f"sample {self.id!r}", self.instruction, self.switches or (), self.dialogue.num_turns
        )

    @property
    def family(self) -> str:
        """The instruction's family; `plain` without one."""
        return self.instruction.family if self.instruction else "plain"

    @property
    def is_plain(self) -> bool:
        """Whether no instruction is in force at any turn."""
        return self.instruction is None and not self.switches

    @property
    def num_targets(self) -> int:
        """Number of turns that have a target."""
        return sum(t.reply is not None for t in self.targets)

    @property
    def num_pairs(self) -> int:
        """Number of turns that have a target and a rejected reply."""
        return sum(t.reply is not None and t.rejected is not None for t in self.targets)

    def instruction_at(self, turn: int) -> Instruction | None:
        """Return the instruction in force at a turn, counted from 1."""
        return in_force(self.instruction, self.switches or (), turn)

    def first_turns(self, num_turns: int) -> GattSample:
        """Return the sample cut after its first `num_turns` turns; a shorter one as it is."""
        if num_turns >= self.dialogue.num_turns:
            return self
        switches = self.switches and tuple(s for s in self.switches if s.turn <= num_turns)
        return replace(
            self,
            dialogue=self.dialogue.first_turns(num_turns),
            targets=self.targets[:num_turns],
            switches=switches,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the sample as one JSON line."""
        return {
            "id": self.id,
            "dialogue": _plain(self.dialogue),
            "instruction": self.instruction.as_dict() if self.instruction else None,
            **({} if self.switches is None else {"switches": [s.as_dict() for s in self.switches]}),
            "turns": [
                {**target.as_dict(), "expect": _text(expect)}
                for target, expect in zip(self.targets, self.dialogue.expectations, strict=True)
            ],
            "provenance": dict(self.provenance),
        }

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> GattSample:
        """Return the sample of one JSON line.

        Raises:
            DataError: a missing key, or a part that breaks its contract.
        """
        try:
            instruction, switches = raw["instruction"], raw.get("switches")
            expectations = [turn.get("expect") or "" for turn in raw["turns"]]
            turns = [
                {
                    **{name: value for name, value in turn.items() if name != "expect"},
                    **{name: turn[name] or None for name in ("reply", "reason", "kind")},
                    # Older files have neither. The second is one text.
                    "rejected": turn.get("rejected") or None,
                    "refused": (turn.get("refused") or "").split(),
                }
                for turn in raw["turns"]
            ]
            return cls(
                id=raw["id"],
                dialogue=_with_expectations(parse_dialogue(raw["dialogue"]), expectations),
                instruction=Instruction.from_dict(instruction) if instruction else None,
                targets=typed(tuple[TurnTarget, ...], turns),
                provenance=raw.get("provenance") or {},
                switches=None if switches is None else tuple(map(Switch.from_dict, switches)),
            )
        except KeyError as error:
            raise DataError(f"no {error}: expected a sample written by `gatt synth`") from None
        except (TypeError, AttributeError, CatalogError, ShapeError) as error:
            raise DataError(f"not a sample of `gatt synth`: {error}") from None


def _plain(dialogue: Dialogue) -> dict[str, Any]:
    """Return a dialogue without expectations: they stand beside the targets, one text each."""
    return {"id": dialogue.id, "messages": [message.as_dict() for message in dialogue.messages]}


def _text(expect: Expectation | None) -> str:
    return "" if expect is None else json.dumps(expect.as_dict(), ensure_ascii=False)


def _with_expectations(dialogue: Dialogue, texts: Sequence[str]) -> Dialogue:
    """Return a dialogue with the expectations of a sample line; a file of before they were stored has none."""
    if not any(texts):
        return dialogue
    left = iter(texts)
    messages = []
    for message in dialogue.messages:
        text = next(left, "") if message.role == "user" else ""
        messages.append(replace(message, expect=_expectation(text)) if text else message)
    return replace(dialogue, messages=tuple(messages))


def _expectation(text: object) -> Expectation:
    try:
        return Expectation.from_dict(parse_json(text) if isinstance(text, str) else text)
    except json.JSONDecodeError as error:
        raise DataError(
            f"'expect' of a turn is {text!r}: expected a JSON object: {error.msg}"
        ) from None


def with_sampled_history(sample: GattSample) -> GattSample:
    """Return the sample with its targets in the dialogue, in place of the dialogue's own replies.

    Where a turn has no target, or a blank one, the dialogue's own reply stays; where
    the last turn has no reply, none is added.
    """
    targets = iter(sample.targets)
    messages = []
    for message in sample.dialogue.messages:
        reply = next(targets).reply if message.role == "assistant" else None
        if reply is not None and reply.strip():
            message = replace(message, content=reply)
        messages.append(message)
    return replace(sample, dialogue=replace(sample.dialogue, messages=tuple(messages)))


def read_samples(path: Path) -> Iterator[GattSample]:
    """Yield the samples of a JSONL file, one at a time.

    Raises:
        DataError: with file and line, for broken JSON, a line that is no sample, or none at all.
    """
    is_empty = True
    for _, sample in parsed_records(path, lambda _, record: _parsed(record), is_whole=False):
        is_empty = False
        yield sample
    if is_empty:
        raise DataError(f"{path}: no sample in it: run `gatt synth` first, or loosen its filters")


def _parsed(record: Mapping[str, Any]) -> GattSample:
    try:
        # Half of an escaped pair can stand in any text: an instruction, an id, a target.
        json.dumps(record, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"half a character ({error.object[error.start]!r}) in a text: expected whole ones, such as "
            "both escapes of an emoji"
        ) from None
    return GattSample.from_dict(record)


def read_all_samples(paths: Sequence[Path]) -> Iterator[GattSample]:
    """Yield the samples of all files, each under an id of its own.

    Every run of `gatt synth` counts its samples from 0: an id that an earlier file has too gets the number of
    its file, counted from 1 ("s000000.2"), or the next number that is free.

    Raises:
        DataError: broken samples, two with one id in a file, or one sample in two files.
    """
    ids: set[str] = set()
    by_content: dict[bytes, str] = {}
    for file_number, path in enumerate(paths, start=1):
        of_file: dict[str, str] = {}
        for number, sample in enumerate(read_samples(path), start=1):
            place = f"{path} sample {number}"
            if sample.id in of_file:
                raise DataError(
                    f"{place}: id {sample.id!r} is that of {of_file[sample.id]} already: expected "
                    "ids that differ; remove one of the two"
                )
            content = hashlib.sha256(json.dumps(sample.as_dict()).encode()).digest()
            if content in by_content:
                raise DataError(
                    f"{place}: the same as {by_content[content]}: expected each sample once; "
                    "remove one of the two"
                )
            of_file[sample.id] = by_content[content] = place
            if sample.id in ids:
                free = (f"{sample.id}.{n}" for n in itertools.count(file_number))
                sample = replace(sample, id=next(name for name in free if name not in ids))
            ids.add(sample.id)
            yield sample
