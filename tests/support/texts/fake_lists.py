"""The lists of `results.json` beside the curves, and what their samples hold, as a full run has them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

from eval.records.samples import Sample
from gatt.verifiers.base import Verdict

WHERE = {"history": "reference", "split": "train", "family": "all"}
BESIDE = {"base": 0.02, "gatt": 0.75, "base+system+reminder": 0.85}


def fake_lists() -> dict[str, Any]:
    """Return every optional list of a `results.json`."""
    return {
        "differences": [
            difference(arm, metric, turn, BESIDE[arm] - 0.02 * turn / 4)
            for arm, metric, turn in product(
                ("gatt", "base+system+reminder"), ("keeps", "probe_recall"), (1, 2, 4, 8, 20)
            )
        ],
        "agreement": [agreement("gatt"), agreement("base")],
        "limits": [
            {
                "arm": arm, "history": "reference", "num_cases": 16, "num_cases_cut": cut,
                "first_turn": 18 if cut else None, "num_replies_without": 2 * cut,
            }
            for arm, cut in (("base", 0), ("gatt", 3))
        ],
        "training": [training("gatt", {"sampled": 90, "hinted": 10})],
        "false_triggers": {
            "num_entries": 40, "num_left_out": 2, "left_out": ["format.no-digits", "format.short"],
            "num_ordinary_replies": 120,
        },
    }  # fmt: skip


def training(arm: str, kinds: dict[str, int]) -> dict[str, Any]:
    return {
        "arm": arm, "objective": "targets", "num_steps": 40, "seconds": 3725.4, "hardware": "2 cores",
        "num_supervised_tokens": 7166, "num_tokens": 8955, "num_samples": 20, "num_used": 19,
        "kinds": kinds, "loss": [[2, 2.834], [4, 2.4669], [6, 1.125]],
    }  # fmt: skip


def difference(arm: str, metric: str, turn: int, value: float) -> dict[str, Any]:
    return {
        "arm": arm, "baseline": "base", "metric": metric, "history": "reference", "split": "train",
        "turn": turn, "difference": value, "low": value - 0.3, "high": min(1.0, value + 0.2),
        "num_dialogues": 12, "num_pairs": 12, "p_value": 0.0004 * turn,
    }  # fmt: skip


def agreement(arm: str) -> dict[str, Any]:
    return {
        "arm": arm, "history": "reference", "metric": "keeps", "num_both": 80, "num_missing": 3,
        "agreement": 0.9, "kappa": 0.78,
        "both_pass": 38, "both_fail": 34, "only_rules": 2, "only_judge": 6,
    }  # fmt: skip


def with_extras(samples: list[Sample]) -> list[Sample]:
    """Return the samples with events, leniency, task completion and a judge that differs at times."""
    return [_with_extras(sample, number) for number, sample in enumerate(samples)]


def _with_extras(sample: Sample, number: int) -> Sample:
    if sample.instruction is None or sample.kind == "probe":
        return sample
    # The user does the same to all arms.
    is_eventful = int(sample.dialogue[-4:]) % 3 == 1
    event = {4: "topic_jump", 8: "cancel"}.get(sample.turn) if is_eventful else None
    status = "undecided" if number % 17 == 0 else sample.status
    if number % 7 == 0:
        status = "fail" if sample.status == "pass" else "pass"
    answers = "fail" if number % 9 == 0 else "pass"
    return replace(
        sample,
        event=event,
        expected="released" if event == "cancel" else "kept",
        loose="pass" if number % 11 == 0 else sample.status,
        answer=Verdict(answers, "says 8", "answers", 1),
        judge=Verdict(status, "it keeps the role", "judge", 1),
    )
