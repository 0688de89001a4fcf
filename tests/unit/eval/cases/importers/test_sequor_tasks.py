from shutil import rmtree

import pytest

from eval.cases.importers.sequor_tasks import compose_cases
from eval.cases.importers.table import Request, import_cases
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


def test_a_persona_gets_one_constraint_or_group_of_each_file(copy):
    write(copy / "data/tasks/persona_2.jsonl", [{**task(n), "mood": "sunny"} for n in (10, 11)])
    imported = compose_cases(copy, num_turns=4)
    by_id = {c.line["id"]: c.line for c in imported.cases}
    (group,) = (c for c in imported.cases if c.line["instruction"]["family"] == "sequor_tuples")
    assert by_id.keys() == {
        "sequor-single-persona_1", "sequor-single-persona_2", group.line["id"],
    }  # fmt: skip
    assert group.line["instruction"]["text"] == (
        "Follow these rules in all your replies:\n1. Be funny\n2. Use two sentences"
    )
    assert [c.as_dict()["by"] for c in group.constraints] == ["judge", "rules"]
    told, tasks = (by_id["sequor-single-persona_1"][key] for key in ("instruction", "user_turns"))
    assert told["text"] == f"Follow this rule in all your replies: {told['value']}"
    # Tasks keep their order.
    assert len(tasks) == 4
    assert tasks == sorted(tasks)
    assert len(by_id["sequor-single-persona_2"]["user_turns"]) == 2
    assert imported.left_out == {
        "key 'mood' of a task": 2,
        "constraints of single.jsonl that no persona got": 1,
        "personas without a constraint of 3.jsonl": 1,
        "cases of fewer than 4 turns": sum(name.endswith("persona_2") for name in by_id),
    }
    whole = {c.line["id"]: c.num_turns for c in compose_cases(copy).cases}
    assert (whole["sequor-single-persona_1"], whole["sequor-single-persona_2"]) == (6, 2)


def test_the_seed_fixes_the_draw(copy):
    def drawn(seed):
        return [c.as_dict() for c in compose_cases(copy / "data", num_turns=3, seed=seed).cases]

    assert drawn(1) == drawn(1)
    assert any(drawn(1) != drawn(seed) for seed in range(2, 6))


@pytest.mark.parametrize(
    ("file", "rows", "facts"),
    [
        ("tasks/persona_1", [{"task": "x"}], "line 1: no 'prompt'"),
        ("tasks/persona_1", [], "nothing in it"),
        ("constraints/single", [], "nothing in it"),
        ("constraints/single", [{"constrain": "x", "id": "a"}], "line 1: no 'constraint', .*'constrain'"),
        ("constraints/3", [{"constraints": ["x"], "constraint_ids": []}], "line 1: 1 .* and 0 "),
        ("constraints/3", [{"constraints": ["x"], "constraint_ids": [7]}], "line 1: found 7"),
        ("constraints/3", [{"constraints": [" "], "constraint_ids": ["a"]}], "line 1: .*empty"),
    ],
)  # fmt: skip
def test_what_is_not_of_the_format_is_one_line(copy, file, rows, facts):
    write(copy / f"data/{file}.jsonl", rows)
    with pytest.raises(DataError, match=rf"{file}\.jsonl:? {facts}"):
        compose_cases(copy)


def test_a_missing_folder_and_no_turns_are_one_line(copy):
    with pytest.raises(DataError, match="--num-turns is 0"):
        import_cases("sequor", Request(copy, is_composed=True, num_turns=0))
    rmtree(copy / "data/constraints")
    with pytest.raises(DataError, match=r"constraints: no \.jsonl file there"):
        compose_cases(copy)
