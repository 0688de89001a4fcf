"""Suites for Inspect, up to Inspect itself: settings, verdicts and rates."""

from __future__ import annotations

import json
import math
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from eval.inspect import suite as inspect_suite
from eval.inspect.suite import as_metadata, case_values, from_metadata, judged, prepared, rates_of
from eval.metrics.statistics.clustered import clustered_interval
from eval.records.samples import Sample
from gatt.data.dialogue import Message
from gatt.errors import ConfigError

TEA = {"kind": "terms", "any_of": ["tea"]}
QUESTION = "What do you sell?"


def case(name: str, **changes: Any) -> dict[str, Any]:
    return {
        "id": name,
        "user_turns": [f"Question {turn} of {name}?" for turn in range(1, 5)],
        "instruction": {
            "text": "Mention tea.",
            "family": "tea",
            "value": "tea",
            "verifiers": [TEA],
        },
        "probes": [{"question": QUESTION, "verifiers": [TEA]}],
    } | changes


def suite(folder: Path, *cases: dict[str, Any]) -> str:
    lines = "".join(json.dumps(one) + "\n" for one in cases)
    (folder / "cases.jsonl").write_text(lines, encoding="utf-8")
    path = folder / "tea.yaml"
    path.write_text("cases: cases.jsonl\nturns: [1, 2, 3, 4]\nprobe_turns: [3]\n", encoding="utf-8")
    return str(path)


def run_of(folder: Path, *cases: dict[str, Any], **settings: Any) -> inspect_suite.Prepared:
    return prepared({"suite": suite(folder, *cases), "arm": "once"} | settings, is_new=True)


def said(*texts: str, finish: str = "stop", probe: str | None = "Tea.") -> list[dict[str, Any]]:
    """Return the replies to turns from 1 on, the last with its finish, and to the probe at turn 3."""
    rows = [
        {
            "turn": turn,
            "kind": "turn",
            "user": f"{turn}?",
            "text": text,
            "finish": "stop",
            "num_tokens": 3,
        }
        for turn, text in enumerate(texts, start=1)
    ]
    rows[-1]["finish"] = finish
    if probe is not None and len(texts) > 2:
        asked = {"turn": 3, "kind": "probe", "user": QUESTION, "text": probe}
        rows.insert(2, asked | {"finish": "stop", "num_tokens": 3})
    return rows


def statuses(samples: list[Sample]) -> list[tuple[int, str, str]]:
    return [(s.turn, s.kind, s.status) for s in samples]


def test_a_case_followed_once_is_counted_as_by_hand(tmp_path) -> None:
    run = run_of(tmp_path, case("a"), case("b"))
    both = [judged(run, one, said("Tea.", "No.", "No.", "No.")) for one in run.cases.values()]
    assert statuses(both[0]) == [
        (1, "turn", "pass"), (2, "turn", "fail"), (3, "turn", "fail"), (3, "probe", "pass"),
        (4, "turn", "fail"),
    ]  # fmt: skip
    assert case_values(run, both[0]) == {
        "adherence": 0.25, "adherence_last_turn": 0.0, "survival": 0.0, "probe_recall": 1.0,
    }  # fmt: skip
    found = rates_of(both)
    low, high = clustered_interval([(1, 4), (1, 4)])
    assert (found["adherence"], found["adherence_low"], found["adherence_high"]) == (
        0.25,
        low,
        high,
    )
    # Wilson for 2 of 2 and 0 of 2: the bound is 1.96**2 / (2 + 1.96**2) = 0.6576 away.
    assert (found["adherence_turn_1"], found["adherence_turn_4"]) == (1.0, 0.0)
    assert found["adherence_turn_1_low"] == pytest.approx(0.3424, abs=1e-4)
    assert found["adherence_last_turn_high"] == pytest.approx(0.6576, abs=1e-4)
    assert found["probe_recall"] == 1.0
    assert not [name for name in found if "false_trigger" in name]
    assert {found[name] for name in found if name.endswith("_undecided")} == {0.0}


def test_the_same_case_rolled_out_again_is_another_roll_out(tmp_path) -> None:
    run = run_of(tmp_path, case("a"))
    (one,) = run.cases.values()
    found = rates_of([judged(run, one, said(*[text] * 4)) for text in ("Tea.", "No.")])
    assert (found["adherence"], found["survival"]) == (0.5, 0.5)


def test_the_last_turn_is_each_cases_own(tmp_path) -> None:
    short = {"user_turns": ["Question 1 of b?", "Question 2 of b?"], "probes": []}
    run = run_of(tmp_path, case("a"), case("b", **short))
    a, b = run.cases.values()
    both = [judged(run, a, said(*["No."] * 4)), judged(run, b, said("Tea.", "Tea."))]
    assert rates_of(both)["adherence_last_turn"] == rates_of(both)["survival"] == 0.5
    assert [case_values(run, s)["adherence_last_turn"] for s in both] == [0.0, 1.0]


def test_a_probe_that_did_not_fit_is_not_the_end_of_the_context(tmp_path) -> None:
    run = run_of(tmp_path, case("a"))
    (one,) = run.cases.values()
    heard = said("Tea.", "Tea.", "Tea.")[:3]
    heard[-1] |= {"text": "", "finish": "context_limit"}
    samples = {(s.turn, s.kind): s.verdicts[0].evidence for s in judged(run, one, heard)}
    assert samples[3, "probe"] == "the context is full: no reply"
    assert samples[4, "turn"] == "no reply: a limit of Inspect ended the sample before"


def test_what_no_verifier_decides_is_neither_a_fail_nor_a_zero(tmp_path) -> None:
    rule = {"text": "Be kind.", "family": "open", "value": "kind", "verifiers": []}
    run = run_of(tmp_path, case("a"), case("b", instruction=rule, probes=[]))
    a, b = (judged(run, one, said("Tea.", "Tea.", "Tea.", "Tea.")) for one in run.cases.values())
    found = rates_of([a, b])
    assert (found["adherence"], found["adherence_undecided"]) == (1.0, 4.0)
    assert (found["survival"], found["survival_undecided"]) == (1.0, 1.0)
    assert all(math.isnan(value) for value in case_values(run, b).values())
    assert not {"adherence", "adherence_low", "probe_recall"} & set(rates_of([b]))


@pytest.mark.parametrize(
    ("finish", "why"),
    [
        ("context_limit", "the context is full: no reply"),
        ("stop", "no reply: a limit of Inspect ended the sample before"),
    ],
)
def test_turns_that_were_never_answered_are_undecided(tmp_path, finish, why) -> None:
    run = run_of(tmp_path, case("a"))
    (one,) = run.cases.values()
    samples = judged(run, one, said("Tea.", "" if finish != "stop" else "Tea.", finish=finish))
    assert [s.status for s in samples][2:] == ["undecided"] * 3
    assert [(s.turn, s.kind, s.user) for s in samples][2:] == [
        (3, "turn", "Question 3 of a?"), (3, "probe", QUESTION), (4, "turn", "Question 4 of a?"),
    ]  # fmt: skip
    assert {s.verdicts[0].evidence for s in samples[2:]} == {why}
    assert rates_of([samples])["adherence"] == 1.0


def test_a_released_instruction_is_judged_but_not_counted(tmp_path) -> None:
    drop = {"3": {"kind": "asks_to_drop", "expect": "released"}}
    run = run_of(tmp_path, case("a", events=drop))
    (one,) = run.cases.values()
    samples = judged(run, one, said("Tea.", "Tea.", "Tea.", "Ships.", probe=None))
    assert [s.status for s in samples] == ["pass", "pass", "fail", "pass"]
    assert rates_of([samples])["adherence"] == rates_of([samples])["adherence_last_turn"] == 1.0


def test_samples_come_back_from_the_metadata_of_a_score(tmp_path) -> None:
    # At turn 2 another rule holds as well: its instruction is not the case's.
    event = {"2": {"kind": "format_change", "verifiers": [{"kind": "words", "max": 3}]}}
    run = run_of(tmp_path, case("a", events=event))
    (one,) = run.cases.values()
    samples = judged(run, one, said("Tea.", "Tea it is, of course.", "Tea.", "No."))
    metadata = json.loads(json.dumps(as_metadata(samples)))
    assert from_metadata(metadata) == samples
    assert [("instruction" in row) for row in metadata["replies"]] == [False, True, *[False] * 3]
    assert as_metadata([]) == {"replies": []}
    assert from_metadata({}) == []


@pytest.mark.parametrize(("arm", "times"), [("once", 1), ("reminder", 2)])
def test_the_prompt_is_the_arms_view_of_the_own_history(tmp_path, arm, times) -> None:
    run = run_of(tmp_path, case("a"), arm=arm)
    (one,) = run.cases.values()
    history = (Message("user", "Question 1 of a?"), Message("assistant", "Said."))
    prompt = run.prompt(one, history, QUESTION)
    assert sum("Mention tea." in m.content for m in prompt) == times
    assert prompt[-1].content.endswith(QUESTION)
    assert prompt[0].role == ("system" if arm == "once" else "user")


def test_a_changed_file_is_read_again_for_a_new_task(tmp_path) -> None:
    first = run_of(tmp_path, case("a"))
    settings = {"suite": suite(tmp_path, case("b")), "arm": "once"}
    assert prepared(settings) is first
    assert list(prepared(settings, is_new=True).cases) == ["b"]


def test_a_list_of_numbers_may_come_as_texts(tmp_path) -> None:
    run = run_of(tmp_path, case("a"), turns=["1", "2"], num_dialogues=3, **{"sampling.top_p": 0.5})
    assert (run.config.turns, run.config.num_dialogues) == ((1, 2), 3)
    assert run.config.sampling.top_p == 0.5
    assert (run.config.histories, run.config.arms) == (("own",), ("base",))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"suite": "behavior"}, r"^no suite 'behavior', did you mean 'behaviour'\? \(shipped: .*$"),
        ({"arm": "base"}, "^arm is 'base': expected one of once, reminder$"),
        ({"engine.model": "x"}, r"^'engine\.model' cannot be set under Inspect, .*$"),
        ({"turn": [1]}, r"unknown key 'turn', did you mean 'turns'\?$"),
        ({"turns": [2, 1]}, r"turns is \[2, 1\]: expected rising turns from 1 on"),
        (
            {"suite": "none", "source": {"name": "questions"}},
            "^source.name is 'questions': no model",
        ),
    ],
)
def test_what_cannot_be_used_is_one_line(settings, message) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        prepared({"suite": "behaviour", "arm": "once"} | settings)
    assert "\n" not in str(caught.value)


def test_without_inspect_the_import_says_what_to_install(monkeypatch) -> None:
    path = Path(inspect_suite.__file__).with_name("task.py")
    spec = spec_from_file_location("without_inspect", path)
    assert spec is not None
    assert spec.loader is not None
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    with pytest.raises(
        ImportError, match=r"needs Inspect, found none: pip install 'ghost-att.*\[inspect\]'"
    ):
        spec.loader.exec_module(module_from_spec(spec))
