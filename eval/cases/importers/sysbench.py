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
from pathlib import Path
from typing import Any

from eval.cases.importers.imported import (
    Constraint,
    Imported,
    ImportedCase,
    instruction,
    verifiers_of,
)
from eval.cases.importers.reading import count_unknown, read_array, take, take_text
from gatt.data.dialogue import Dialogue, parse_messages
from gatt.errors import DataError

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

_KNOWN = [
    "system_id",
    "system_prompt",
    "rounds_related",
    "领域",
    "场景",
    "messages",
    "prompt_infos",
]
_NO_CHECKLIST = "turns without a checklist, for which the judge grades the whole system message"
_STRAY = "checklists of a text that is no user message"
_OTHERWISE = "sessions whose system_prompt differs from the system message, which is taken"


def import_sysbench(path: Path) -> Imported:
    """Return the sessions of a copy of SysBench as cases.

    Args:
        path: the JSON file, the folder it stands in, or the repository's root.

    Raises:
        DataError: no such file, or one that is not of the format; with the
            session and what was found.
    """
    file = _find(path)
    left: Counter[str] = Counter()
    cases: dict[str, ImportedCase] = {}
    for number, raw in enumerate(read_array(file, "SysBench sessions"), start=1):
        where = f"{file} session {number}"
        case = _case(raw, where, left)
        name = case.line["id"]
        if name in cases:
            raise DataError(
                f"{where}: system_id of {name!r} stood there before: expected unique ids"
            )
        cases[name] = case
    return Imported(tuple(cases.values()), +left)


def _find(path: Path) -> Path:
    if not path.is_dir():
        return path
    for folder in (path, path / "datas"):
        if (folder / FILE).is_file():
            return folder / FILE
    raise DataError(
        f"{path}: no {FILE} in it or in its datas/: expected a copy of the SysBench repository"
    )


def _case(raw: object, where: str, left: Counter[str]) -> ImportedCase:
    identity = _identity(take(raw, "system_id", object, where), where)
    where = f"{where} (system_id {identity})"
    assert isinstance(raw, Mapping)
    count_unknown(raw, _KNOWN, "a session", left)
    dialogue = _dialogue(raw, identity, where)
    infos = take(raw, "prompt_infos", dict, where)
    left[_STRAY] += sum(text not in dialogue.user_turns for text in infos)
    left[_OTHERWISE] += take_text(raw, "system_prompt", where) != dialogue.system
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
    domain = raw.get("领域")
    value = domain if isinstance(domain, str) else ""
    line = {
        "id": f"sysbench-{identity}",
        "messages": [m.as_dict() for m in dialogue.messages if m.role != "system"],
        "instruction": instruction(dialogue.system or "", _family(raw, where), (), value),
        **({"events": events} if events else {}),
    }
    return ImportedCase(line, asked)


def _identity(value: object, where: str) -> str:
    if isinstance(value, bool) or not isinstance(value, int | str) or not str(value).strip():
        raise DataError(f"{where}: 'system_id' is {value!r}: expected a number or a name")
    return f"{value:03d}" if isinstance(value, int) else value


def _dialogue(raw: Mapping[str, Any], identity: str, where: str) -> Dialogue:
    messages = take(raw, "messages", list, where)
    try:
        dialogue = Dialogue(identity, parse_messages(messages))
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
    if not dialogue.has_system:
        raise DataError(
            f"{where}: the first message is of role {dialogue.messages[0].role!r}: expected 'system'"
        )
    return dialogue


def _family(raw: Mapping[str, Any], where: str) -> str:
    is_related = take(raw, "rounds_related", object, where)
    if is_related not in (True, False):
        raise DataError(f"{where}: 'rounds_related' is {is_related!r}: expected true or false")
    return "sysbench_dependent" if is_related else "sysbench_parallel"


def _event(info: object, turn: int, where: str) -> tuple[str, list[Constraint]]:
    """Return the kind of a turn's event, and its checklist."""
    alignment = take(info, "alignment", str, where)
    if alignment not in EVENTS:
        raise DataError(
            f"{where}: 'alignment' is {alignment!r}: expected one of {', '.join(EVENTS)}"
        )
    criteria = take(info, "criteria", dict, where)
    if not criteria:
        raise DataError(f"{where}: 'criteria' is empty: expected at least one")
    checklist = []
    for key, raw in criteria.items():
        inside = f"{where}, criterion {key!r}"
        kind = take_text(raw, "criteria_type", inside)
        text = take_text(raw, "criteria_content", inside)
        checklist.append(Constraint(f"{TYPES.get(kind, kind)}.{turn}.{key}", text))
    return EVENTS[alignment], checklist
