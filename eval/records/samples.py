"""One evaluated reply, as a line of `samples.jsonl` holds it, and the files of an evaluation. No torch here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, make_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, get_type_hints

from eval.records.arms import History, check_history
from gatt.data.expectation import ExpectationKind
from gatt.data.instruction import Instruction
from gatt.errors import CatalogError, ConfigError, DataError
from gatt.generation.base import FinishReason
from gatt.runs.input_file import COMPRESSED
from gatt.runs.store import parsed_records
from gatt.runs.values import ShapeError, typed
from gatt.verifiers.base import Status, Verdict
from gatt.verifiers.spec import VerifierSpec

ROLLOUTS_FILE: Final = "rollouts.jsonl"
"""An evaluation resumes from its rows; see `eval.rollout.rows`."""
SAMPLES_FILE: Final = "samples.jsonl"
SAMPLES_FILES: Final = tuple(SAMPLES_FILE + ending for ending in ("", *COMPRESSED))
"""The samples, plain or compressed; the first that exists is read."""
RESULTS_FILE: Final = "results.json"
RESULTS_SCHEMA: Final = 3
"""The version of `results.json` that this package writes and reads; `gatt.commands.export` has a copy."""
REPORT_FILE: Final = "report.html"


def samples_of_run(folder: Path) -> Path:
    """Return the path of a run's replies: the first of `SAMPLES_FILES` that exists, else the plain one."""
    paths = [folder / name for name in SAMPLES_FILES]
    return next((path for path in paths if path.is_file()), paths[0])


Kind = Literal["turn", "probe"]
SampleSplit = Literal["train", "heldout_value", "heldout_family", "none"]
Expected = Literal["kept", "released"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One reply of one arm, with its verdicts.

    Raises:
        DataError: a value outside its range, a probe without an instruction, or a split that does
            not fit the instruction (`none` is for plain dialogues only). Types are checked when a
            file is read.
    """

    arm: str
    """The system under evaluation: `base`, `alone`, `gatt`, …"""
    history: History
    dialogue: str
    turn: int
    """Counted from 1. A probe of turn t replaces user message t."""
    kind: Kind
    instruction: Instruction | None
    """None for a plain dialogue; a reply that passes there is a false trigger."""
    family: str
    split: SampleSplit
    user: str
    """The user message, or the question of the probe."""
    reply: str
    reference: str | None
    """The dialogue's own reply."""
    finish: FinishReason
    status: Status
    verdicts: tuple[Verdict, ...]
    loose: Status | None = None
    """The status with IFEval's leniency (a first or last line, or asterisks, do not count); None if only
    the strict status was asked for."""
    event: str | None = None
    """What the user does at this turn besides talking, such as `quoted_instruction`; None: nothing."""
    expected: Expected = "kept"
    """`released`: the instruction no longer holds here, and a reply that follows it has failed."""
    completion: Verdict | None = None
    """Whether a judge finds that the reply does what was asked; None if it was not asked."""
    answer: Verdict | None = None
    """Whether the reply holds what its turn expects, see `gatt.data.answers`; None: it expects nothing."""
    asks: ExpectationKind | None = None
    """What the turn asks for; None: nothing that a rule could check."""
    asks_what: str = ""
    """Which fact of the speaker, or which part of the instruction, it asks for."""
    twin: str = ""
    """The case's own id, if another case has the same dialogue and instruction; else ""."""
    judge: Verdict | None = None
    """The judge model's verdict; `undecided` if it gave none, None if it was not asked."""
    given: str = ""
    """Id of the case's first instruction, if another one counts here; else ""."""
    since_switch: int | None = None
    """Turns since the last change of the instruction, 0 at that turn; None before any change."""
    leak: Status | None = None
    """Whether the reply follows an instruction that was replaced or taken back; None if there is none, or
    if it holds again."""
    since_end: int | None = None
    """Turns since that change, 0 at its turn; None without `leak`."""
    ended: Instruction | None = None
    """The instruction that was replaced or taken back; None without `leak`."""
    announcement: str | None = None
    """The words that change the instruction at this turn."""
    cluster: str = ""
    """Names the dialogues that begin alike, which are one independent unit; "" for a dialogue of its own."""
    is_repeated: bool | None = None
    """Whether the arm gave the same reply at an earlier turn of its own history, judged or not; case and
    white space do not count. None if that was not compared (a reference history, no `gatt eval`), for
    probes and for blank replies."""

    server_end: str = ""
    """The server's word for the end of the reply, where `finish` is `other`; else ""."""

    def __post_init__(self) -> None:
        for key in ("arm", "dialogue", "family", "user"):
            if not getattr(self, key).strip():
                raise DataError(f"{key!r} is {getattr(self, key)!r}: expected some text")
        try:
            check_history(self.history)
        except ConfigError as error:
            raise DataError(str(error)) from None
        if self.turn < 1:
            raise DataError(f"'turn' is {self.turn!r}: expected a whole number from 1")
        if (self.instruction is None) != (self.split == "none"):
            given = "no instruction" if self.instruction is None else "an instruction"
            raise DataError(
                f"'split' is {self.split!r} with {given}: expected 'none' for plain "
                "dialogues and for them only"
            )
        if self.instruction is None and self.kind == "probe":
            raise DataError("a probe without an instruction: expected the instruction it asks for")

    @property
    def case(self) -> tuple[str, str, str]:
        """Dialogue, first instruction and twin: the same for all turns of a case."""
        first = self.given or (self.instruction.id if self.instruction else "")
        return self.dialogue, first, self.twin

    @property
    def keeps(self) -> Status:
        """Whether the reply keeps the instruction that is in force at its turn."""
        return self.status

    @property
    def answers(self) -> Status | None:
        """Whether the reply answers its turn; None: the turn expects nothing."""
        return self.answer.status if self.answer else None

    @property
    def joint(self) -> Status | None:
        """Whether the reply keeps and answers; None: the turn expects nothing."""
        if self.answers is None:
            return None
        both = (self.keeps, self.answers)
        return "fail" if "fail" in both else "undecided" if "undecided" in both else "pass"

    @property
    def asked(self) -> tuple[VerifierSpec, ...]:
        """The verifiers that check the reply."""
        if self.instruction is None:
            return ()
        if self.kind == "turn":
            return self.instruction.verifiers
        verifiers = (p.verifiers for p in self.instruction.probes if p.question == self.user)
        return next(verifiers, ())

    @property
    def key(self) -> tuple[str, ...]:
        """Unique among the samples of a run."""
        asked = self.user if self.kind == "probe" else ""
        dialogue, instruction, twin = self.case
        where = (self.arm, self.history, dialogue, instruction, self.kind, str(self.turn), asked)
        return (*where, twin) if twin else where

    def as_dict(self) -> dict[str, Any]:
        """Return the sample as one JSONL object."""
        raw = {f.name: getattr(self, f.name) for f in fields(self)}
        for name in ("instruction", "ended", "completion", "answer", "judge"):
            raw[name] = raw[name].as_dict() if raw[name] else None
        raw["verdicts"] = [v.as_dict() for v in self.verdicts]
        return raw

    @classmethod
    def from_dict(cls, raw: object) -> Sample:
        """Return the sample of its JSON form.

        Raises:
            DataError: not an object, a missing or unknown key, or a value that breaks the
                contract; arm, dialogue and turn are named if known.
        """
        if not isinstance(raw, Mapping):
            raise DataError(f"found {type(raw).__name__}: expected an object")
        place = [f"{key} {raw[key]!r}" for key in ("arm", "dialogue", "turn") if key in raw]
        try:
            held = dict(vars(typed(_written_form(), raw)))
            del held["score"]
            for key in ("completion", "answer", "judge"):
                held[key] = held[key] and held[key].verdict()
            for key in ("instruction", "ended"):
                held[key] = None if held[key] is None else _instruction(held[key], key)
            return cls(**{**held, "verdicts": tuple(v.verdict() for v in held["verdicts"])})
        except (DataError, ShapeError) as error:
            raise DataError(": ".join(filter(None, (", ".join(place), str(error))))) from None


@dataclass(frozen=True)
class WrittenVerdict:
    """The JSON form of a verdict."""

    status: Status
    evidence: str
    verifier: str
    version: int
    span: tuple[int, ...]

    def verdict(self) -> Verdict:
        """Return the verdict.

        Raises:
            DataError: a span that is none.
        """
        if len(self.span) not in (0, 2):
            raise DataError(f"'span' is {list(self.span)}: expected start and end, or nothing")
        span = (self.span[0], self.span[1]) if self.span else None
        return Verdict(self.status, self.evidence, self.verifier, self.version, span)


@cache
def _written_form() -> type:
    """Return the class of a line: a `Sample` with instructions and verdicts in their JSON form."""
    written = {
        "instruction": dict[str, Any] | None,
        "ended": dict[str, Any] | None,
        "verdicts": tuple[WrittenVerdict, ...],
        "completion": WrittenVerdict | None,
        "answer": WrittenVerdict | None,
        "judge": WrittenVerdict | None,
    }
    hints = get_type_hints(Sample) | written
    members: list[Any] = [(f.name, hints[f.name], field(default=f.default)) for f in fields(Sample)]
    # Earlier versions wrote it in every line.
    members.append(("score", None, field(default=None)))
    return make_dataclass("Line", members, kw_only=True)


def read_samples(path: Path) -> Iterator[Sample]:
    """Yield the samples of a JSONL file; blank lines and a torn last line are skipped.

    Raises:
        DataError: with file and line, for a missing file, broken JSON, a sample that breaks its
            contract, or a repeated sample.
    """
    seen: dict[tuple[str, ...], int] = {}
    for number, sample in parsed_records(
        path, lambda _, record: Sample.from_dict(record), is_whole=False
    ):
        # A repeated reply would count twice.
        if sample.key in seen:
            raise DataError(
                f"{path} line {number}: the same {sample.kind} already stands in line "
                f"{seen[sample.key]}: expected each once, remove one of them"
            )
        seen[sample.key] = number
        yield sample


def _instruction(raw: Mapping[str, Any], name: str) -> Instruction:
    try:
        return Instruction.from_dict(raw)
    except KeyError as error:
        raise DataError(f"{name!r} has no {error}") from None
    except (CatalogError, TypeError) as error:
        raise DataError(f"{name!r} is broken: {error}") from None
