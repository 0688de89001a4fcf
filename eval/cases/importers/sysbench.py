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

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from eval.cases.importers.imported import (
    Constraint,
    Imported,
    ImportedCase,
    find_files,
    instruction,
    record,
    verifiers_of,
)
from eval.records.case import Text
from gatt.data.dialogue import Dialogue, parse_messages
from gatt.errors import DataError
from gatt.runs.input_file import read_json

FILE = "system_benchmark_eval_datas.json"
EVENTS: Mapping[str, str] = {"align": "aligned_request", "misalign": "misaligned_request"}
TYPES: Mapping[str, str] = {
    "动作约束": "action",
    "内容约束": "content",
    "背景约束": "background",
    "角色约束": "role",
    "格式约束": "format",
    "风格约束": "style",
}
"""Types of constraints, as the benchmark's own tables translate them."""

_NO_CHECKLIST = "turns without a checklist, for which the judge grades the whole system message"
_STRAY = "checklists of a text that is no user message"
_OTHERWISE = "sessions whose system_prompt differs from the system message, which is taken"


@dataclass(frozen=True)
class _Session:
    system_id: int | str
    system_prompt: str
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
    criteria_type: Text
    criteria_content: Text


def import_cases(path: Path) -> Imported:
    """Return the sessions of a copy of SysBench as cases.

    Args:
        path: the JSON file, the folder it stands in, or the repository's root.

    Raises:
        DataError: no such file, or one that is not of the format; with the
            session and what was found.
    """
    _, (file,) = find_files(path, FILE, ("datas",))
    try:
        sessions = read_json(file)
    except (OSError, ValueError) as error:
        raise DataError(f"{file}: cannot be read as JSON: {error}") from None
    if not isinstance(sessions, list) or not sessions:
        raise DataError(f"{file}: expected one array of SysBench sessions")
    left: Counter[str] = Counter()
    cases = [_case(raw, f"{file} session {n}", left) for n, raw in enumerate(sessions, start=1)]
    return Imported(tuple(cases), +left)


def _case(raw: object, where: str, left: Counter[str]) -> ImportedCase:
    session = record(_Session, raw, where)
    number = session.system_id
    identity = f"{number:03d}" if isinstance(number, int) else number
    where = f"{where} (system_id {identity})"
    try:
        dialogue = Dialogue(identity, parse_messages(list(session.messages)))
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
    if not dialogue.has_system:
        raise DataError(f"{where}: no system message: expected one in front of the others")
    infos = session.prompt_infos
    left[_STRAY] += sum(text not in dialogue.user_turns for text in infos)
    left[_OTHERWISE] += session.system_prompt != dialogue.system
    events: dict[str, Any] = {}
    asked: list[Constraint] = []
    for turn, text in enumerate(dialogue.user_turns, start=1):
        if text in infos:
            kind, checklist = _event(infos[text], turn, f"{where}, turn {turn}")
            verifiers = verifiers_of(checklist)
            events[str(turn)] = {"kind": kind, "expect": "kept", "verifiers": verifiers}
            asked += checklist
        else:
            left[_NO_CHECKLIST] += 1
    family = "sysbench_dependent" if session.rounds_related else "sysbench_parallel"
    line = {
        "id": f"sysbench-{identity}",
        "messages": [m.as_dict() for m in dialogue.messages if m.role != "system"],
        "instruction": instruction(dialogue.system or "", family, (), session.领域),
        **({"events": events} if events else {}),
    }
    return ImportedCase(line, asked)


def _event(raw: object, turn: int, where: str) -> tuple[str, list[Constraint]]:
    """Return the kind of a turn's event, and its checklist."""
    info = record(_Info, raw, where)
    if not info.criteria:
        raise DataError(f"{where}: 'criteria' is empty: expected at least one")
    checklist = []
    for key, criterion in info.criteria.items():
        found = record(_Criterion, criterion, f"{where}, criterion {key!r}")
        kind = TYPES.get(found.criteria_type, found.criteria_type)
        checklist.append(Constraint(f"{kind}.{turn}.{key}", found.criteria_content))
    return EVENTS[info.alignment], checklist
