"""SysBench: 500 Chinese system messages, each with five turns and a checklist a turn.

Source of the format: PKU-Baichuan-MLSystemLab/SysBench (arXiv:2408.10943), its
README and the code that reads the file (`eval_system_bench.py`, `utils.py`).
`datas/system_benchmark_eval_datas.json` is one array of sessions::

    {"system_id": 1, "system_prompt": "…", "rounds_related": true, "领域": "…", "场景": "…",
     "messages": [{"role": "system", …}, {"role": "user", …}, {"role": "assistant", …}, …],
     "prompt_infos": {"<text of a user message>": {
         "alignment": "align" | "misalign",
         "criteria": {"1": {"criteria_id": 1, "criteria_content": "…", "criteria_type": "格式约束"}}}}}

The system message is the instruction. Each turn is an event: its request agrees with
the system message or contradicts it (`alignment`). The instruction holds in both cases,
and the judge decides the checklist of the turn. No rule decides a criterion, because
criteria are free text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, TypeVar

from eval.records.case import Text
from eval.records.case_file import CaseLine
from gatt.data.dialogue import Dialogue, parse_messages
from gatt.errors import DataError
from gatt.runs.input_file import read_json
from gatt.runs.values import ShapeError, typed
from gatt.verifiers.judge import JUDGE

T = TypeVar("T")

FILE = "system_benchmark_eval_datas.json"
EVENTS: Mapping[str, str] = {"align": "aligned_request", "misalign": "misaligned_request"}


@dataclass(frozen=True)
class _Session:
    system_id: int | str
    rounds_related: bool
    messages: tuple[dict[str, Any], ...]
    prompt_infos: dict[str, dict[str, Any]]
    领域: str = ""


@dataclass(frozen=True)
class _Info:
    alignment: Literal["align", "misalign"]
    criteria: dict[str, dict[str, Any]]


@dataclass(frozen=True)
class _Criterion:
    criteria_content: Text


def import_cases(path: Path) -> list[CaseLine]:
    """Return the sessions of a copy of SysBench as cases.

    A turn without a checklist is no event: the judge grades the whole system message there. `path` is the
    JSON file, its folder, or the repository's root.

    Raises:
        DataError: no such file, or one that is not of the format; with the session and what was found.
    """
    places = (path / "datas" / FILE, path / FILE) if path.is_dir() else (path,)
    file = next((place for place in places if place.exists()), None)
    if file is None:
        raise DataError(f"{path}: no {FILE}: expected a local copy of SysBench")
    try:
        sessions = read_json(file)
    except (OSError, ValueError) as error:
        raise DataError(f"{file}: cannot be read as JSON: {error}") from None
    if not isinstance(sessions, list) or not sessions:
        raise DataError(f"{file}: expected one array of SysBench sessions")
    return [_case(raw, f"{file} session {n}") for n, raw in enumerate(sessions, start=1)]


def _case(raw: object, where: str) -> CaseLine:
    session = _record(_Session, raw, where)
    number = session.system_id
    identity = f"{number:03d}" if isinstance(number, int) else number
    where = f"{where} (system_id {identity})"
    try:
        dialogue = Dialogue(identity, parse_messages(list(session.messages)))
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
    if not dialogue.has_system:
        raise DataError(f"{where}: no system message: expected one in front of the others")
    events: dict[str, Any] = {}
    for turn, text in enumerate(dialogue.user_turns, start=1):
        if text not in session.prompt_infos:
            continue
        kind, checklist = _event(session.prompt_infos[text], f"{where}, turn {turn}")
        verifiers = [{"kind": JUDGE, "rubric": text} for text in checklist]
        events[str(turn)] = {"kind": kind, "verifiers": verifiers}
    return {
        "id": f"sysbench-{identity}",
        "messages": [m.as_dict() for m in dialogue.messages if m.role != "system"],
        "instruction": {
            "text": dialogue.system or "",
            "family": "sysbench_dependent" if session.rounds_related else "sysbench_parallel",
            **({"value": session.领域} if session.领域 else {}),
            "verifiers": [],
        },
        **({"events": events} if events else {}),
    }


def _event(raw: object, where: str) -> tuple[str, list[str]]:
    """Return the kind of a turn's event, and its checklist."""
    info = _record(_Info, raw, where)
    if not info.criteria:
        raise DataError(f"{where}: 'criteria' is empty: expected at least one")
    checklist = [
        _record(_Criterion, criterion, f"{where}, criterion {key!r}").criteria_content
        for key, criterion in info.criteria.items()
    ]
    return EVENTS[info.alignment], checklist


def _record(kind: type[T], raw: object, where: str) -> T:
    """Return an object of the file as a dataclass; keys that the class lacks are ignored.

    Raises:
        DataError: with the place: no object, a missing key, or a value of another type.
    """
    if isinstance(raw, Mapping):
        raw = {f.name: raw[f.name] for f in fields(kind) if f.name in raw}  # type: ignore[arg-type]
    try:
        return typed(kind, raw)
    except ShapeError as error:
        raise DataError(f"{where}: {error}") from None
