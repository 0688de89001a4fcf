import copy
import json

import pytest

from eval.cases.sysbench import FILE, import_cases
from eval.records.case_file import read_cases
from gatt.cli import main
from gatt.errors import DataError


def criteria(*named):
    return {
        str(n): {"criteria_id": n, "criteria_content": text, "criteria_type": kind}
        for n, (kind, text) in enumerate(named, start=1)
    }


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
            "criteria": criteria(("格式约束", "用中文回答"), ("风格约束", "语气友好")),
        },
        "问题二": {"alignment": "misalign", "criteria": criteria(("其他约束", "拒绝回答"))},
    },
}


def session(**changes):
    return {**copy.deepcopy(SESSION), **changes}


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def imported(tmp_path, *sessions):
    return import_cases(write(tmp_path / FILE, list(sessions)))


def test_the_system_message_is_the_instruction_and_a_checklist_the_event_of_its_turn(tmp_path):
    (case,) = imported(tmp_path, session())
    assert case == {
        "id": "sysbench-007",
        "messages": SESSION["messages"][1:],
        "instruction": {
            "text": "你是一位助教。", "family": "sysbench_dependent", "value": "教育", "verifiers": [],
        },
        "events": {
            "1": {
                "kind": "aligned_request",
                "verifiers": [
                    {"kind": "judge", "rubric": "用中文回答"},
                    {"kind": "judge", "rubric": "语气友好"},
                ],
            },
            "2": {
                "kind": "misaligned_request",
                "verifiers": [{"kind": "judge", "rubric": "拒绝回答"}],
            },
        },
    }  # fmt: skip


def test_the_command_writes_cases_that_can_be_read_and_leaves_a_file_alone(tmp_path, capsys):
    path, output = write(tmp_path / FILE, [session()]), tmp_path / "out" / "cases.jsonl"
    words = ["suite", "import", "sysbench", str(path), "--output"]
    assert main([*words, str(output)]) == 0
    said = f"{output}: 1 cases, 2 turns\n"
    assert capsys.readouterr().out == said
    assert [case.id for case in read_cases(output)] == ["sysbench-007"]
    for target, facts in (
        (output, "exists already: give a new file"),
        ("x.jsonl.gz", "compressed"),
    ):
        assert main([*words, str(target)]) == 2
        assert facts in capsys.readouterr().err


def test_a_file_is_found_in_its_folder_and_in_the_repository(tmp_path):
    write(tmp_path / "datas" / FILE, [session(), session(system_id=8, rounds_related=False)])
    for path in (tmp_path, tmp_path / "datas", tmp_path / "datas" / FILE):
        found = [(c["id"], c["instruction"]["family"]) for c in import_cases(path)]
        assert found == [
            ("sysbench-007", "sysbench_dependent"),
            ("sysbench-008", "sysbench_parallel"),
        ]


def test_a_turn_without_a_checklist_is_no_event(tmp_path):
    raw = session(场景=float("nan"), source="web")
    raw["prompt_infos"]["别的问题"] = raw["prompt_infos"].pop("问题二")
    (case,) = imported(tmp_path, raw)
    assert list(case["events"]) == ["1"]


def info(**changes):
    one = {**copy.deepcopy(SESSION["prompt_infos"]["问题一"]), **changes}
    return session(prompt_infos={"问题一": one})


BLANK = {"1": {"criteria_content": " ", "criteria_type": "y"}}


@pytest.mark.parametrize(
    ("raw", "facts"),
    [
        (7, "session 1: .* is 7"),
        ({"system": 1}, "session 1: missing key 'system_id'"),
        (session(system_id=True), "'system_id' is True"),
        (session(messages=[]), r"\(system_id 007\): .*no user message"),
        (session(messages=SESSION["messages"][1:]), "no system message"),
        (session(messages=SESSION["messages"][::2]), "turn 1: .* found 'assistant'"),
        (info(alignment="aligned"), "turn 1: 'alignment' is 'aligned'"),
        (info(criteria={}), "turn 1: 'criteria' is empty"),
        (info(criteria={"1": {"criteria_type": "y"}}), "criterion '1': missing key 'criteria_content'"),
        (info(criteria=BLANK), "criterion '1': 'criteria_content': ' '"),
    ],
)  # fmt: skip
def test_a_session_that_is_not_of_the_format_is_one_line(tmp_path, raw, facts):
    with pytest.raises(DataError, match=rf"{FILE} .*{facts}") as caught:
        imported(tmp_path, raw)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("data", [b"[", b"[]", b"\xff\xfe[]"])
def test_a_file_that_is_no_array_and_a_folder_without_one_are_one_line(tmp_path, data):
    with pytest.raises(DataError, match=f"no {FILE}: expected a local copy"):
        import_cases(tmp_path)
    (tmp_path / FILE).write_bytes(data)
    with pytest.raises(DataError, match=f"{FILE}: (cannot be read as JSON|expected one array)"):
        import_cases(tmp_path)
