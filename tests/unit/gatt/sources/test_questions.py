"""Questions of the bank, which are answered once and kept; what stands in the file is never asked again."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gatt.data.dialogue import Dialogue
from gatt.data.hash_split import PARTS, partition
from gatt.errors import ConfigError, StoreError
from gatt.generation.base import Generation, GenerationRequest, SamplingParams
from gatt.generation.scripted import ScriptedEngine
from gatt.runs.store import RecordStore
from gatt.sources.base import SourceReport
from gatt.sources.config import SourceConfig
from gatt.sources.questions import (
    Script,
    answer_scripts,
    answered_questions,
    last_sentence_cut,
    make_scripts,
    question_bank,
)
from tests.support.runs.stages import RecordingEngine

PROBES = (
    "Who are you?", "What is your favorite hobby?", "What language do you speak?", "What is your name?",
    "Where do you live?", "What do you do for a living?", "How old are you?", "What are you best known for?",
    "Where are you from?", "What do you do in your free time?",
)  # fmt: skip
CONFIG = SourceConfig(name="questions", min_turns=20, max_turns=24, seed=3)


def plain(text: str) -> str:
    spelled = text.lower().replace("favourite", "favorite").replace("'s", " is")
    return " ".join(re.findall(r"[a-z]+", spelled))


def test_bank_holds_no_probe_of_the_evaluation() -> None:
    bank = question_bank()
    messages = [*bank.openers, *(m for t in bank.topics.values() for m in t)]
    probes = [plain(p) for p in PROBES]
    assert not [m for m in messages for p in probes if p in plain(m)]


def test_scripts_are_seeded_and_stay_in_their_part() -> None:
    assert make_scripts(CONFIG, 12) == make_scripts(CONFIG, 12)
    assert make_scripts(CONFIG, 12) != make_scripts(replace(CONFIG, seed=4), 12)
    assert make_scripts(CONFIG, 5) == make_scripts(CONFIG, 12)[:5]
    bank = question_bank()
    part_of = {m: partition(t) for t, said in bank.topics.items() for m in said}
    for part in PARTS:
        for script in make_scripts(CONFIG, 12, part):  # type: ignore[arg-type]
            assert partition(script.id) == part
            assert len(script.user_turns) == 24
            assert {part_of[m] for m in script.user_turns if m not in bank.openers} == {part}


def test_scripts_refuse() -> None:
    with pytest.raises(ConfigError, match=r"min_turns is 2000, .* part 'train' have \d+ messages"):
        make_scripts(replace(CONFIG, min_turns=2000, max_turns=2000), 1, "train")


def test_answers_see_the_history_and_those_without_one_are_dropped() -> None:
    ends = {
        "a": ("Two.", "stop"), "cut": ("It is fine. I would go on", "length"),
        "open": (" no full stop ", "stop"), "none": ("I would go on and on", "context_limit"),
        "empty": (" ", "stop"), "withheld": ("", "content_filter"), "full": ("", "context_limit"),
    }  # fmt: skip

    def reply(request: GenerationRequest) -> Generation:
        text, finish = ends[request.group]
        if len(request.messages) == 1 and request.group == "a":
            text = "One."
        return Generation(text, finish, 3)  # type: ignore[arg-type]

    engine = RecordingEngine(reply)
    scripts = [Script(name, ("1?", "2?") if name == "a" else ("1?",)) for name in ends]
    found = answer_scripts(engine, scripts, SamplingParams())
    assert [answer if isinstance(answer, str) else answer.replies for answer in found] == [
        ("One.", "Two."), ("It is fine.",), ("no full stop",), "context limit reached", "empty reply",
        "withheld by the server's filter", "context limit reached",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Yes! Take: 1. eggs 2.", "Yes!"),
        ('He said "stop." And then he', 'He said "stop."'),
        ("Version 3.5 is", ""),
        ("是的。我", "是的。"),
        ("Done.", "Done."),
    ],
)
def test_last_sentence(text: str, expected: str) -> None:
    assert last_sentence_cut(text) == expected


ASKED = replace(CONFIG, min_turns=2, max_turns=2, num=6)
PARAMS = SamplingParams(max_new_tokens=8)


def answering(silent: str = "") -> ScriptedEngine:
    """Return an engine that answers all scripts but one."""
    return ScriptedEngine(lambda r: "" if r.group == silent else f"Answer {len(r.messages)}.")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "dialogues.jsonl"


def run(
    path: Path, engine: Callable[[], Any] = answering, config: SourceConfig = ASKED, **changes: Any
) -> tuple[list[Dialogue], SourceReport]:
    settings: dict[str, Any] = {"part": None, "num": 9, "params": PARAMS, "model": "tiny"}
    return answered_questions(config, engine=engine, path=path, **settings | changes)


class CompanyEngine:
    """Its replies hang on all that is asked together and was asked since it forgot, as rounding may."""

    def __init__(self, on_event: Callable[[], object]) -> None:
        self.on_event = on_event
        self.forget()

    def forget(self) -> None:
        self._heard = ""

    def generate(self, requests, params, adapter=None) -> list[Generation]:
        """Return replies that no other company gives; one of each call is empty."""
        self.on_event()
        heard = f"{self._heard}{[(r.key, r.messages[-1].content) for r in requests]}"
        self._heard = hashlib.sha256(heard.encode()).hexdigest()
        silent = int(self._heard, 16) % (3 * len(requests))
        said = (f"{r.key} {self._heard[:12]}." for r in requests)
        return [Generation("" if n == silent else text, "stop", 3) for n, text in enumerate(said)]


def answer(path: Path, on_event: Callable[[], object]) -> tuple[list[Dialogue], SourceReport]:
    """Answer the questions with an engine that has heard nothing yet; three scripts move together.

    An event is a call of the engine before it answers, and a row before and after it is written.
    """
    append = RecordStore.append

    def observed(store: RecordStore, record: Any) -> None:
        on_event()
        append(store, record)
        on_event()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RecordStore, "append", observed)
        patch.setattr("gatt.sources.questions.ANSWERED_AT_ONCE", 3)
        engine = CompanyEngine(on_event)
        config = replace(ASKED, num=None)
        return answered_questions(config, None, 7, lambda: engine, PARAMS, path, "tiny")


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


def test_wherever_it_is_interrupted_the_outcome_is_that_of_a_run_left_alone(tmp_path: Path) -> None:
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
    silent = make_scripts(ASKED, 6)[1].id
    dialogues, report = run(path, lambda: answering(silent))
    assert silent not in {d.id for d in dialogues}
    assert report.dropped == {"empty reply": 1}
    assert report.num_read == report.num_kept + report.dropped.total() == 6
    again, report = run(path, lambda: pytest.fail("an engine was made"))
    assert again == dialogues
    assert report.dropped == {"no usable reply in an earlier run": 1}
    assert report.num_read == report.num_kept + report.dropped.total() == 6


@pytest.mark.parametrize(
    ("config", "changes"),
    [
        (ASKED, {"model": "other"}),
        (ASKED, {"params": replace(PARAMS, seed=1)}),
        (replace(ASKED, num=7), {}),
    ],
)
def test_answers_under_other_settings_are_refused(path, config, changes) -> None:
    run(path)
    kept = path.read_bytes()
    with pytest.raises(StoreError, match=r"dialogues\.jsonl: belongs to another run: fingerprint"):
        run(path, config=config, **changes)
    assert path.read_bytes() == kept
