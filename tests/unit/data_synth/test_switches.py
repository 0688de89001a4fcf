"""`gatt synth` with changes of the instruction: what the teacher reads, what judges, what is kept."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from data_synth.config import SynthConfig
from data_synth.pipeline import run_synth
from gatt.data.catalog.switch_draw import SwitchConfig
from gatt.data.sample import GattSample, read_samples
from tests.support.runs.stages import RecordingEngine
from tests.support.runs.synth_runs import make

SWITCH = SwitchConfig(replace=0.4, cancel=0.4)


@pytest.fixture
def config(config: SynthConfig) -> SynthConfig:
    return replace(config, switch=SWITCH)


def samples(config: SynthConfig) -> list[GattSample]:
    return list(read_samples(config.output_dir / "samples.jsonl"))


def test_the_teacher_reads_what_is_in_force_and_no_announcement(config) -> None:
    _, engine = make(config)
    made = {sample.id: sample for sample in samples(config)}
    kinds = Counter(switch.kind for s in made.values() for switch in s.switches or ())
    assert set(kinds) == {"replace", "cancel"}
    for request in engine.requests:
        name, turn, _ = request.key.split("/")
        sample = made[name]
        users = [m.content for m in request.messages if m.role == "user"]
        assert len(users) == int(turn)
        own = sample.dialogue.user_turns
        for number, (user, words) in enumerate(zip(users, own, strict=False), start=1):
            held = sample.instruction_at(number)
            told = f"{held.text} {config.teacher.brief}" if held else str(config.teacher.brief)
            assert user.startswith(f"{told}\n\n{words}")
        assert not any(s.text in str(users) for s in sample.switches or ())


def test_each_target_is_judged_by_what_is_in_force(config) -> None:
    said = ("I play it on Sunday: tennis.", "Our tennis coach is ill.", "Rain has stopped tennis.")
    engine = RecordingEngine(lambda request: said[int(request.key.split("/")[1]) - 1])
    run_synth(config, lambda: engine)
    seen = Counter()
    for sample in samples(config):
        for target in sample.targets:
            held = sample.instruction_at(target.turn)
            assert len(target.verdicts) == (held is not None)
            old = f"no more {sample.instruction.id}" if sample.instruction else "none"
            seen[held.id if held else old, target.reply is not None] += 1
    # What was tennis must not go on, what was gardening may turn to tennis.
    passed = ("hobby.tennis", "no more hobby.gardening", "none")
    refused = ("hobby.gardening", "no more hobby.tennis")
    assert {key: seen[key, False] for key in passed} == dict.fromkeys(passed, 0)
    assert {key: seen[key, True] for key in refused} == dict.fromkeys(refused, 0)
    assert min(seen[key, key in passed] for key in (*passed, *refused)) > 0


def test_a_target_that_follows_what_was_taken_back_is_refused(config) -> None:
    """Fits the verifiers of no instruction, yet would teach to go on after a cancellation."""
    said = ("Tennis and gardening.", "Our tennis coach likes gardening.", "Gardening, then tennis.")
    engine = RecordingEngine(lambda request: said[int(request.key.split("/")[1]) - 1])
    run_synth(replace(config, switch=SwitchConfig(replace=0.5, cancel=0.5)), lambda: engine)
    changed = [s for s in samples(config) if s.switches]
    assert {s.switches[0].kind for s in changed} == {"replace", "cancel"}
    for sample in changed:
        (switch,) = sample.switches
        for target in sample.targets:
            is_late = target.turn >= switch.turn
            assert target.reason == ("leaks" if is_late else None)
            assert set(target.refused) == ({"leaks"} if is_late else set())


def test_instructions_and_dialogues_are_those_of_the_run_without_changes(config, tmp_path) -> None:
    plain = replace(config, output_dir=tmp_path / "plain", switch=None)
    make(config)
    make(plain)
    ours, theirs = samples(config), samples(plain)
    assert [(s.dialogue, s.instruction) for s in ours] == [
        (s.dialogue, s.instruction) for s in theirs
    ]
    assert all(s.switches is None for s in theirs)
    assert all((s.switches == ()) for s in ours if s.instruction is None)
    assert b"switches" not in (plain.output_dir / "samples.jsonl").read_bytes()
