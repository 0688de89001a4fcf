"""Cases whose instruction changes: what each arm reads, and a run from configuration to report."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eval.config import EvalConfig
from eval.report.charts.curves import save_main_chart
from eval.report.data.selection import Curves
from eval.report.data.transcripts import Transcripts
from eval.report.tables.written import markdown_tables
from eval.rollout.roll_out import roll_out
from eval.run import evaluate
from eval.scoring.verdict import judge_by_rules
from gatt.config.load import load_config
from gatt.errors import StoreError
from tests.support.runs.stages import RecordingEngine, dialogue, write_dialogues, write_model
from tests.support.runs.switched import cancel, case, config, judged, to


def users(engine: RecordingEngine, key: str) -> list[str]:
    request = next(r for r in engine.requests if r.key == key)
    return [f"{m.role}: {m.content}" for m in request.messages if m.role != "assistant"]


U = dialogue(1, 5).user_turns


@pytest.mark.parametrize("history", ["own", "reference"])
def test_an_arm_reads_each_instruction_where_it_was_given(history) -> None:
    engine = RecordingEngine(lambda request: "fine")
    one = case(to("chess", 3), cancel(5, "system"))
    list(roll_out(engine, [one], "base", history, config()))
    assert users(engine, "c/5/turn") == [
        "system: You enjoy tennis.", f"user: {U[0]}", f"user: {U[1]}",
        f"user: Now instead: You enjoy chess.\n\n{U[2]}", f"user: {U[3]}",
        "system: No more of that.", f"user: {U[4]}",
    ]  # fmt: skip
    assert users(engine, "c/2/turn")[-1] == f"user: {U[1]}"


TENNIS_TOLD, CHESS_TOLD = "You enjoy tennis.", "You enjoy chess."
AT_3 = f"user: Now instead: {CHESS_TOLD}\n\n{U[2]}"
AT_5 = f"user: No more of that.\n\n{U[4]}"


@pytest.mark.parametrize(
    ("arm", "turn", "messages"),
    [
        # What is in force stands behind every message.
        ("base+system+reminder", 5, [
            f"system: {TENNIS_TOLD}", f"user: {U[0]}\n\nReminder: {TENNIS_TOLD}",
            f"user: {U[1]}\n\nReminder: {TENNIS_TOLD}", f"{AT_3}\n\nReminder: {CHESS_TOLD}",
            f"user: {U[3]}\n\nReminder: {CHESS_TOLD}", AT_5,
        ]),
        # A change that has left the window is in its instruction; one inside it is announced.
        ("window_1", 5, [f"system: {CHESS_TOLD}", f"user: {U[3]}", AT_5]),
        ("window_2", 4, [f"system: {TENNIS_TOLD}", f"user: {U[1]}", AT_3, f"user: {U[3]}"]),
        ("window_9", 3, [f"system: {TENNIS_TOLD}", f"user: {U[0]}", f"user: {U[1]}", AT_3]),
        ("alone", 2, [f"system: {TENNIS_TOLD}", f"user: {U[1]}"]),
        ("alone", 4, [f"system: {CHESS_TOLD}", f"user: {U[3]}"]),
    ],
)  # fmt: skip
def test_every_arm_reads_what_is_in_force(arm, turn, messages) -> None:
    engine = RecordingEngine(lambda request: "fine")
    one = case(to("chess", 3), cancel(5))
    list(roll_out(engine, [one], arm, "reference", config()))
    assert users(engine, f"c/{turn}/turn") == messages
    # After the release an arm without history has nothing to be judged by.
    assert (arm == "alone") == all(not r.key.startswith("c/5") for r in engine.requests)


def test_probes_ask_for_what_is_in_force_or_was_taken_back() -> None:
    engine = RecordingEngine(lambda request: "I love chess.")
    one = case(to("chess", 3), cancel(5))
    steps = list(roll_out(engine, [one], "base", "reference", config()))
    probes = {r.turn: r for step in steps for r in step if r.kind == "probe"}
    assert {t: r.user for t, r in probes.items()} == {
        2: "Do you like tennis?", 3: "Do you like chess?", 5: "Do you like chess?",
    }  # fmt: skip
    found = {t: judge_by_rules(r, "base", "own", ()) for t, r in probes.items()}
    assert [(s.status, s.instruction.id, s.leak, s.expected) for s in found.values()] == [
        ("fail", "hobby.tennis", None, "kept"), ("pass", "hobby.chess", None, "kept"),
        ("fail", "hobby.chess", "pass", "released"),
    ]  # fmt: skip


def test_the_transcript_shows_the_words_that_change_the_instruction() -> None:
    turns = [judged(case(cancel(3)), turn, "Rain.") for turn in (2, 3)]
    ((_, (before, at)),) = Transcripts(["base"], turns).as_dict()["cases"][0]["arms"]
    assert "a" not in before
    assert at["a"] == "No more of that."
    assert at["u"] == U[2]
    # A rating of the reply holds what is in force.
    assert "i" not in before
    assert at["i"] == ""
    replaced = case(to("chess", 3))
    turns = [judged(replaced, turn, "Rain.") for turn in (2, 3)]
    ((_, (_, at)),) = Transcripts(["base"], turns).as_dict()["cases"][0]["arms"]
    assert at["i"] == replaced.held_at(3).text


def test_a_run_from_configuration_to_report(tmp_path, monkeypatch) -> None:
    path = write_dialogues(tmp_path / "d.jsonl", 6, 6)
    given = [
        f"output_dir={tmp_path / 'out'}", "source.name=jsonl", f"source.path={path}",
        "source.min_turns=6", "source.max_turns=6", "part=null", "splits=[train]", "num_dialogues=6",
        "instructions.families=[language]", "turns=[1,2,3,4,6]", "probe_turns=[4]", "histories=[own]",
        "switch.replace=0.5", "switch.cancel=0.5", "switch.min_turn=3", "switch.max_turn=3",
        f"engine.model={write_model(tmp_path / 'model')}",
    ]  # fmt: skip
    settings = load_config(EvalConfig, None, given)
    engine = RecordingEngine(lambda request: f"I like it, {request.key}.")
    result = evaluate(settings, lambda: engine).results
    found = {p["metric"] for p in result["curves"]}
    assert {"keeps_since_switch", "leakage"} <= found
    own = {p["turn"]: p for p in result["curves"] if p["metric"] == "vacuous_leakage"}
    assert {p["num_passed"] for p in own.values()} == {0}
    assert own[0]["arm"] == "dialogue"
    turns = {p["turn"] for p in result["curves"] if p["metric"] == "leakage"}
    assert turns == {0, 1, 3}
    (note,) = [n for n in result["notes"] if "the instruction changes at turn 3" in n]
    assert note.startswith("In 6 of 6 cases")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Leakage of the old instruction" in page
    assert "3 later" in page
    for metric in ("keeps_since_switch", "leakage"):
        save_main_chart(tmp_path / f"{metric}.svg", Curves.of(result), metric)
        assert "turns since" in (tmp_path / f"{metric}.svg").read_text(encoding="utf-8")
    table = markdown_tables(result)
    assert "| arm | at it | 1 later | 3 later | half-life |" in table
    # A second call has nothing to ask: the changes are drawn alike.
    again = RecordingEngine(lambda request: "never asked")
    assert evaluate(settings, lambda: again).num_new == 0
    # Judged again it says the same, answers to probes of what was taken back included.
    assert "probe_leakage" in found
    judged_again = replace(
        settings, output_dir=tmp_path / "again", replies_from=settings.output_dir
    )
    assert evaluate(judged_again, lambda: again).results["curves"] == result["curves"]
    # What was counted as a leak by other rules must not stand beside it.
    monkeypatch.setattr("eval.run.LEAKS_VERSION", -1)
    with pytest.raises(StoreError, match="leaks"):
        evaluate(settings, lambda: again)
