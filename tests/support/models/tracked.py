"""A small suite for a model in training, whose replies are junk: what has a rule fails."""

from __future__ import annotations

from pathlib import Path

from gatt.train.config import TrackConfig, TrainConfig
from tests.support.models.tiny import sample, tiny_run, write_samples
from tests.support.runs.case_files import write_suite_file

SHORT = {"kind": "words", "max": 1}


def write_suite(folder: Path, rules: list[dict[str, object] | None]) -> Path:
    """Write a suite of a case for each rule and return its file; without a rule all is undecided."""
    cases = []
    for number, rule in enumerate(rules):
        messages = []
        for turn in range(1, 4):
            messages += [
                {"role": "user", "content": f"Walk {number}, day {turn}?"},
                {"role": "assistant", "content": f"By the river {number}."},
            ]
        told = {"text": "Be brief.", "family": "format", "verifiers": [rule] if rule else []}
        cases.append({"id": f"case-{number}", "messages": messages, "instruction": told})
    head = "about: Small.\nsampling: {max_new_tokens: 2, temperature: 0.7}\nturns: [1, 2, 3]\n"
    return write_suite_file(folder, head, cases)


def tracked_config(folder: Path, model: Path, suite: Path, **changes: object) -> TrainConfig:
    """Return a run of four steps on four dialogues, tracked after every second one."""
    samples = write_samples(folder / "samples.jsonl", [sample(i, 2) for i in range(4)])
    track = TrackConfig(suite=str(suite), every_steps=2, turns=(1, 3))
    settings = {"max_steps": 4, "learning_rate": 1e-2, "track": track, "output_dir": folder / "out"}
    return tiny_run(model, samples, **settings | changes)
