"""Suites under Inspect: its own mock model, in the process and through its command line."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="needs the extra `inspect`")

from inspect_ai import eval as inspect_eval
from inspect_ai import score as inspect_score
from inspect_ai.log import EvalLog, EvalSample, read_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from eval.inspect.task import gatt_suite, verifiers
from eval.records.case import BLANK
from tests.support.runs.case_files import QUESTION, RULE
from tests.support.runs.case_files import tea_case as case
from tests.support.runs.case_files import tea_suite as suite


def environment(folder: Path) -> dict[str, str]:
    """Return what keeps Inspect's logs, traces and buffers within a folder."""
    names = ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")
    found = {name: str(folder / "home" / name.lower()) for name in names}
    for path in found.values():
        Path(path).mkdir(parents=True, exist_ok=True)
    return found | {"INSPECT_LOG_DIR": str(folder / "logs"), "INSPECT_EVAL_CTL_SERVER": "false"}


@pytest.fixture(autouse=True)
def _kept_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    root = logging.getLogger()
    handlers, level, hook = list(root.handlers), root.level, sys.excepthook
    yield
    root.handlers[:], sys.excepthook = handlers, hook
    root.setLevel(level)


class Model:
    """Answers `reply(what the user said last, number of user messages)`, and keeps what it read."""

    def __init__(self, reply: Any) -> None:
        self.reply = reply
        self.read: list[list[str]] = []

    def __call__(self, messages: Any, tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
        self.config = config
        self.read.append([f"{m.role}: {m.text}" for m in messages])
        said = self.reply(messages[-1].text, sum(m.role == "user" for m in messages))
        output = said if isinstance(said, ModelOutput) else ModelOutput.from_content("mock", said)
        # Without it the mock model counts tokens, with an encoding that it would download.
        output.usage = ModelUsage(input_tokens=1, output_tokens=2, total_tokens=3)
        return output

    def read_at(self, turn: int) -> list[str]:
        """Return the one prompt that ends with the ordinary message of a turn."""
        (found,) = [p for p in self.read if f"Question {turn} of" in p[-1]]
        return found


def run(
    model: Model, suite_file: str, folder: Path, changes: Any = None, **settings: Any
) -> EvalLog:
    task = gatt_suite(suite_file, **settings)
    mock = get_model("mockllm/model", custom_outputs=model, memoize=False)
    (log,) = inspect_eval(
        task, model=mock, log_dir=str(folder / "logs"), display="none", **changes or {}
    )
    assert log.status == "success", log.error
    return log


def rates(log: EvalLog) -> dict[str, float]:
    return {k: m.value for s in log.results.scores for k, m in s.metrics.items()}


def replies(sample: EvalSample) -> dict[tuple[str, int], dict[str, Any]]:
    (score,) = sample.scores.values()
    return {(r["kind"], r["turn"]): r for r in score.metadata["replies"]}


def once(text: str, turn: int) -> str:
    """Follow the instruction at turn 1 only, and remember it when asked."""
    return "Tea, of course." if turn == 1 or QUESTION in text else "I do not know."


def test_a_model_that_follows_once_is_measured_as_by_hand(tmp_path) -> None:
    model = Model(once)
    log = run(model, suite(tmp_path, case("a"), case("b")), tmp_path, arm="reminder")
    users = [m for m in model.read[-1] if m.startswith("user: ")]
    assert all(m.endswith(f"Reminder: {RULE}") for m in users)
    found = rates(log)
    # Two dialogues of four turns, the first of each followed: 2 of 8.
    assert found["keeps"] == 0.25
    # Wilson for 2 of 2 and 0 of 2: the bound is 1.96**2 / (2 + 1.96**2) = 0.6576 away.
    for turn, bounds in ((1, (1.0, 0.3424, 1.0)), (4, (0.0, 0.0, 0.6576))):
        names = (f"keeps_turn_{turn}{end}" for end in ("", "_low", "_high"))
        assert [found[name] for name in names] == pytest.approx(bounds, abs=1e-4)
    assert (found["survival_turn_4"], found["probe_recall"]) == (0.0, 1.0)
    assert not [name for name in found if "false_trigger" in name]
    assert {found[name] for name in found if name.endswith("_undecided")} == {0.0}


def test_the_log_shows_each_verdict_with_its_evidence_and_can_be_scored_again(tmp_path) -> None:
    suite_file = suite(tmp_path, case("a"))
    log = read_eval_log(run(Model(once), suite_file, tmp_path).location)
    (sample,) = log.samples or []
    (score,) = (sample.scores or {}).values()
    assert score.value == {"keeps": 0.25}
    told = (score.explanation or "").splitlines()
    assert [line.partition(" - ")[0] for line in told] == [
        "turn 1: pass", "turn 2: fail", "turn 3: fail", "probe at turn 3: pass", "turn 4: fail",
    ]  # fmt: skip
    first = replies(sample)["turn", 1]
    assert "Tea" in first["verdicts"][0]["evidence"]
    assert first["instruction"]["text"] == sample.target == RULE
    again = inspect_score(
        log, verifiers({"suite": suite_file, "arm": "once", "seed": 0}), display="none"
    )
    assert rates(again)["keeps"] == 0.25


def test_undecided_is_counted_and_never_a_fail(tmp_path) -> None:
    kind = {"text": "Be kind.", "family": "open", "value": "kind"}
    rubric = {"kind": "judge", "rubric": "The reply is kind."}
    cases = case("a"), case("b", instruction={**kind, "verifiers": [rubric]}, probes=[])
    log = run(Model(lambda text, turn: "Tea."), suite(tmp_path, *cases), tmp_path)
    found = rates(log)
    assert (found["keeps"], found["keeps_undecided"]) == (1.0, 4.0)
    assert (found["survival_turn_4"], found["survival_turn_4_undecided"]) == (1.0, 1.0)
    by_id = {s.id: s for s in log.samples or []}
    (score,) = (by_id["b"].scores or {}).values()
    assert isinstance(score.value, dict)
    assert str(score.value["keeps"]) == "nan"


def ended(turn: int, stop_reason: Any) -> Model:
    def reply(text: str, at: int) -> str | ModelOutput:
        told = "" if stop_reason == "unknown" else "Tea: notice of the provider."
        notice = ModelOutput.from_content("mock", told, stop_reason)
        return notice if at == turn and text != QUESTION else "Tea."

    return Model(reply)


def test_a_full_context_or_a_limit_of_inspect_leaves_the_rest_undecided(tmp_path) -> None:
    model = ended(3, "model_length")
    log = run(model, suite(tmp_path, case("a")), tmp_path)
    found = replies((log.samples or [])[0])
    statuses = [found["turn", t]["status"] for t in (1, 2, 3, 4)]
    assert statuses == ["pass", "pass", "undecided", "undecided"]
    assert found["turn", 4]["verdicts"][0]["evidence"] == "the context is full: no reply"
    assert not [p for p in model.read if "Question 4" in p[-1]]
    assert (rates(log)["keeps"], rates(log)["keeps_undecided"]) == (1.0, 2.0)
    # System message, then two exchanges: 5 messages.
    log = run(Model(lambda *_: "Tea."), suite(tmp_path, case("a")), tmp_path, {"message_limit": 5})
    limited = replies((log.samples or [])[0])
    assert [limited["turn", t]["status"] for t in (1, 2, 3, 4)] == statuses
    assert limited["turn", 4]["verdicts"][0]["evidence"].startswith("no reply: a limit of Inspect")


@pytest.mark.parametrize("stop_reason", ["content_filter", "unknown"])
def test_a_withheld_reply_is_undecided_and_the_dialogue_goes_on(tmp_path, stop_reason) -> None:
    model = ended(2, stop_reason)
    log = run(model, suite(tmp_path, case("a")), tmp_path)
    found = replies((log.samples or [])[0])
    statuses = [found["turn", t]["status"] for t in (1, 2, 3, 4)]
    assert statuses == ["pass", "undecided", "pass", "pass"]
    assert f"assistant: {BLANK}" in model.read_at(4)
    assert not any("notice" in message for message in model.read_at(4))


def test_sampling_of_the_suite_is_the_default_of_the_model(tmp_path) -> None:
    model, suite_file = Model(once), suite(tmp_path, case("a"))
    run(model, suite_file, tmp_path)
    given = model.config
    assert (given.max_tokens, given.temperature, given.top_p) == (128, 0.0, None)
    settings = {"sampling.temperature": 0.5, "turns": ["1", "2"], "probe_turns": [2]}
    log = run(model, suite_file, tmp_path, {"max_tokens": 9}, **settings)
    assert (model.config.max_tokens, model.config.temperature, model.config.top_p) == (9, 0.5, 0.95)
    assert list(replies((log.samples or [])[0])) == [("turn", 1), ("turn", 2), ("probe", 2)]


FAKE_TIKTOKEN = """
class Encoding:
    def encode(self, text, **options):
        return text.split()

def get_encoding(name):
    return Encoding()
"""


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    # The mock model counts tokens, with an encoding that it would download.
    (folder / "home").mkdir(exist_ok=True)
    (folder / "home/tiktoken.py").write_text(FAKE_TIKTOKEN, encoding="utf-8")
    paths = [str(folder / "home"), os.environ.get("PYTHONPATH", "")]
    return subprocess.run(
        [sys.executable, "-m", "inspect_ai", "eval", *words, "--model", "mockllm/model"],
        cwd=folder,
        env=os.environ | environment(folder) | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.processes
def test_the_command_line_runs_a_shipped_suite_by_name(tmp_path) -> None:
    done = command(tmp_path, "gatt/custom", "-T", "turns=1,2,3", "--display", "none")
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = (tmp_path / "logs").glob("*.eval")
    log = read_eval_log(str(path))
    assert (log.eval.task, log.status) == ("gatt/custom", "success"), log.error
    # Six words keep to "at most ten words" in all three turns; none of them is tea, or a free return.
    assert rates(log)["keeps"] == rates(log)["survival_turn_3"] == pytest.approx(1 / 3)
    assert rates(log)["answers"] == 0.0
    assert {p.name for p in tmp_path.iterdir()} == {"logs", "home"}
