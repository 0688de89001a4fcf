"""The importer of SEQUOR, and which of its constraints our rules decide."""

import json

import pytest

from eval.cases.importers.imported import Constraint, write_cases
from eval.cases.importers.sequor import import_cases, rules_for
from eval.records.case_file import read_cases
from eval.run import evaluate
from eval.scoring.judge.config import JudgeConfig
from gatt.errors import DataError
from gatt.verifiers.table import build
from tests.support.runs.case_files import case_config
from tests.support.runs.stages import RecordingEngine

DUTCH = ("t-1", "Answer in Dutch")
FUNNY = ("t-2", "Be funny")
SHORT = ("t-3", "Use two sentences")
SHANTY = ("t-4", "Write as a sea shanty")


NUM_TURNS = 126
LEGS = {
    1: (DUTCH,),
    20: (DUTCH, SHORT),
    40: (DUTCH, SHORT, FUNNY, SHANTY),
    60: (SHORT,),
    80: (DUTCH, SHORT),
    90: (SHORT, SHANTY),
    100: (FUNNY, SHANTY),
}
"""One further constraint, two, replaced by one, one further, replaced in part, replaced by others."""


def long_testset():
    """A test set as long as SEQUOR's, with changes of every kind at the turns of `LEGS`."""
    rows, held = [], ()
    for number in range(1, NUM_TURNS + 1):
        before, held = held, LEGS.get(number, held)
        words = None
        if held != before:
            is_added = set(before) < set(held)
            words = "As well: " if is_added else "Only: "
            words += " ".join(text for _, text in held if not is_added or (_, text) not in before)
        rows.append(turn(number, *held, announced=words))
    return rows


def turn(number, *constraints, announced=None, **extra):
    task = f"Question {number}?"
    prompt = f"{announced}\n\n\n{task}" if announced else task
    data = [{"id": name, "text": text} for name, text in constraints]
    return {"prompt": prompt, "constraints_data": data, **extra}


def start(number, *constraints):
    """The first turn, with its announcement."""
    if len(constraints) == 1:
        return turn(number, *constraints, announced=f"In every reply: {constraints[0][1]}")
    rules = "\n".join(f"{n}. {text}" for n, (_, text) in enumerate(constraints, start=1))
    return turn(number, *constraints, announced=f"In every reply:\n{rules}")


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def only(imported):
    (case,) = imported.cases
    return case.as_dict()


def test_a_constraint_for_the_whole_dialogue_is_an_instruction(tmp_path):
    rows = [start(1, DUTCH), turn(2, DUTCH), turn(3, DUTCH)]
    write(tmp_path / "data/testsets/single/answer-in-dutch_1.jsonl", rows)
    imported = import_cases(tmp_path)
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


def test_later_constraints_are_switches_and_the_judge_has_what_no_rule_decides(tmp_path):
    rows = [
        start(1, DUTCH),
        turn(2, DUTCH, FUNNY, SHORT, announced="As well: 1. Be funny 2. Use two sentences"),
        turn(3, DUTCH, FUNNY, SHORT),
        turn(4, FUNNY, SHORT, announced="Only: 1. Be funny 2. Use two sentences"),
        turn(5, SHORT, announced="Only: Use two sentences"),
    ]
    write(tmp_path / "testsets/add/step_size_2/conversation_0_1.jsonl", rows)
    imported = import_cases(tmp_path)
    case = only(imported)
    both = {
        "text": "Follow these rules in all your replies:\n1. Be funny\n2. Use two sentences",
        "family": "sequor_add",
        "value": "Be funny; Use two sentences",
        "verifiers": [
            {"kind": "judge", "rubric": "Be funny"},
            {"kind": "sentences", "min": 2, "max": 2},
        ],
    }
    words = "1. Be funny 2. Use two sentences"
    assert case["switches"][:2] == [
        {"turn": 2, "kind": "add", "text": f"As well: {words}", "instruction": both},
        {"turn": 4, "kind": "replace", "text": f"Only: {words}", "instruction": both},
    ]
    last = case["switches"][2]
    assert (last["turn"], last["kind"]) == (5, "replace")
    assert last["instruction"]["text"] == "Follow this rule in all your replies: Use two sentences"
    assert case["user_turns"] == [f"Question {n}?" for n in range(1, 6)]
    assert case["constraints"] == [
        {"id": "t-1", "text": "Answer in Dutch", "by": "rules"},
        {"id": "t-2", "text": "Be funny", "by": "judge"},
        {"id": "t-3", "text": "Use two sentences", "by": "rules"},
    ]
    assert imported.left_out == {}
    assert imported.count_by_kind() == {"language": 1, "sentences": 1, "judge": 1}


def test_every_turn_of_a_long_test_set_is_judged_under_what_holds_there(tmp_path):
    rows = long_testset()
    imported = import_cases(write(tmp_path / "everything/c.jsonl", rows))
    write_cases(tmp_path / "cases.jsonl", imported.cases)
    (case,) = read_cases(tmp_path / "cases.jsonl").cases
    assert (imported.num_turns, imported.left_out) == (NUM_TURNS, {})
    assert [(s.turn, s.kind) for s in case.switches] == [
        (20, "add"), (40, "add"), (60, "replace"), (80, "add"), (90, "replace"), (100, "replace"),
    ]  # fmt: skip
    for number, row in enumerate(rows, start=1):
        texts = {c["text"] for c in row["constraints_data"]}
        held = [{"kind": v.kind, **v.params} for v in case.held_at(number).verifiers]
        asked = [v for text in texts for v in Constraint("x", text, rules_for(text)).verifiers]
        assert sorted(map(str, held)) == sorted(map(str, asked))


def test_a_long_test_set_is_measured_to_its_end(tmp_path):
    turns = (1, 20, 21, 40, 59, 60, 61, 80, 90, 100, NUM_TURNS)
    cases = import_cases(write(tmp_path / "c.jsonl", long_testset())).cases
    write_cases(tmp_path / "cases.jsonl", cases)
    config = case_config(tmp_path, tmp_path / "cases.jsonl", turns=turns, judge=JudgeConfig())
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


def test_what_is_left_out_is_counted(tmp_path):
    rows = long_testset()
    rows[1]["mood"] = "sunny"
    imported = import_cases(write(tmp_path / "c.jsonl", rows), num_turns=25)
    case = only(imported)
    assert len(case["user_turns"]) == 25
    assert [s["turn"] for s in case["switches"]] == [20]
    assert imported.left_out == {"turns behind the first 25": NUM_TURNS - 25}


def test_a_folder_of_one_regime_knows_its_regime(tmp_path):
    folder = tmp_path / "testsets" / "single"
    for name in ("b_1", "a_1"):
        write(folder / f"{name}.jsonl", [start(1, DUTCH)])
    cases = [c.line for c in import_cases(folder).cases]
    assert [c["id"] for c in cases] == ["sequor-a_1", "sequor-b_1"]
    assert {c["instruction"]["family"] for c in cases} == {"sequor_single"}


@pytest.mark.parametrize(
    ("rows", "facts"),
    [
        ([], r"c\.jsonl: nothing in it"),
        ([{"prompts": "x"}], r"c\.jsonl line 1: a turn: missing key 'prompt'"),
        ([turn(1)], "line 1: 'constraints_data' is empty"),
        ([{"prompt": "x", "constraints_data": ["Be funny"]}], "'constraints_data.0' is 'Be funny'"),
        ([{"prompt": "x", "constraints_data": [{"id": 3, "text": "x"}]}], "constraint 1: 'id' is 3"),
        ([{"prompt": "  ", "constraints_data": []}], "line 1: a turn: 'prompt': '  '"),
        ([turn(1, DUTCH)], "line 1: t-1 "),
        ([turn(1, DUTCH, announced="Be kind")], "line 1: t-1 "),
        ([start(1, DUTCH), turn(2, DUTCH, FUNNY)], "line 2: t-2 "),
        ([start(1, DUTCH, FUNNY), turn(2, DUTCH)], "line 2: t-1 "),
        ([{**start(1, DUTCH), "prompt": "Rule: Answer in Dutch\n\n\n "}], "line 1: t-1 "),
    ],
)  # fmt: skip
def test_what_is_not_of_the_format_is_one_line(tmp_path, rows, facts):
    file = write(tmp_path / "c.jsonl", rows)
    with pytest.raises(DataError, match=facts) as caught:
        import_cases(file)
    assert "\n" not in str(caught.value)


def test_a_wrong_file_or_folder_is_one_line(tmp_path):
    with pytest.raises(DataError, match=r"no .*\.jsonl in it"):
        import_cases(tmp_path)
    (tmp_path / "c.jsonl").write_text('{"prompt": "x",\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"c\.jsonl line 1: broken JSON"):
        import_cases(tmp_path / "c.jsonl")


@pytest.mark.parametrize(
    ("text", "kind", "params"),
    [
        ("Reply in seven sentences", "sentences", {"min": 7, "max": 7}),
        ("Write a paragraph", "paragraphs", {"min": 1, "max": 1}),
        ("Answer each question with a single line", "lines", {"min": 1, "max": 1}),
        ("Use between two and four paragraphs", "paragraphs", {"min": 2, "max": 4}),
        ("Limit your reply to one or two lines", "lines", {"min": 1, "max": 2}),
        (
            "Use a minimum of 30 words and a maximum of 1,300 words",
            "words",
            {"min": 30, "max": 1300},
        ),
        ("Do not exceed 80 words!", "words", {"max": 80}),
        ("Present information in no more than 6 bullet points", "bullets", {"min": 1, "max": 6}),
        ("Keep responses under 40 words", "words", {"max": 39}),
        ("It must be over 300 words", "words", {"min": 301}),
        ("Do not use line breaks", "lines", {"max": 1}),
        ("List answers as bullet points", "bullets", {"min": 2}),
        ("Include some emojis", "emoji", {"min": 1}),
        ("Answer in Swedish", "language", {"language": "sv"}),
        ('Start every reply with "Roger:"', "starts_with", {"any_of": ["Roger:"], "exact": True}),
        ("Prefix output with [ok]", "starts_with", {"any_of": ["[ok]"], "exact": True}),
        ("Start with 'Hi there'", "starts_with", {"any_of": ["Hi there"]}),
        ("End each message with 'Over. And out?'", "ends_with", {"any_of": ["Over. And out?"]}),
        ("Write '[STOP]' at the end of your answer", "ends_with", {"any_of": ["[STOP]"], "exact": True}),
        ('Use the phrase "after all"', "terms", {"all_of": ["after all"]}),
        (
            'Output must be in JSON format with keys: "a", "b c", and \'d\'',
            "json_object",
            {"keys": ["a", "b c", "d"]},
        ),
    ],
)  # fmt: skip
def test_what_a_rule_decides_whole_is_given_to_it(text, kind, params):
    (spec,) = rules_for(text)
    assert (spec.kind, dict(spec.params)) == (kind, params)
    build(spec)


@pytest.mark.parametrize(
    "text",
    [
        "Write two funny paragraphs",
        "Answer in one well-written sentence",
        "Limit each paragraph to 30 words",
        "Keep the first reply under 9 words",
        "Use less than one word",
        "Use between nine and two sentences",
        "Answer in Welsh",
        "Use the phrase '(wink)'",
        'Start with either "Yes" or "No"',
        "Start all replies with 'AI:' followed by what a robot would say",
        "Prefix replies with [X] or [Y] if unsure",
        "Do not use the word 'and'",
        "Provide the answer in JSON format",
        "!",
        "",
    ],
)
def test_what_asks_for_more_or_else_is_left_to_the_judge(text):
    assert rules_for(text) == ()


MARKERS = {
    "Always respond starting with 'BotGPT:'": ("BotGPT: I do.", "BotGPT is a name."),
    "Answer with 'HAHA, ' in front of responses": ("HAHA, I do.", "Haha! I do."),
    "Include '@version 5' at the beginning": ("@version 5 I do.", "Version 5 is out."),
    "Prefix response with “(AIM)”": ("(AIM) I do.", "Aim high, and start early."),
    "Print '[IN GAME]' in front of all responses": ("[IN GAME] I do.", "In game terms, I do."),
    'Prepend output with "bot_action: go"': ("bot_action: go", "Bot action: go home."),
    "Start normal answers with '[GPT]:'": ("[GPT]: I do.", "[GPT] I do."),
    "Start with 'Task1:'": ("Task1: I do.", "Task1 is the first one."),
    "Write '[END]' at the end of whole content": ("I do. [END]", "Until the very end."),
}


@pytest.mark.parametrize("text", MARKERS)
def test_a_marker_is_found_with_its_marks_and_never_in_ordinary_prose(text):
    marked, prose = MARKERS[text]
    (spec,) = rules_for(text)
    assert [build(spec).check(reply).status for reply in (marked, prose)] == ["pass", "fail"]
