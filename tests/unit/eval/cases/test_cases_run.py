"""`gatt eval` on a case file, with events, joined dialogues, a judge: what stands in the results."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from eval.config import EvalConfig
from eval.records.samples import read_samples
from eval.results.undecided import notes_of_undecided
from eval.run import evaluate
from eval.scoring.judge.config import JudgeConfig
from gatt.data.training_marks import TrainedOn, write_marks
from gatt.errors import DataError
from gatt.sources.config import SourceConfig
from gatt.sources.load import load_dialogues
from tests.support.runs.case_files import (
    TEA,
    case_config,
    dialogue_config,
    tea_case,
    write_case_file,
)
from tests.support.runs.stages import RecordingEngine, write_adapter, write_dialogues
from tests.support.servers.faulty_server import Answer, Asked, FaultyServer, completion, engine_for

KIND = {"kind": "judge", "rubric": "The reply is kind."}

ROWS = [
    {
        "id": f"case-{n}",
        "user_turns": [f"Question {n}.{t}?" for t in range(1, 5)],
        "instruction": {"text": "x", "family": family, "value": str(n), "verifiers": rules},
        "events": {"3": {"kind": "topic_jump"}},
    }
    for n, (family, rules) in enumerate(
        {"rules": [TEA], "open": [KIND], "both": [TEA, KIND], "free": []}.items()
    )
]


def config(folder: Path, rows=ROWS, **changes) -> EvalConfig:
    cases = write_case_file(folder, rows)
    return case_config(folder, cases, **({"turns": (1, 2, 3, 4)} | changes))


def judge_says(request) -> str:
    return '{"reason": "so", "verdict": "pass"}'


def test_a_judge_decides_what_no_rule_covers_and_agreement_is_told(tmp_path) -> None:
    engine = RecordingEngine(lambda request: "I like tea.")
    open_run = evaluate(config(tmp_path), lambda: engine)
    judged = evaluate(
        config(tmp_path, judge=JudgeConfig()),
        lambda: pytest.fail("replies were asked for again"),
        lambda: RecordingEngine(judge_says),
    )
    assert judged.num_new == 0
    by_family = {"rules": "pass", "open": "undecided", "both": "undecided", "free": "undecided"}
    first = {p["family"]: p for p in open_run.results["curves"] if p["turn"] == 1}
    assert {f: p["num_undecided"] for f, p in first.items() if f != "all"} == {
        f: int(status == "undecided") for f, status in by_family.items()
    }
    found = Counter((s.family, s.status) for s in read_samples(tmp_path / "out/samples.jsonl"))
    assert found == {(family, "pass"): 4 for family in by_family}
    (agreed,) = judged.results["agreement"]
    assert (agreed["num_both"], agreed["both_pass"], agreed["num_missing"]) == (4, 4, 0)
    assert judged.results["run"]["config"]["judge"] is not None


def test_replies_without_a_verdict_are_told_with_their_reason(tmp_path) -> None:
    """A server ends every second reply in its own way; the judge never gives a verdict."""

    def script(asked: Asked) -> Answer:
        odd = completion("I like tea.", "eos") if asked.nth else completion("", "length")
        return odd if "Question 0" in asked.prompt else completion("I like tea.")

    with FaultyServer(script) as server:
        result = evaluate(
            config(tmp_path, judge=JudgeConfig(kinds=("turn",))),
            lambda: engine_for(server, max_concurrency=1),
            lambda: RecordingEngine(lambda _: "I cannot say."),
        )
    notes = "\n".join(result.results["notes"])
    assert "no verdict on 12 of 12 replies: no JSON object" in notes
    assert "came before any text in" in notes
    ended = [s for s in result.samples if s.finish == "other"]
    assert {(s.status, s.server_end, s.judge) for s in ended} <= {("undecided", "eos", None)}
    assert (
        notes_of_undecided([s for s in result.samples if s.finish == "stop" and not s.judge], 9)
        == []
    )


def test_a_note_on_repeats_stands_in_the_results(tmp_path) -> None:
    results = evaluate(config(tmp_path), lambda: RecordingEngine(lambda r: "Tea?")).results
    # Every reply but the first repeats an earlier one.
    assert [n for n in results["notes"] if n.startswith("base: 100 % of its replies at turn 4")]
    other = config(tmp_path, output_dir=tmp_path / "other")
    results = evaluate(other, lambda: RecordingEngine(lambda r: f"Tea {r.key}")).results
    assert not [n for n in results["notes"] if "word for word" in n]


@pytest.mark.parametrize(
    ("changes", "facts"),
    [({"histories": ("reference",)}, "case 'case-0' .*own"), ({"turns": (7,)}, r"\[7\].* 4")],
)
def test_cases_that_do_not_fit_the_configuration_are_refused(tmp_path, changes, facts) -> None:
    with pytest.raises(DataError, match=facts):
        evaluate(config(tmp_path, **changes), lambda: pytest.fail("asked"))


def long(folder: Path, **changes) -> EvalConfig:
    path = write_dialogues(folder / "short.jsonl", num=6, num_turns=3)
    source = SourceConfig(name="jsonl", path=str(path), min_turns=3, max_turns=3)
    settings = {"turns": (1, 4, 6), "probe_turns": (), "histories": ("own",), "num_dialogues": 3}
    return dialogue_config(folder, source=source, num_turns=6, **settings | changes)


def test_joined_dialogues_jump_topics_at_their_seams_and_each_part_is_looked_for(tmp_path) -> None:
    evaluate(long(tmp_path), lambda: RecordingEngine(lambda r: "Yes."))
    samples = list(read_samples(tmp_path / "out/samples.jsonl"))
    assert {s.turn: s.event for s in samples} == {1: None, 4: "topic_jump", 6: None}
    assert len({s.dialogue for s in samples}) == 3
    adapter = write_adapter(tmp_path / "adapter")
    write_marks(adapter, TrainedOn.of([load_dialogues(long(tmp_path).source, None)[0][3]]))
    with pytest.raises(DataError, match=r"arm 'gatt': 1 of 6 dialogues"):
        evaluate(
            long(tmp_path, arms=("base", "gatt"), adapters={"gatt": adapter}),
            lambda: pytest.fail("asked"),
        )


def test_twins_are_told_apart_in_every_call(tmp_path) -> None:
    turns = ["Question one?", "Question two?"]
    jump = {"2": {"kind": "topic_jump"}}
    rows = [
        {"id": "plain", "user_turns": turns},
        {"id": "plain-jump", "user_turns": turns, "events": jump},
        tea_case("under", user_turns=turns, probes=[]),
        tea_case("under-probed", user_turns=turns),
    ]
    settings = config(tmp_path, rows, turns=(1, 2), probe_turns=(2,), judge=JudgeConfig())
    for _ in range(2):
        results = evaluate(
            settings, lambda: RecordingEngine(lambda r: "Tea."), lambda: RecordingEngine(judge_says)
        ).results
        samples = list(read_samples(settings.output_dir / "samples.jsonl"))
        assert Counter(s.twin for s in samples) == {"": 4, "plain-jump": 2, "under-probed": 3}
    (point,) = (
        p for p in results["curves"]
        if (p["metric"], p["turn"], p["family"], p["split"]) == ("keeps", 1, "all", "all")
    )  # fmt: skip
    assert (point["num_decided"], point["num_dialogues"], point["num_instructions"]) == (2, 1, 1)


@pytest.mark.parametrize("history", ["own", "reference"])
def test_the_last_turn_of_a_given_instruction_is_judged_with_its_conversation(
    tmp_path, history
) -> None:
    told = {"text": "Call me Ada.", "family": "memory", "verifiers": [], "placement": "none"}
    messages = [
        {"role": "user", "content": "Call me Ada."},
        {"role": "assistant", "content": "Very well."},
        {"role": "user", "content": "Is it late?"},
    ]
    row = {"id": "ada", "messages": messages, "instruction": told, "turns": "last"}
    other = {
        **row,
        "id": "two",
        "messages": [*messages[:2], {"role": "user", "content": "Who am I?"}],
    }
    judge, engine = RecordingEngine(condition_of), RecordingEngine(lambda request: "It is late.")
    settings = config(
        tmp_path,
        [row, other],
        turns=(1,),
        histories=(history,),
        judge=JudgeConfig(shows_conversation=True, may_be_untriggered=True),
    )
    result = evaluate(settings, engine=lambda: engine, judge_engine=lambda: judge)
    first = next(r for r in engine.requests if r.messages[-1].content == "Is it late?")
    said = "It is late." if history == "own" else "Very well."
    assert [m.content for m in first.messages] == ["Call me Ada.", said, "Is it late?"]
    assert {(s.turn, s.cluster) for s in result.samples} == {(2, "ada")}
    for request in judge.requests:
        before = request.messages[0].content.partition("<<<USER MESSAGE")[0]
        assert before.index("| Call me Ada.\n<<<END OF EARLIER") < before.index(f"| {said}\n")
    assert sorted(s.status for s in result.samples) == ["pass", "undecided"]
    notes = " ".join(result.results["notes"])
    for fact in (
        "condition of the instruction",
        "begin with the same exchange",
        "own messages have",
    ):
        assert fact in notes
    wanted = ("keeps", "all", "all")
    points = result.results["curves"]
    (point,) = (p for p in points if (p["metric"], p["family"], p["split"]) == wanted)
    assert (point["num_decided"], point["num_undecided"]) == (1, 1)


def condition_of(request) -> str:
    verdict = "not triggered" if "Is it late?" in request.messages[0].content else "pass"
    return f'{{"reason": "so", "verdict": "{verdict}"}}'


def test_the_configuration_may_ask_for_each_last_turn(tmp_path) -> None:
    rows = [ROWS[0], {**ROWS[0], "id": "short", "user_turns": ["Why?", "So?"], "events": {}}]
    result = evaluate(
        config(tmp_path, rows, turns="last"), engine=lambda: RecordingEngine(judge_says)
    )
    assert sorted(s.turn for s in result.samples) == [2, 4]
