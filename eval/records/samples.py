"""One evaluated reply, as a line of `samples.jsonl` holds it. No torch here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from gatt.data.instruction import SPLITS, Instruction
from gatt.errors import CatalogError, DataError
from gatt.generation.base import FinishReason
from gatt.runs.store import parsed_records
from gatt.runs.suggest import did_you_mean
from gatt.verifiers.base import Status, Verdict
from gatt.verifiers.spec import VerifierSpec

History = Literal["reference", "own"]
Kind = Literal["turn", "probe"]
SampleSplit = Literal["train", "heldout_value", "heldout_family", "none"]
Expected = Literal["kept", "released"]

CHOICES: Mapping[str, tuple[str, ...]] = {
    "history": get_args(History),
    "kind": get_args(Kind),
    "split": (*SPLITS, "none"),
    "expected": get_args(Expected),
    "finish": get_args(FinishReason),
    "status": get_args(Status),
}
TEXTS = ("arm", "dialogue", "family", "user")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One reply of one arm, with its verdicts.

    Raises:
        DataError: a value outside its range, a probe without an instruction, or
            a split that does not fit the instruction (`none` is for plain
            dialogues and for them only).
    """

    arm: str
    """The system under evaluation: `base`, `base+reminder`, `gatt`, …"""
    history: History
    dialogue: str
    turn: int
    """Counted from 1. A probe of turn t is asked in place of user message t."""
    kind: Kind
    instruction: Instruction | None
    """None for a plain dialogue; what passes there is a false trigger."""
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
    """The status with IFEval's leniency (a first or last line, or asterisks, do not count); None where
    only the strict one was asked for."""
    event: str | None = None
    """What the user does at this turn besides talking, such as `quoted_instruction`; None: nothing."""
    expected: Expected = "kept"
    """`released`: the instruction no longer holds here, and a reply that follows it has failed."""
    completion: Verdict | None = None
    """Whether the reply still answers what was asked; None where that was not measured."""
    twin: str = ""
    """The case's own name where another one has the same dialogue and instruction."""
    judge: Verdict | None = None
    """What the judge model says; `undecided` where it gave no verdict, None where it was not asked."""
    given: str = ""
    """Id of the case's first instruction, where the one that counts here is another."""
    since_switch: int | None = None
    """Turns since the instruction last changed, 0 at that turn; None before, or where it never does."""
    leak: Status | None = None
    """Whether the reply follows what was replaced or taken back; None where nothing was, or where it
    holds again."""
    since_end: int | None = None
    """Turns since that change, 0 at its turn; None without `leak`."""
    ended: Instruction | None = None
    """What was replaced or taken back; None without `leak`."""
    announcement: str | None = None
    """The words that change the instruction at this turn."""
    is_repeated: bool | None = None
    """Whether the arm has said just this at an earlier turn of its own history, judged or not, but for
    case and white space; None where that was not looked for (a human history, no `gatt eval`), and for
    probes and blank ones."""
    score: float | None = None
    """What functions of the user's own give the reply, from 0 to 1; None where none was asked, or failed."""

    def __post_init__(self) -> None:
        for key in TEXTS:
            if not isinstance(getattr(self, key), str) or not getattr(self, key).strip():
                raise DataError(f"{key!r} is {getattr(self, key)!r}: expected some text")
        if not isinstance(self.turn, int) or isinstance(self.turn, bool) or self.turn < 1:
            raise DataError(f"'turn' is {self.turn!r}: expected a whole number from 1")
        for key, known in CHOICES.items():
            if getattr(self, key) not in known:
                found = getattr(self, key)
                raise DataError(f"{key!r} is {found!r}: expected one of {', '.join(known)}")
        if self.loose is not None and self.loose not in CHOICES["status"]:
            raise DataError(
                f"'loose' is {self.loose!r}: expected null or one of {', '.join(CHOICES['status'])}"
            )
        if self.leak is not None and self.leak not in CHOICES["status"]:
            raise DataError(
                f"'leak' is {self.leak!r}: expected null or one of {', '.join(CHOICES['status'])}"
            )
        for key in ("since_switch", "since_end"):
            since = getattr(self, key)
            if since is not None and (not isinstance(since, int) or not 0 <= since < self.turn):
                raise DataError(f"{key!r} is {since!r}: expected null or turns since one before")
        for key in ("reply", "reference", "event", "announcement"):
            value, expected = getattr(self, key), "a string" + " or null" * (key != "reply")
            if not isinstance(value, str) and (key == "reply" or value is not None):
                raise DataError(f"{key!r} is {type(value).__name__}: expected {expected}")
        if self.is_repeated is not None and not isinstance(self.is_repeated, bool):
            raise DataError(f"'is_repeated' is {self.is_repeated!r}: expected true, false or null")
        if self.score is not None and not (
            isinstance(self.score, int | float) and 0 <= self.score <= 1
        ):
            raise DataError(f"'score' is {self.score!r}: expected null or a number from 0 to 1")
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
        """Dialogue, first instruction and twin: what one arm runs through turn by turn."""
        first = self.given or (self.instruction.id if self.instruction else "")
        return self.dialogue, first, self.twin

    @property
    def asked(self) -> tuple[VerifierSpec, ...]:
        """The verifiers that the reply is put before."""
        if self.instruction is None:
            return ()
        if self.kind == "turn":
            return self.instruction.verifiers
        found = (p.verifiers for p in self.instruction.probes if p.question == self.user)
        return next(found, ())

    @property
    def key(self) -> tuple[str, ...]:
        """What no two samples of a run share."""
        asked = self.user if self.kind == "probe" else ""
        dialogue, instruction, twin = self.case
        where = (self.arm, self.history, dialogue, instruction, self.kind, str(self.turn), asked)
        return (*where, twin) if twin else where

    def as_dict(self) -> dict[str, Any]:
        """Return the sample as one JSONL object."""
        raw = {f.name: getattr(self, f.name) for f in fields(self)}
        for name in ("instruction", "ended"):
            held = getattr(self, name)
            raw[name] = held.as_dict() if held else None
        raw["verdicts"] = [v.as_dict() for v in self.verdicts]
        for name in ("completion", "judge"):
            verdict = getattr(self, name)
            raw[name] = verdict.as_dict() if verdict else None
        return raw

    @classmethod
    def from_dict(cls, raw: object) -> Sample:
        """Return the sample of its JSON form.

        Raises:
            DataError: not an object, a missing or unknown key, or a value that
                breaks the contract; arm, dialogue and turn are named if known.
        """
        if not isinstance(raw, Mapping):
            raise DataError(f"found {type(raw).__name__}: expected an object")
        known = [f.name for f in fields(cls)]
        for key in raw:
            if key not in known:
                hint = did_you_mean(key, known, f" (known: {', '.join(known)})")
                raise DataError(f"unknown key {key!r}{hint}")
        required = [f.name for f in fields(cls) if f.default is MISSING]
        missing = [key for key in required if key not in raw]
        if missing:
            raise DataError(f"no {missing[0]!r}: expected all of {', '.join(required)}")
        where = f"arm {raw['arm']!r}, dialogue {raw['dialogue']!r}, turn {raw['turn']!r}"
        try:
            return cls(
                **{
                    **raw,
                    "instruction": _parse_instruction(raw["instruction"], "'instruction'"),
                    "ended": _parse_instruction(raw.get("ended"), "'ended'"),
                    "verdicts": _parse_verdicts(raw["verdicts"]),
                    "completion": _parse_optional(raw.get("completion"), "'completion'"),
                    "judge": _parse_optional(raw.get("judge"), "'judge'"),
                }
            )
        except DataError as error:
            raise DataError(f"{where}: {error}") from None


def read_samples(path: Path) -> Iterator[Sample]:
    """Yield the samples of a JSONL file; blank lines and a torn last line are passed over.

    Raises:
        DataError: with file and line, for a missing file, broken JSON, a sample
            that breaks its contract, or one that stands there twice.
    """
    seen: dict[tuple[str, ...], int] = {}
    for number, sample in parsed_records(
        path, lambda _, record: Sample.from_dict(record), is_whole=False
    ):
        # A resumed run that wrote a reply twice would count it twice.
        if sample.key in seen:
            raise DataError(
                f"{path} line {number}: the same {sample.kind} already stands in line "
                f"{seen[sample.key]}: expected each once, remove one of them"
            )
        seen[sample.key] = number
        yield sample


def _parse_instruction(raw: object, name: str) -> Instruction | None:
    if raw is None:
        return None
    if not isinstance(raw, Mapping):
        raise DataError(f"{name} is {type(raw).__name__}: expected an object or null")
    try:
        return Instruction.from_dict(raw)
    except KeyError as error:
        raise DataError(f"{name} has no {error}") from None
    except (CatalogError, TypeError) as error:
        raise DataError(f"{name} is broken: {error}") from None


def _parse_verdicts(raw: object) -> tuple[Verdict, ...]:
    if not isinstance(raw, list | tuple):
        raise DataError(f"'verdicts' is {type(raw).__name__}: expected a list")
    return tuple(_parse_verdict(item, f"verdict {n}") for n, item in enumerate(raw, start=1))


def _parse_optional(raw: object, name: str) -> Verdict | None:
    return None if raw is None else _parse_verdict(raw, name)


def _parse_verdict(raw: Any, name: str) -> Verdict:
    try:
        span = raw["span"]
        verdict = Verdict(
            status=raw["status"],
            evidence=raw["evidence"],
            verifier=raw["verifier"],
            version=raw["version"],
            span=(int(span[0]), int(span[1])) if span else None,
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        problem = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise DataError(f"{name} is broken: {problem}") from None
    if verdict.status not in CHOICES["status"]:
        raise DataError(
            f"{name}: 'status' is {verdict.status!r}: expected one of "
            f"{', '.join(CHOICES['status'])}"
        )
    return verdict
