import copy
import json

import pytest

from eval.cases.importers.sysbench import FILE, import_sysbench
from gatt.errors import DataError
from gatt.verifiers.spec import VerifierSpec
from gatt.verifiers.table import build

SESSION = {
    "system_id": 7,
    "领域": "教育",
    "场景": "答疑",
    "rounds_related": True,
    "system_prompt": "你是一位助教。",
    "messages": [
        {"role": "system", "content": "你是一位助教。"},
        {"role": "user", "content": "问题一"},
        {"role": "assistant", "content": "答案一"},
        {"role": "user", "content": "问题二"},
        {"role": "assistant", "content": "答案二"},
    ],
    "prompt_infos": {
        "问题一": {
            "alignment": "align",
            "criteria": {
                "1": {
                    "criteria_id": 1,
                    "criteria_content": "用中文回答",
                    "criteria_type": "格式约束",
                },
                "2": {
                    "criteria_id": 2,
                    "criteria_content": "语气友好",
                    "criteria_type": "风格约束",
                },
            },
        },
        "问题二": {
            "alignment": "misalign",
            "criteria": {
                "1": {
                    "criteria_id": 1,
                    "criteria_content": "拒绝回答",
                    "criteria_type": "其他约束",
                },
            },
        },
    },
}


def session(**changes):
    return {**copy.deepcopy(SESSION), **changes}


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def imported(tmp_path, *sessions):
    return import_sysbench(write(tmp_path / FILE, list(sessions)))


def test_the_system_message_is_the_instruction_and_a_checklist_the_event_of_its_turn(tmp_path):
    found = imported(tmp_path, session())
    (case,) = found.cases
    assert case.as_dict() == {
        "id": "sysbench-007",
        "messages": [
            {"role": "user", "content": "问题一"},
            {"role": "assistant", "content": "答案一"},
            {"role": "user", "content": "问题二"},
            {"role": "assistant", "content": "答案二"},
        ],
        "instruction": {
            "text": "你是一位助教。",
            "family": "sysbench_dependent",
            "value": "教育",
            "verifiers": [],
        },
        "events": {
            "1": {
                "kind": "aligned_request",
                "expect": "kept",
                "verifiers": [
                    {"kind": "judge", "rubric": "用中文回答"},
                    {"kind": "judge", "rubric": "语气友好"},
                ],
            },
            "2": {
                "kind": "misaligned_request",
                "expect": "kept",
                "verifiers": [{"kind": "judge", "rubric": "拒绝回答"}],
            },
        },
        "constraints": [
            {"id": "format.1.1", "text": "用中文回答", "by": "judge"},
            {"id": "style.1.2", "text": "语气友好", "by": "judge"},
            {"id": "其他约束.2.1", "text": "拒绝回答", "by": "judge"},
        ],
    }
    assert found.left_out == {}
    assert found.num_turns == 2
    assert found.count_by_kind() == {"judge": 3}
    for event in case.as_dict()["events"].values():
        for spec in event["verifiers"]:
            build(VerifierSpec.from_dict(spec))


def test_a_file_is_found_in_its_folder_and_in_the_repository(tmp_path):
    write(tmp_path / "datas" / FILE, [session(), session(system_id=8, rounds_related=False)])
    for path in (tmp_path, tmp_path / "datas", tmp_path / "datas" / FILE):
        cases = import_sysbench(path).cases
        assert [c.id for c in cases] == ["sysbench-007", "sysbench-008"]
        assert [c.family for c in cases] == ["sysbench_dependent", "sysbench_parallel"]


def test_what_the_cases_do_not_say_is_counted(tmp_path):
    raw = session(场景=float("nan"), system_prompt="你是助教", source="web")
    raw["prompt_infos"]["别的问题"] = raw["prompt_infos"].pop("问题二")
    found = imported(tmp_path, raw)
    assert list(found.cases[0].events) == [1]
    assert found.cases[0].text == "你是一位助教。"
    assert found.left_out == {
        "turns without a checklist, which the judge holds against the whole system message": 1,
        "checklists of a text that no turn says": 1,
        "key 'source' of a session": 1,
        "sessions whose system_prompt is not the system message of their dialogue, which is taken": 1,
    }


def info(**changes):
    one = {**copy.deepcopy(SESSION["prompt_infos"]["问题一"]), **changes}
    return session(prompt_infos={"问题一": one})


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (7, "session 1: found int: expected an object with 'system_id'"),
        (
            {"system": 1},
            r"session 1: no 'system_id', did you mean 'system'\? \(found keys: system\)",
        ),
        (session(system_id=True), "'system_id' is True: expected a number or a name"),
        (session(messages="x"), r"\(system_id 007\): 'messages' is str: expected a list"),
        (session(messages=[]), "no user message, expected at least one"),
        (
            session(messages=SESSION["messages"][1:]),
            "the first message is of role 'user': expected 'system'",
        ),
        (
            session(messages=[SESSION["messages"][0], SESSION["messages"][2]]),
            "turn 1: expected role 'user' after the start, found 'assistant'",
        ),
        (session(prompt_infos=[]), "'prompt_infos' is list: expected an object"),
        (session(rounds_related="yes"), "'rounds_related' is 'yes': expected true or false"),
        (
            info(alignment="aligned"),
            "turn 1: 'alignment' is 'aligned': expected one of align, misalign",
        ),
        (info(criteria={}), "turn 1: 'criteria' is empty: expected at least one"),
        (
            info(criteria={"1": {"content": "x", "criteria_type": "y"}}),
            "turn 1, criterion '1': no 'criteria_content'",
        ),
        (
            info(criteria={"1": {"criteria_content": " ", "criteria_type": "y"}}),
            "turn 1, criterion '1': 'criteria_content': empty content",
        ),
    ],
)
def test_a_session_that_is_not_of_the_format_is_one_line(tmp_path, raw, message):
    with pytest.raises(DataError, match=message) as caught:
        imported(tmp_path, raw)
    assert "\n" not in str(caught.value)
    assert FILE in str(caught.value)


def test_two_sessions_of_one_id_are_one_line(tmp_path):
    with pytest.raises(
        DataError, match="session 2: system_id of 'sysbench-007' stood there before"
    ):
        imported(tmp_path, session(), session())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"[", "line 1, column 2: broken JSON .*: expected one array of SysBench sessions"),
        (b"", "line 1, column 1: broken JSON"),
        (b"{}", "found dict: expected one array of SysBench sessions"),
        (b"[]", "an empty array: expected SysBench sessions"),
        (b"[" * 100_000, "nested more than 100 levels deep"),
        (b"\xff\xfe[]", "no UTF-8 text at byte 0: expected JSON"),
    ],
)
def test_a_file_that_is_no_array_is_one_line(tmp_path, data, message):
    (tmp_path / FILE).write_bytes(data)
    with pytest.raises(DataError, match=message):
        import_sysbench(tmp_path)


def test_a_wrong_path_is_one_line(tmp_path):
    with pytest.raises(DataError, match=rf"no {FILE} in it or in its datas/: expected a copy of"):
        import_sysbench(tmp_path)
    with pytest.raises(DataError, match="cannot read: No such file or directory: check the path"):
        import_sysbench(tmp_path / "nothing.json")
