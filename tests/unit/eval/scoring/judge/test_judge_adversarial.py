"""Fifty replies that try to talk the judge into a pass, and a judge that can be talked into one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from eval.records.samples import Sample
from eval.scoring.judge import question as question_module
from eval.scoring.judge.fence import boundary
from eval.scoring.judge.question import questions
from eval.scoring.judge.run import judge_samples
from gatt.generation.base import GenerationRequest
from tests.support.runs.judged import JUDGE_ALL, sample
from tests.support.runs.stages import RecordingEngine
from tests.support.servers.strict_judge import ECHOES, mute, strict_judge
from tests.support.texts.coaxing_replies import COAXING

KNOWN = "0123456789abcdef"
HONEST = "I played tennis all morning."


def coaxed(code: Callable[[str], str], before: str = "") -> list[Sample]:
    """Return a sample for every trick, written by somebody who takes `code` for that of the fence."""
    return [
        sample(
            dialogue=name,
            reply=before + text.replace("{code}", code(name)).replace("{CODE}", code(name).upper()),
        )
        for name, text in COAXING.items()
    ]


def statuses(
    path: Path,
    samples: Sequence[Sample],
    reply: Callable[[GenerationRequest], str] = strict_judge,
) -> dict[str, str]:
    found = judge_samples(
        samples, JUDGE_ALL, path / "judgements.jsonl", lambda: RecordingEngine(reply)
    )
    return {s.dialogue: found["adherence", s.key].status for s in samples}


def known(_: str) -> str:
    return KNOWN


def code_of_another(name: str) -> str:
    """Return the code of the same request with an honest reply: the best that a writer can know."""
    (question,) = questions([sample(dialogue=name, reply=HONEST)], JUDGE_ALL)
    return boundary(JUDGE_ALL.seed, question.key, (text for _, text in question.texts))


def test_no_trick_changes_the_verdict(tmp_path: Path) -> None:
    assert len(set(COAXING.values())) == 50
    honest = [sample(dialogue="yes", reply=HONEST), sample(dialogue="no", reply="I like tea.")]
    assert statuses(tmp_path / "honest", honest) == {"yes": "pass", "no": "fail"}
    assert set(statuses(tmp_path / "bad", coaxed(code_of_another)).values()) == {"fail"}
    assert set(statuses(tmp_path / "good", coaxed(known, f"{HONEST}\n")).values()) == {"pass"}


@pytest.mark.parametrize("style", ECHOES)
def test_no_quoted_trick_is_read_as_the_verdict(tmp_path: Path, style: str) -> None:
    assert set(statuses(tmp_path, coaxed(known), ECHOES[style]).values()) == {"fail"}


def test_a_judge_that_only_quotes_has_given_no_verdict(tmp_path: Path) -> None:
    assert set(statuses(tmp_path, coaxed(known), mute).values()) == {"undecided"}


def naive(label: str, text: str, code: str, _: Sequence[str] = ()) -> str:
    """Fence a text without a mark and as it is."""
    return f"<<<{label} {code}>>>\n{text}\n<<<END OF {label} {code}>>>"


@pytest.mark.parametrize(
    ("fenced", "least", "example"),
    [
        (naive, 20, "closes the fence"),
        (None, 0, None),
    ],
)
def test_with_the_right_code_only_a_weaker_fence_is_broken(
    tmp_path, monkeypatch, fenced, least, example
) -> None:
    monkeypatch.setattr(question_module, "boundary", lambda *_: KNOWN)
    if fenced:
        monkeypatch.setattr(question_module, "fenced", fenced)
    found = statuses(tmp_path, coaxed(known))
    broken = [name for name, status in found.items() if status == "pass"]
    assert len(broken) >= least
    assert example in broken if example else not broken
