"""S-IFEval: what its lines become, how many exchanges stand before a prompt, and what is refused."""

from __future__ import annotations

import json

import pytest

from eval.cases.s_ifeval import import_cases
from eval.records.case_file import read_cases
from gatt.cli import main
from gatt.errors import ConfigError, DataError, GattError
from gatt.verifiers import build
from gatt.verifiers.spec import VerifierSpec

pytest.importorskip("if_verifiable")


def line(key, **changes):
    messages = [
        {"role": "system", "content": "Use no commas. Repeat my message first."},
        {"role": "user", "content": f"Name {key} fruits"},
    ]
    names = ["punctuation:no_comma", "combination:repeat_prompt"]
    kwargs = [{}, {"prompt_to_repeat": f"Name {key} fruits", "num_words": None}]
    raw = {"key": key, "messages": messages, "instruction_id_list": names, "kwargs": kwargs}
    return raw | changes


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "sys_ifeval.jsonl"
    path.write_text("\n".join(json.dumps(line(key)) for key in range(1, 6)) + "\n")
    return path


def test_a_prompt_stands_behind_its_exchanges_and_is_judged_by_its_constraints(
    file, tmp_path
) -> None:
    cases = tmp_path / "cases.jsonl"
    main(["suite", "import", "s-ifeval", str(file), "--exchanges", "3", "--output", str(cases)])
    case = read_cases(cases)[1]
    assert case.id == "s-ifeval-2"
    assert case.num_turns == 4
    assert case.dialogue.user_turns[3] == "Name 2 fruits"
    assert len(case.dialogue.replies) == 3
    assert case.instruction.text == "Use no commas. Repeat my message first."
    statuses = {
        reply: [build(spec).check(reply).status for spec in case.instruction.verifiers]
        for reply in (
            "Name 2 fruits: apple and pear", "Name 2 fruits: apple, pear", "apple and pear", "",
        )
    }  # fmt: skip
    assert list(statuses.values()) == [
        ["pass", "pass"], ["fail", "pass"], ["pass", "fail"], ["fail", "fail"],
    ]  # fmt: skip


def test_constraints_in_the_users_message_are_judged_there_without_an_instruction(tmp_path) -> None:
    path, cases = tmp_path / "ifeval.jsonl", tmp_path / "cases.jsonl"
    user = [{"role": "user", "content": "Name 3 fruits"}]
    path.write_text(json.dumps(line(3, messages=user)) + "\n")
    assert main(["suite", "import", "ifeval", str(path), "--output", str(cases)]) == 0
    (case,) = read_cases(cases)
    assert (case.id, case.num_turns, case.dialogue.user_turns) == (
        "ifeval-3",
        1,
        ("Name 3 fruits",),
    )
    assert json.loads(cases.read_text())["instruction"]["placement"] == "none"
    assert [v.kind for v in case.instruction.verifiers] == ["ifeval", "ifeval"]
    assert [len(c["messages"]) for c in import_cases(path, 2, benchmark="ifeval")] == [5]


def test_fewer_exchanges_are_the_last_ones_of_more_and_every_prompt_has_its_own(file) -> None:
    nine, two = import_cases(file, 9), import_cases(file, 2)
    for long, short in zip(nine, two, strict=True):
        assert long["messages"][-5:] == short["messages"]
    assert len({case["messages"][0]["content"] for case in nine}) > 1
    assert [len(case["messages"]) for case in import_cases(file, 0)] == [1] * 5


def test_a_number_of_prompts_is_drawn_by_the_seed(file) -> None:
    drawn = [tuple(c["id"] for c in import_cases(file, 0, 3, seed)) for seed in (0, 0, 1, 2, 3)]
    assert drawn[0] == drawn[1]
    assert {len(ids) for ids in drawn} == {3}
    assert len(set(drawn)) > 1


@pytest.mark.parametrize(
    ("change", "facts"),
    [
        (
            {"instruction_id_list": ["punctuation:no_coma", "combination:repeat_prompt"]},
            "punctuation:no_comma",
        ),
        ({"kwargs": [{}]}, "2 constraints with 1"),
        ({"messages": [{"role": "user", "content": "a"}]}, "['user']"),
        ({"messages": 3}, "line 1"),
    ],
)
def test_a_line_that_is_not_of_the_format_is_named(change, facts, tmp_path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(line(7, **change)) + "\n")
    with pytest.raises(GattError) as caught:
        import_cases(path, 0)
    assert facts in str(caught.value)
    assert "\n" not in str(caught.value)


def test_numbers_out_of_range_and_empty_files_are_refused(file, tmp_path) -> None:
    for num_exchanges, num in ((-1, None), (10**6, None), (0, 0)):
        with pytest.raises(ConfigError):
            import_cases(file, num_exchanges, num)
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(DataError):
        import_cases(tmp_path / "empty.jsonl", 0)


def test_sentences_are_counted_without_a_download() -> None:
    spec = VerifierSpec(
        "ifeval",
        {
            "instruction_id": "length_constraints:number_sentences",
            "kwargs": {"relation": "at least", "num_sentences": 2},
        },
    )
    assert [build(spec).check(text).status for text in ("One. Two here.", "Dr. Smith left.")] == [
        "pass",
        "fail",
    ]
