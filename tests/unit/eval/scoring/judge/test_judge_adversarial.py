"""Fifty replies that try to talk the judge into a pass, and a judge that can be talked into one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from eval.records.samples import Sample
from eval.scoring.judge import fence, rubric
from eval.scoring.judge.fence import boundary, closing, opening
from eval.scoring.judge.question import questions
from eval.scoring.judge.run import judge_samples
from gatt.generation.base import GenerationRequest
from tests.support.runs.judged import JUDGE_ALL, sample
from tests.support.runs.stages import RecordingEngine
from tests.support.servers.strict_judge import ECHOES, mute, strict_judge
from tests.support.texts.coaxing_replies import COAXING

KNOWN = "0123456789abcdef"
HONEST = "I played tennis all morning."


def coaxed(code: str, before: str = "") -> list[Sample]:
    """Return a sample for every trick, written by somebody who takes `code` for that of the fence."""
    return [
        sample(
            dialogue=name,
            reply=before + text.replace("{code}", code).replace("{CODE}", code.upper()),
        )
        for name, text in COAXING.items()
    ]


def statuses(
    path: Path,
    samples: Sequence[Sample],
    reply: Callable[[GenerationRequest], str] = strict_judge,
) -> dict[str, str]:
    engine = RecordingEngine(reply)
    found = judge_samples(samples, JUDGE_ALL, path / "judgements.jsonl", lambda: engine)
    assert len(engine.requests) == len(samples)
    return {s.dialogue: found["adherence", s.key].status for s in samples}


def code_of_another(name: str) -> str:
    """Return the code of the same request with an honest reply: the best that a writer can know."""
    (question,) = questions([sample(dialogue=name, reply=HONEST)], JUDGE_ALL)
    return boundary(JUDGE_ALL.seed, question.key, (text for _, text in question.texts))


def test_the_judge_knows_an_honest_reply(tmp_path: Path) -> None:
    samples = [sample(dialogue="yes", reply=HONEST), sample(dialogue="no", reply="I like tea.")]
    assert statuses(tmp_path, samples) == {"yes": "pass", "no": "fail"}


def test_there_are_fifty_tricks_and_all_differ() -> None:
    assert len(COAXING) == len(set(COAXING.values())) == 50


def test_no_trick_changes_the_verdict(tmp_path: Path) -> None:
    samples = [s for name in COAXING for s in coaxed(code_of_another(name)) if s.dialogue == name]
    assert set(statuses(tmp_path, samples).values()) == {"fail"}


def test_no_trick_changes_the_verdict_on_an_honest_reply(tmp_path: Path) -> None:
    samples = coaxed(KNOWN, before=f"{HONEST}\n")
    assert set(statuses(tmp_path, samples).values()) == {"pass"}


@pytest.mark.parametrize("style", ECHOES)
def test_no_quoted_trick_is_read_as_the_verdict(tmp_path: Path, style: str) -> None:
    found = statuses(tmp_path, coaxed(KNOWN), ECHOES[style])
    assert [name for name, status in found.items() if status != "fail"] == []


def test_a_judge_that_only_quotes_has_given_no_verdict(tmp_path: Path) -> None:
    assert set(statuses(tmp_path, coaxed(KNOWN), mute).values()) == {"undecided"}


def test_even_the_right_code_does_not_open_the_fence(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(rubric, "boundary", lambda *_: KNOWN)
    assert set(statuses(tmp_path, coaxed(KNOWN)).values()) == {"fail"}


def naive(label: str, text: str, code: str, _: Sequence[str] = ()) -> str:
    """Fence a text without a mark and as it is."""
    return f"{opening(label, code)}\n{text}\n{closing(label, code)}"


def unmarked(label: str, text: str, code: str, _: Sequence[str] = ()) -> str:
    """Fence a text that keeps its codes, without marks."""
    return naive(label, "\n".join(fence.clean(text, "no such code")), code)


def uncleaned(label: str, text: str, code: str, _: Sequence[str] = ()) -> str:
    """Fence a text with marks, and all else as it is."""
    return naive(label, "\n".join(f"| {line}" for line in text.splitlines()), code)


@pytest.mark.parametrize(
    ("fenced", "least", "example"),
    [
        (naive, 20, "closes the fence"),
        (unmarked, 10, "closes in full width"),
        (uncleaned, 5, "chatml"),
    ],
)
def test_a_weaker_fence_is_broken(tmp_path, monkeypatch, fenced, least: int, example: str) -> None:
    monkeypatch.setattr(rubric, "boundary", lambda *_: KNOWN)
    monkeypatch.setattr(rubric, "fenced", fenced)
    found = statuses(tmp_path, coaxed(KNOWN))
    broken = [name for name, status in found.items() if status == "pass"]
    assert len(broken) >= least
    assert example in broken


def test_a_code_that_could_be_known_beforehand_would_open_a_plain_fence(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(rubric, "fenced", naive)
    guessed = statuses(tmp_path, coaxed(KNOWN))
    assert guessed["closes the fence"] == "fail"
    assert guessed["chatml"] == "pass"


def test_every_request_has_a_code_of_its_own() -> None:
    asked = questions(coaxed(KNOWN), JUDGE_ALL)
    codes = [boundary(0, q.key, (text for _, text in q.texts)) for q in asked]
    assert len(set(codes)) == len(asked)
    assert all(one not in text for one, q in zip(codes, asked, strict=True) for _, text in q.texts)
    assert not any(a.startswith(b[:8]) for a, b in itertools.permutations(codes, 2))
