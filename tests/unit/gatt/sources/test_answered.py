"""Questions are answered once and kept; what stands in the file is never asked again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gatt.data.dialogue import Dialogue
from gatt.data.hash_split import partition
from gatt.errors import ConfigError, DataError, GenerationError, StoreError
from gatt.generation.base import GenerationRequest, SamplingParams
from gatt.generation.scripted import ScriptedEngine
from gatt.runs.store import RecordStore, read_records
from gatt.sources import SourceReport, SourceRequest
from gatt.sources import answered as module
from gatt.sources.answered import answered_questions
from gatt.sources.questions import make_scripts
from tests.support.runs.killed_answers import answer

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
    assert {row["dialogue"]["id"] for row in rows} == {d.id for d in dialogues}


def test_what_is_kept_needs_no_engine(path: Path) -> None:
    first, _ = run(path, Answers())
    answers = Answers()
    again, report = run(path, answers)
    assert again == first
    assert answers.num_made == 0
    assert (report.num_read, report.num_kept) == (6, 6)


def test_only_scripts_of_the_part_are_asked(path: Path) -> None:
    dialogues, _ = run(path, Answers(), part="eval")
    assert len(dialogues) == 6
    assert {partition(d.id) for d in dialogues} == {"eval"}


def test_an_interrupted_run_goes_on_where_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ANSWERED_AT_ONCE", 2)
    # Two scripts of two turns are four questions: the first of the second batch fails.
    with pytest.raises(GenerationError, match="the server went away"):
        run(path, Answers(fail_at=4))
    assert len(list(read_records(path))) == 2
    answers = Answers()
    dialogues, report = run(path, answers)
    assert len(answers.asked) == 8
    assert report.num_kept == len(dialogues) == 6
    rows = [row["script"] for row in read_records(path)]
    assert rows == [s.id for s in make_scripts(REQUEST)]


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


def test_no_answer_at_all(path: Path) -> None:
    request = replace(REQUEST, num=1)
    silent = make_scripts(request)[0].id
    with pytest.raises(DataError, match=r"source 'questions': no dialogue with at least 2 turns"):
        run(path, Answers(silent=silent), request)


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


def test_a_file_in_use_is_refused(path: Path) -> None:
    run(path, Answers())
    meta = json.loads(path.with_name("dialogues.jsonl.meta.json").read_text(encoding="utf-8"))
    store = RecordStore(path, fingerprint=meta["fingerprint"], kind="answered-dialogue")
    with store, pytest.raises(StoreError, match=r"dialogues\.jsonl: is in use by another process"):
        run(path, Answers())


def test_a_number_is_needed(path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^source 'questions' needs num"):
        run(path, Answers(), replace(REQUEST, num=None))
    assert not path.parent.exists()
