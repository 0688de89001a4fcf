import pytest

from eval.cases.importers.imported import Constraint, write_cases
from eval.cases.importers.sequor import import_testsets
from eval.cases.importers.sequor_rules import rules_for
from eval.config import EvalConfig
from eval.records.case_file import read_cases
from eval.run import evaluate
from eval.scoring.judge.config import JudgeConfig
from gatt.errors import DataError
from tests.support.runs.stages import RecordingEngine
from tests.unit.eval.cases.importers.sequor_files import (
    DUTCH,
    FUNNY,
    NUM_TURNS,
    SHORT,
    long_testset,
    start,
    turn,
    write,
)


def asked_of(text):
    return Constraint(id="x", text=text, rules=rules_for(text)).verifiers


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
    assert imported.count_by_kind() == {"language": 1, "judge": 1}


def test_an_added_constraint_is_a_switch_from_its_turn_on(tmp_path):
    rows = [
        start(1, DUTCH),
        turn(2, DUTCH),
        turn(3, DUTCH, FUNNY, SHORT, announced="Follow as well: 1. Be funny 2. Use two sentences"),
        turn(4, DUTCH, FUNNY, SHORT),
    ]
    write(tmp_path / "testsets/add/step_size_2/conversation_0_1.jsonl", rows)
    imported = import_testsets(tmp_path)
    case = only(imported)
    assert case["user_turns"] == [f"Question {n}?" for n in range(1, 5)]
    assert case["switches"] == [
        {
            "turn": 3,
            "kind": "add",
            "text": "Follow as well: 1. Be funny 2. Use two sentences",
            "instruction": {
                "text": "Follow these rules in all your replies:\n1. Be funny\n2. Use two sentences",
                "family": "sequor_add",
                "value": "Be funny; Use two sentences",
                "verifiers": [
                    {"kind": "judge", "rubric": "Be funny"},
                    {"kind": "sentences", "min": 2, "max": 2},
                ],
            },
        }
    ]
    assert case["instruction"]["verifiers"] == [{"kind": "language", "language": "nl"}]
    assert [(c["id"], c["by"]) for c in case["constraints"]] == [
        ("t-1", "rules"),
        ("t-2", "judge"),
        ("t-3", "rules"),
    ]
    assert imported.left_out == {}


def test_what_takes_over_is_a_switch_to_all_that_holds_then(tmp_path):
    rows = [
        start(1, DUTCH, FUNNY),
        turn(2, FUNNY, SHORT, announced="Only: 1. Be funny 2. Use two sentences"),
        turn(3, SHORT, announced="Only: Use two sentences"),
        turn(4, DUTCH, announced="Only: Answer in Dutch"),
    ]
    case = only(import_testsets(write(tmp_path / "c.jsonl", rows)))
    assert [
        (s["turn"], s["kind"], s["instruction"]["text"], len(s["instruction"]["verifiers"]))
        for s in case["switches"]
    ] == [
        (
            2,
            "replace",
            "Follow these rules in all your replies:\n1. Be funny\n2. Use two sentences",
            2,
        ),
        (3, "replace", "Follow this rule in all your replies: Use two sentences", 1),
        (4, "replace", "Follow this rule in all your replies: Answer in Dutch", 1),
    ]
    assert len(case["constraints"]) == 3


def test_every_turn_of_a_long_test_set_is_judged_under_what_holds_there(tmp_path):
    rows = long_testset()
    imported = import_testsets(write(tmp_path / "everything/c.jsonl", rows))
    write_cases(tmp_path / "cases.jsonl", imported.cases)
    (case,) = read_cases(tmp_path / "cases.jsonl").cases
    assert (imported.num_turns, imported.left_out) == (NUM_TURNS, {})
    assert [(s.turn, s.kind) for s in case.switches] == [
        (20, "add"), (40, "add"), (60, "replace"), (80, "add"), (90, "replace"), (100, "replace"),
    ]  # fmt: skip
    for number, row in enumerate(rows, start=1):
        texts = {c["text"] for c in row["constraints_data"]}
        held = case.held_at(number)
        asked = [v for text in texts for v in asked_of(text)]
        assert sorted(map(str, held.verifiers)) == sorted(map(str, asked))


def test_a_long_test_set_is_measured_to_its_end(tmp_path):
    turns = (1, 20, 21, 40, 59, 60, 61, 80, 90, 100, NUM_TURNS)
    cases = import_testsets(write(tmp_path / "c.jsonl", long_testset())).cases
    write_cases(tmp_path / "cases.jsonl", cases)
    config = EvalConfig(
        output_dir=tmp_path / "out",
        arms=("base",),
        cases=tmp_path / "cases.jsonl",
        turns=turns,
        probe_turns=(),
        histories=("own",),
        task_completion=False,
        judge=JudgeConfig(),
    )
    reply = "Ik drink graag thee in de ochtend. Daarna ga ik naar mijn werk in de stad."
    results = evaluate(
        config,
        lambda: RecordingEngine(lambda request: reply),
        lambda: RecordingEngine(lambda request: '{"reason": "so", "verdict": "pass"}'),
    ).results

    def passed(metric):
        points = [
            p
            for p in results["curves"]
            if (p["metric"], p["family"], p["split"]) == (metric, "all", "all")
        ]
        return [p["turn"] for p in points if (p["num_decided"], p["rate"]) == (1, 1.0)]

    assert passed("adherence") == list(turns)
    # Turn 90: Dutch has ended. What ends at 60 and 100 holds rules that the judge alone can tell.
    assert passed("leakage") == [0]


def test_the_rest_of_a_test_set_is_counted(tmp_path):
    imported = import_testsets(write(tmp_path / "c.jsonl", long_testset()), num_turns=25)
    case = only(imported)
    assert len(case["user_turns"]) == 25
    assert [s["turn"] for s in case["switches"]] == [20]
    assert imported.left_out == {"turns behind the first 25": NUM_TURNS - 25}


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
        (
            [start(1, DUTCH, FUNNY), turn(2, DUTCH)],
            "line 2: constraint 't-1' is in force from here on",
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
