"""Questions are answered once and kept; what stands in the file is never asked again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gatt.data.dialogue import Dialogue
from gatt.errors import GenerationError, StoreError
from gatt.generation.base import GenerationRequest, SamplingParams
from gatt.generation.scripted import ScriptedEngine
from gatt.runs.store import read_records
from gatt.sources import SourceReport, SourceRequest
from gatt.sources.answered import answered_questions
from gatt.sources.questions import make_scripts
from tests.support.runs.killed_runs import answer

REQUEST = SourceRequest(2, 2, 6, 3)
PARAMS = SamplingParams(max_new_tokens=8)


class Answers:
    """Makes the engine, and keeps count of how often it was asked to and what was asked."""

    def __init__(self, fail_at: int | None = None, silent: str = "") -> None:
        self.num_made = 0
        self.asked: list[str] = []
        self.fail_at = fail_at
        self.silent = silent

    def __call__(self) -> ScriptedEngine:
        self.num_made += 1
        return ScriptedEngine(self.reply)

    def reply(self, request: GenerationRequest) -> str:
        self.asked.append(request.key)
        if len(self.asked) - 1 == self.fail_at:
            raise GenerationError("the server went away")
        return "" if request.group == self.silent else f"Answer {len(request.messages)}."


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "dialogues.jsonl"


def run(
    path: Path, answers: Answers, request: SourceRequest = REQUEST, **changes: Any
) -> tuple[list[Dialogue], SourceReport]:
    settings: dict[str, Any] = {"part": None, "params": PARAMS, "model": "tiny", **changes}
    return answered_questions(request, engine=answers, path=path, **settings)


def test_all_scripts_are_answered_and_kept(path: Path) -> None:
    answers = Answers()
    dialogues, report = run(path, answers)
    assert {d.id for d in dialogues} == {s.id for s in make_scripts(REQUEST)}
    assert all(d.replies == ("Answer 1.", "Answer 3.") for d in dialogues)
    assert (report.source, report.num_read, report.num_kept) == ("questions", 6, 6)
    assert report.dropped == {}
    rows = list(read_records(path))
    assert [row["script"] for row in rows] == [s.id for s in make_scripts(REQUEST)]
    again = Answers()
    assert run(path, again)[0] == dialogues
    assert again.num_made == 0


def interrupted(path: Path, at: int) -> bool:
    """Answer until event `at`, and return whether it came."""
    count = 0

    def on_event() -> None:
        nonlocal count
        count += 1
        if count == at:
            raise KeyboardInterrupt

    try:
        answer(path, on_event)
    except KeyboardInterrupt:
        return True
    return False


def test_wherever_it_is_interrupted_the_outcome_is_that_of_a_run_left_alone(
    tmp_path: Path,
) -> None:
    alone = tmp_path / "alone.jsonl"
    events: list[int] = []
    dialogues, report = answer(alone, lambda: events.append(1))
    expected = alone.read_bytes()
    # Both kinds of rows are there, and replies differ by company.
    assert 0 < report.dropped["empty reply"] < len(expected.splitlines()) == 7
    states = set()
    for at in range(1, len(events) + 1):
        path = tmp_path / f"{at}.jsonl"
        assert interrupted(path, at)
        states.add(len(path.read_bytes().splitlines()))
        # Once more, a little further on, before it is left alone.
        interrupted(path, 2)
        again, report = answer(path, lambda: None)
        assert path.read_bytes() == expected, f"interrupted at event {at}"
        assert again == dialogues
        assert report.num_read == report.num_kept + report.dropped.total() == 7
    assert states == set(range(8))


def test_a_script_without_answer_is_counted_and_not_asked_again(path: Path) -> None:
    silent = make_scripts(REQUEST)[1].id
    dialogues, report = run(path, Answers(silent=silent))
    assert silent not in {d.id for d in dialogues}
    assert report.dropped == {"empty reply": 1}
    assert report.num_read == report.num_kept + report.dropped.total() == 6
    answers = Answers()
    again, report = run(path, answers)
    assert again == dialogues
    assert answers.num_made == 0
    assert report.dropped == {"no usable reply in an earlier run": 1}
    assert report.num_read == report.num_kept + report.dropped.total() == 6


@pytest.mark.parametrize(
    ("request_", "changes"),
    [
        (REQUEST, {"model": "other"}),
        (REQUEST, {"params": replace(PARAMS, temperature=0.5)}),
        (REQUEST, {"params": replace(PARAMS, seed=1)}),
        (replace(REQUEST, num=7), {}),
        (replace(REQUEST, seed=4), {}),
    ],
)
def test_answers_under_other_settings_are_refused(
    path: Path, request_: SourceRequest, changes: dict[str, object]
) -> None:
    run(path, Answers())
    kept = path.read_bytes()
    with pytest.raises(StoreError, match=r"dialogues\.jsonl: belongs to another run: fingerprint"):
        run(path, Answers(), request_, **changes)
    assert path.read_bytes() == kept
