import pytest

from eval.cases.importers.sequor_tasks import compose_cases
from gatt.errors import DataError
from tests.unit.eval.cases.importers.sequor_files import (
    DUTCH,
    FUNNY,
    SHORT,
    constraint,
    task,
    write,
)


@pytest.fixture
def copy(tmp_path):
    """Two personas with six and two tasks, three constraints, one group."""
    data = tmp_path / "data"
    write(data / "tasks/persona_1.jsonl", [task(n) for n in range(6)])
    write(data / "tasks/persona_2.jsonl", [task(n) for n in range(10, 12)])
    rows = [constraint(*c) for c in (DUTCH, FUNNY, SHORT)]
    write(data / "constraints/single.jsonl", rows)
    group = {"constraints": [FUNNY[1], SHORT[1]], "constraint_ids": ["t-2", "t-3"], "id": "g1"}
    write(data / "constraints/3.jsonl", [group])
    return tmp_path


def test_a_persona_meets_one_constraint_or_group_of_each_file(copy):
    imported = compose_cases(copy, num_turns=4)
    groups = [c for c in imported.cases if c.family == "sequor_tuples"]
    singles = [c for c in imported.cases if c.family == "sequor_single"]
    assert len(groups) == 1
    assert {c.id for c in singles} == {"sequor-single-persona_1", "sequor-single-persona_2"}
    assert groups[0].text == (
        "Follow these rules in all your replies:\n1. Be funny\n2. Use two sentences"
    )
    assert [c.by for c in groups[0].held] == ["judge", "rules"]
    assert all(c.text == f"Follow this rule in all your replies: {c.value}" for c in singles)
    short = sum(c.id.endswith("persona_2") for c in imported.cases)
    assert imported.left_out == {
        "constraints of single.jsonl that met no persona": 1,
        "personas that met no constraint of 3.jsonl": 1,
        "cases of fewer than 4 turns": short,
    }


def test_tasks_keep_their_order(copy):
    by_id = {c.id: c for c in compose_cases(copy, num_turns=4).cases}
    case = by_id["sequor-single-persona_1"].as_dict()
    assert len(case["user_turns"]) == 4
    assert case["user_turns"] == sorted(case["user_turns"])
    assert len(by_id["sequor-single-persona_2"].messages) == 2
    lengths = {c.id: c.num_turns for c in compose_cases(copy).cases if c.family == "sequor_single"}
    assert lengths == {"sequor-single-persona_1": 6, "sequor-single-persona_2": 2}


def test_the_seed_fixes_the_draw(copy):
    def drawn(seed):
        return [c.as_dict() for c in compose_cases(copy / "data", num_turns=3, seed=seed).cases]

    assert drawn(1) == drawn(1)
    assert any(drawn(1) != drawn(seed) for seed in range(2, 6))


@pytest.mark.parametrize(
    ("file", "rows", "message"),
    [
        ("tasks/persona_1.jsonl", [{"task": "x"}], r"persona_1\.jsonl line 1: no 'prompt'"),
        ("tasks/persona_1.jsonl", [], r"persona_1\.jsonl: nothing in it: expected the tasks"),
        ("constraints/single.jsonl", [], r"single\.jsonl: nothing in it: expected constraints"),
        (
            "constraints/single.jsonl",
            [{"constrain": "Be funny", "id": "a"}],
            r"single\.jsonl line 1: no 'constraint', did you mean 'constrain'\?",
        ),
        (
            "constraints/3.jsonl",
            [{"constraints": ["Be funny"], "constraint_ids": []}],
            r"3\.jsonl line 1: 1 constraints and 0 constraint_ids: expected as many of each",
        ),
        (
            "constraints/3.jsonl",
            [{"constraints": ["Be funny"], "constraint_ids": [7]}],
            r"3\.jsonl line 1: found 7 in a group: expected texts only",
        ),
        (
            "constraints/3.jsonl",
            [{"constraints": [" "], "constraint_ids": ["a"]}],
            r"3\.jsonl line 1: a constraint: empty content",
        ),
    ],
)
def test_what_is_not_of_the_format_is_one_line(copy, file, rows, message):
    write(copy / "data" / file, rows)
    with pytest.raises(DataError, match=message):
        compose_cases(copy)


def test_missing_folders_and_turns_are_one_line(copy, tmp_path):
    with pytest.raises(DataError, match="--num-turns is 0: expected at least 1"):
        compose_cases(copy, num_turns=0)
    (copy / "data/constraints/single.jsonl").unlink()
    (copy / "data/constraints/3.jsonl").unlink()
    with pytest.raises(DataError, match=r"constraints: no \.jsonl file there: expected SEQUOR's"):
        compose_cases(copy)


def test_keys_that_nobody_reads_are_counted(copy):
    write(copy / "data/tasks/persona_2.jsonl", [{**task(1), "mood": "sunny"}])
    assert compose_cases(copy).left_out["key 'mood' of a task"] == 1
