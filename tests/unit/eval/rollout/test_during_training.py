"""The cases that a model in training is asked, and their counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eval.rollout.during_training import AdherenceEvaluator, make_evaluator
from gatt.data.dialogue import Dialogue, Message
from gatt.data.training_marks import TrainedOn
from gatt.errors import ConfigError, DataError
from gatt.generation.base import GenerationRequest
from gatt.generation.scripted import ScriptedEngine
from gatt.train.config import TrackConfig, TrainConfig
from gatt.train.tracking import Counts, make_train_evaluator
from tests.support.models.tracked import SHORT, write_suite

NOTHING = TrainedOn(frozenset(), frozenset())


def config(suite: Path | str, placement: Any = "system", **track: Any) -> TrainConfig:
    settings = {"turns": (1, 3), **track}
    return TrainConfig(
        samples=(Path("s.jsonl"),),
        output_dir=Path("out"),
        placement=placement,
        track=TrackConfig(suite=str(suite), **settings),
    )


def reply(request: GenerationRequest) -> str:
    """Keep the rule at turn 1, and break it at turn 3 of the second case."""
    is_second = "Walk 1" in request.messages[-1].content
    is_third_turn = "day 3" in request.messages[-1].content
    return "Yes, gladly." if is_second and is_third_turn else "Gladly."


def test_each_turn_is_counted_and_parts_add_up_to_the_whole(tmp_path: Path) -> None:
    suite = write_suite(tmp_path, [SHORT, SHORT, None])
    evaluator = make_train_evaluator(config(suite), NOTHING)
    assert isinstance(evaluator, AdherenceEvaluator)
    assert evaluator.num_cases == 3
    whole = evaluator.measure(ScriptedEngine(reply), "default", part=0, num_parts=1)
    assert whole == {1: Counts(2, 0, 1), 3: Counts(1, 1, 1)}
    parts = [
        evaluator.measure(ScriptedEngine(reply), "default", part=part, num_parts=4)
        for part in range(4)
    ]
    assert parts[3] == {}
    for turn, counts in whole.items():
        found = (p.get(turn, Counts()) for p in parts)
        assert tuple(map(sum, zip(*found, strict=True))) == counts


def test_dialogues_that_are_trained_on_are_refused(tmp_path: Path) -> None:
    suite = write_suite(tmp_path, [SHORT, SHORT])
    users = [Message("user", f"Walk 1, day {turn}?") for turn in (1, 2, 3)]
    between = Message("assistant", "Another reply.")
    same = Dialogue("d", (users[0], between, users[1], between, users[2]))
    with pytest.raises(DataError, match=r"^track\.suite: 1 of 2 .*'case-1'"):
        make_evaluator(config(suite), TrainedOn.of([same]))


@pytest.mark.parametrize(
    ("placement", "first"), [("first_user", "user"), ("system", "system"), ("mixed", "system")]
)
def test_the_instruction_stands_where_it_is_trained(tmp_path, placement, first) -> None:
    seen: list[GenerationRequest] = []
    suite = write_suite(tmp_path, [SHORT])
    evaluator = make_evaluator(config(suite, placement, turns=None, history="own"), NOTHING)
    engine = ScriptedEngine(lambda request: seen.append(request) or "Yes.")
    # The turns of the suite itself.
    assert set(evaluator.measure(engine, "default", part=0, num_parts=1)) == {1, 2, 3}
    assert seen[0].messages[0].role == first
    assert seen[0].messages[0].content.startswith("Be brief.")


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("source: {name: questions, min_turns: 3}\n", "questions"),
        ("cases: plain.jsonl\n", r"no case of '.*suite\.yaml'"),
        ("cases: open.jsonl\n", r"\d+ of \d+ replies to turns: only a judge"),
        ("nobody: 1\n", "unknown key 'nobody'"),
    ],
)
def test_a_suite_that_cannot_be_asked(tmp_path: Path, text: str, facts: str) -> None:
    (tmp_path / "suite.yaml").write_text(f"about: x.\n{text}", encoding="utf-8")
    said = [{"role": "user", "content": "Hi!"}, {"role": "assistant", "content": "Hello."}]
    told = {"text": "Be kind.", "family": "f"}
    for case in (
        {"id": "plain", "messages": said},
        {"id": "open", "messages": said * 2, "instruction": told},
    ):
        (tmp_path / f"{case['id']}.jsonl").write_text(json.dumps(case), encoding="utf-8")
    run = config(tmp_path / "suite.yaml")
    with pytest.raises(ConfigError, match=rf"^track.*{facts}"):
        make_evaluator(run, NOTHING)
