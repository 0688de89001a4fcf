"""MultiChallenge: what its lines become, what stands beside them, and what is refused."""

from __future__ import annotations

import json

import pytest

from eval.cases.multichallenge import import_cases
from eval.records.case_file import read_cases
from eval.scoring.judge.question import read_rubric
from gatt.cli import main
from gatt.errors import DataError

TALK = [
    {"role": "user", "content": "No nuts, I am allergic. What may I cook?"},
    {"role": "assistant", "content": "Pasta with tomatoes."},
    {"role": "user", "content": "And for dessert?"},
]


def line(key="6745", axis="INSTRUCTION_RETENTION", **changes):
    raw = {
        "QUESTION_ID": key, "AXIS": axis, "CONVERSATION": TALK,
        "TARGET_QUESTION": "Does the response name nuts?", "PASS_CRITERIA": "NO",
    }  # fmt: skip
    return raw | changes


@pytest.fixture
def file(tmp_path):
    def write(*lines):
        path = tmp_path / "benchmark_questions.jsonl"
        path.write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
        return path

    return write


def test_the_last_reply_of_an_axis_is_judged_by_its_question(file, tmp_path, capsys) -> None:
    path, cases = file(line(), line(axis="SELF_COHERENCE"), line()), tmp_path / "kept.jsonl"
    main(["suite", "import", "multichallenge", str(path), "--output", str(cases)])
    assert "2 cases, 4 turns" in capsys.readouterr().out
    case = read_cases(cases)[0]
    assert case.id == "multichallenge-001"
    assert case.turns == (2,)
    assert case.instruction.text == TALK[0]["content"]
    assert case.is_given
    [spec] = case.instruction.verifiers
    assert (
        spec.params["rubric"] == "The answer to this question is NO: Does the response name nuts?"
    )
    assert read_rubric(tmp_path / "kept_judge.yaml") != read_rubric(None)
    again = tmp_path / "kept.json"
    assert main(["suite", "import", "multichallenge", str(path), "--output", str(again)]) != 0
    assert "kept_judge.yaml: exists already" in capsys.readouterr().err
    assert not again.exists()


@pytest.mark.parametrize(
    ("changes", "fact"),
    [
        ({"CONVERSATION": None}, "CONVERSATION"),
        ({"AXIS": 3}, "AXIS"),
        ({"TARGET_QUESTION": " "}, "TARGET_QUESTION"),
        ({"PASS_CRITERIA": "maybe"}, "YES or NO"),
        ({"CONVERSATION": TALK[:2]}, "'assistant'"),
        ({"AXIS": "SELF_COHERENCE"}, "self_coherence"),
    ],
)
def test_what_is_no_line_of_it(file, changes, fact) -> None:
    with pytest.raises(DataError, match=fact):
        import_cases(file(line(**changes)), "instruction_retention")
