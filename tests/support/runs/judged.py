"""Samples to be judged."""

from __future__ import annotations

from typing import Any

from eval.records.samples import Sample
from eval.scoring.judge.config import JudgeConfig
from gatt.data.instruction import Instruction, Probe
from gatt.verifiers.base import Verdict
from gatt.verifiers.spec import VerifierSpec
from tests.support.runs import fake_samples
from tests.support.runs.stages import hobby
from tests.support.servers.strict_judge import INSTRUCTION, WORD

RULE = VerifierSpec("terms", {"any_of": [WORD]})
RUBRIC = VerifierSpec("judge", {"rubric": f"The reply mentions {WORD}."})

JUDGE_ALL = JudgeConfig(kinds=("turn", "probe"))


def instruction(*verifiers: VerifierSpec, text: str = INSTRUCTION) -> Instruction:
    """Return an instruction with those verifiers; its one probe has the same."""
    probes = (Probe("What do you love?", verifiers),)
    return hobby(WORD, text=text, verifiers=verifiers, probes=probes)


def verdict(status: Any, verifier: str = "terms") -> Verdict:
    """Return a verdict."""
    return Verdict(status, f"it is a {status}", verifier, 1)


def sample(**changes: Any) -> Sample:
    """Return a sample of the base arm at turn 1 that a rule has failed, with some fields changed."""
    plain: dict[str, Any] = {
        "history": "own", "instruction": instruction(RULE), "family": "hobby", "reference": None,
        "user": "How was your weekend?", "reply": "It was quiet, thank you.", "status": "fail",
        "verdicts": (verdict("fail"),),
    }  # fmt: skip
    return fake_samples.sample(**plain | changes)
