import pytest
from sequor_files import DUTCH, FUNNY, SHANTY, SHORT, start, turn, write

from eval.importers.sequor import import_testsets
from gatt.errors import DataError


def only(imported):
    (case,) = imported.cases
    return case.as_dict()


def test_a_constraint_for_the_whole_dialogue_is_an_instruction(tmp_path):
    rows = [start(1, DUTCH), turn(2, DUTCH), turn(3, DUTCH)]
    write(tmp_path / "data/testsets/single/answer-in-dutch_1.jsonl", rows)
    imported = import_testsets(tmp_path)
    assert only(imported) == {
        "id": "sequor-single-answer-in-dutch_1",
        "user_turns": ["Question 1?", "Question 2?", "Question 3?"],
        "instruction": {
            "text": "In every reply: Answer in Dutch",
            "family": "sequor_single",
            "value": "Answer in Dutch",
            "verifiers": [{"kind": "language", "language": "nl"}],
        },
        "constraints": [{"id": "t-1", "text": "Answer in Dutch", "by": "rules"}],
    }
    assert imported.left_out == {}


def test_what_no_rule_decides_goes_to_the_judge(tmp_path):
    rows = [start(1, DUTCH, FUNNY), turn(2, DUTCH, FUNNY)]
    write(tmp_path / "testsets/tuples/3/tuple_01_1.jsonl", rows)
    imported = import_testsets(tmp_path)
    case = only(imported)
    assert case["id"] == "sequor-tuples-3-tuple_01_1"
    assert case["instruction"]["text"] == "In every reply:\n1. Answer in Dutch\n2. Be funny"
    assert case["instruction"]["verifiers"] == [
        {"kind": "language", "language": "nl"},
        {"kind": "judge", "rubric": "Be funny"},
    ]
    assert [c["by"] for c in case["constraints"]] == ["rules", "judge"]
    assert imported.count_by_kind() == {"language": 1, "judge": 1, "not covered": 0}


def test_an_added_constraint_is_an_event_of_its_turn_alone(tmp_path):
    rows = [
        start(1, DUTCH),
        turn(2, DUTCH),
        turn(3, DUTCH, FUNNY, SHORT, announced="Follow as well: 1. Be funny 2. Use two sentences"),
        turn(4, DUTCH, FUNNY, SHORT),
        turn(5, DUTCH, FUNNY, SHORT),
    ]
    write(tmp_path / "testsets/add/step_size_2/conversation_0_1.jsonl", rows)
    imported = import_testsets(tmp_path)
    case = only(imported)
    announcement = "Follow as well: 1. Be funny 2. Use two sentences\n\n\nQuestion 3?"
    assert case["user_turns"][2] == announcement
    assert len(case["user_turns"]) == 5
    assert case["events"] == {
        "3": {
            "kind": "added_constraint",
            "expect": "kept",
            "verifiers": [
                {"kind": "judge", "rubric": "Be funny"},
                {"kind": "sentences", "min": 2, "max": 2},
            ],
        }
    }
    assert case["instruction"]["verifiers"] == [{"kind": "language", "language": "nl"}]
    assert imported.left_out == {"turns on which an added constraint holds unjudged": 2}


def test_turns_that_add_again_still_hold_what_was_added_before(tmp_path):
    rows = [
        start(1, DUTCH),
        turn(2, DUTCH, FUNNY, announced="Also: Be funny"),
        turn(3, DUTCH, FUNNY, SHORT, announced="Also: Use two sentences"),
    ]
    imported = import_testsets(write(tmp_path / "c.jsonl", rows))
    assert list(only(imported)["events"]) == ["2", "3"]
    assert imported.left_out == {"turns on which an added constraint holds unjudged": 1}


def test_where_another_instruction_takes_over_the_case_ends(tmp_path):
    rows = [
        start(1, FUNNY),
        turn(2, FUNNY),
        turn(3, DUTCH, announced="From now on only: Answer in Dutch"),
        turn(4, DUTCH),
        turn(5, SHORT, announced="From now on only: Use two sentences"),
    ]
    write(tmp_path / "testsets/replace/step_size_2/conversation_0_1.jsonl", rows)
    imported = import_testsets(tmp_path)
    case = only(imported)
    assert case["user_turns"] == ["Question 1?", "Question 2?"]
    assert "events" not in case
    assert [(c["id"], c["by"]) for c in case["constraints"]] == [
        ("t-2", "judge"),
        ("t-1", "not covered"),
        ("t-3", "not covered"),
    ]
    assert imported.left_out == {"turns from a replaced constraint on": 3}
    assert imported.count_by_kind() == {"judge": 1, "not covered": 2}


def test_an_instruction_that_nobody_follows_by_chance_is_released(tmp_path):
    rows = [
        start(1, DUTCH),
        turn(2, SHORT, announced="From now on only: Use two sentences"),
        turn(3, SHORT),
        turn(4, SHORT, FUNNY, announced="Also: Be funny"),
    ]
    write(tmp_path / "testsets/everything/conversation_0_1.jsonl", rows)
    imported = import_testsets(tmp_path)
    case = only(imported)
    assert len(case["user_turns"]) == 2
    assert case["events"]["2"] == {
        "kind": "replaced_constraint",
        "expect": "released",
        "verifiers": [{"kind": "sentences", "min": 2, "max": 2}],
    }
    assert [(c["id"], c["by"]) for c in case["constraints"]] == [
        ("t-1", "rules"),
        ("t-3", "rules"),
        ("t-2", "not covered"),
    ]
    assert imported.left_out == {"turns from a replaced constraint on": 2}


@pytest.mark.parametrize(
    ("held", "now"),
    [
        (("e", "Answer in English"), FUNNY),
        (SHORT, FUNNY),
        (DUTCH, ("t-9", "Communicate entirely in Dutch")),
    ],
)
def test_what_may_still_be_followed_is_not_released(tmp_path, held, now):
    rows = [start(1, held), turn(2, now, announced=f"Only: {now[1]}")]
    write(tmp_path / "c.jsonl", rows)
    case = only(import_testsets(tmp_path / "c.jsonl"))
    assert case["user_turns"] == ["Question 1?"]


def test_a_constraint_added_before_a_replacement_was_asked_for(tmp_path):
    rows = [
        start(1, SHORT),
        turn(2, SHORT, FUNNY, announced="Also: Be funny"),
        turn(3, SHANTY, announced="Only: Write as a sea shanty"),
    ]
    write(tmp_path / "c.jsonl", rows)
    imported = import_testsets(tmp_path / "c.jsonl")
    case = only(imported)
    assert case["id"] == "sequor-c"
    assert case["instruction"]["family"] == "sequor"
    assert list(case["events"]) == ["2"]
    assert [c["by"] for c in case["constraints"]] == ["rules", "judge", "not covered"]


def test_a_folder_of_one_regime_knows_its_regime(tmp_path):
    folder = tmp_path / "testsets" / "single"
    write(folder / "b_1.jsonl", [start(1, DUTCH)])
    write(folder / "a_1.jsonl", [start(1, FUNNY)])
    cases = import_testsets(folder).cases
    assert [(c.id, c.family) for c in cases] == [
        ("sequor-a_1", "sequor_single"),
        ("sequor-b_1", "sequor_single"),
    ]


def test_keys_that_nobody_reads_are_counted(tmp_path):
    rows = [start(1, DUTCH), turn(2, DUTCH, mood="sunny"), turn(3, DUTCH, mood="grey")]
    write(tmp_path / "c.jsonl", rows)
    assert import_testsets(tmp_path / "c.jsonl").left_out == {"key 'mood' of a turn": 2}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], r"c\.jsonl: nothing in it: expected the turns of a SEQUOR test set"),
        (
            [{"prompts": "x"}],
            r"c\.jsonl line 1: no 'prompt', did you mean 'prompts'\? \(found keys",
        ),
        ([turn(1)], "line 1: 'constraints_data' is empty: expected at least one constraint"),
        ([{"prompt": "x", "constraints_data": {}}], "'constraints_data' is dict: expected a list"),
        ([{"prompt": "x"}], r"line 1: no 'constraints_data' \(found keys: prompt\)"),
        (
            [{"prompt": "x", "persona": "p", "activity": "a"}],
            "line 1: a task without 'constraints_data': expected a test set; --compose makes cases",
        ),
        (
            [{"prompt": "x", "constraints_data": ["Be funny"]}],
            "line 1, constraint 1: found str: expected an object with 'text'",
        ),
        (
            [{"prompt": "x", "constraints_data": [{"id": 3, "text": "Be funny"}]}],
            "line 1, constraint 1: 'id' is int: expected a string",
        ),
        ([{"prompt": "  ", "constraints_data": []}], "line 1: 'prompt': empty content"),
        (
            [turn(1, DUTCH)],
            "line 1: constraint 't-1' is in force from here on, but the prompt does not begin with",
        ),
        (
            [turn(1, DUTCH, announced="Be kind")],
            "line 1: constraint 't-1' is in force from here on",
        ),
        (
            [start(1, DUTCH), turn(2, DUTCH, FUNNY)],
            "line 2: constraint 't-2' is in force from here on",
        ),
        (
            [{**start(1, DUTCH), "prompt": "Rule: Answer in Dutch\n\n\n "}],
            "line 1: no task behind the announcement",
        ),
    ],
)
def test_what_is_not_of_the_format_is_one_line(tmp_path, rows, message):
    file = write(tmp_path / "c.jsonl", rows)
    with pytest.raises(DataError, match=message) as caught:
        import_testsets(file)
    assert "\n" not in str(caught.value)


def test_broken_json_names_its_line(tmp_path):
    (tmp_path / "c.jsonl").write_text('{"prompt": "x",\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"c\.jsonl line 1: broken JSON"):
        import_testsets(tmp_path / "c.jsonl")


def test_a_wrong_folder_is_one_line(tmp_path):
    with pytest.raises(DataError, match=r"no \.jsonl file in it: expected SEQUOR's repository"):
        import_testsets(tmp_path)
    (tmp_path / "tasks").mkdir()
    with pytest.raises(DataError, match=r"tasks but no testsets in it: .* or add --compose"):
        import_testsets(tmp_path)
