"""Judging a run: each reply once, resumable, whatever the order; no verdict is no score."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from eval.records.samples import Sample
from eval.scoring.judge import question as question_module
from eval.scoring.judge import run as run_module
from eval.scoring.judge.config import JudgeConfig
from eval.scoring.judge.question import boundary, questions
from eval.scoring.judge.run import JUDGEMENTS_FILE, judge_samples
from gatt.errors import DataError, StoreError
from gatt.generation.base import Generation, GenerationRequest
from gatt.generation.config import EngineConfig
from tests.support.runs.judged import JUDGE_ALL, instruction, sample
from tests.support.runs.stages import RecordingEngine, write_model
from tests.support.servers.strict_judge import ECHOES, mute, strict_judge
from tests.support.texts.coaxing_replies import COAXING

CONFIG = JudgeConfig(batch_size=4)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out" / JUDGEMENTS_FILE


def replies(num: int = 10) -> list[Sample]:
    """Return samples of two arms; every third reply of an arm follows the instruction."""
    return [
        sample(
            arm=arm,
            dialogue=f"d{number}",
            turn=turn,
            reply=f"Day {number}: {'tennis' if number % 3 == 0 else 'tea'}.",
        )
        for arm in ("base", "gatt")
        for number in range(num)
        for turn in (1, 2)
    ]


def test_every_reply_is_judged_once_whatever_the_order_and_the_batches(path, tmp_path) -> None:
    samples = replies()
    engine = RecordingEngine(strict_judge)
    found = judge_samples(samples, CONFIG, path, lambda: engine)
    assert list(found) == [("adherence", key) for key in sorted(s.key for s in samples)]
    for one in samples:
        verdict = found["adherence", one.key]
        assert verdict.status == ("pass" if "tennis" in one.reply else "fail")
        assert "tennis" in verdict.evidence
    assert [len(requests) for requests, _, _ in engine.calls] == [4] * 10
    assert {(r.group, r.is_aside) for r in engine.requests} == {("judge/adherence", True)}
    before = path.read_bytes()
    again = judge_samples(samples, CONFIG, path, lambda: pytest.fail("an engine was made"))
    assert again == found
    random.Random(1).shuffle(samples)
    other = tmp_path / "other.jsonl"
    config = replace(CONFIG, batch_size=7)
    second = judge_samples(samples, config, other, lambda: RecordingEngine(strict_judge))
    assert list(second.items()) == list(found.items())
    assert other.read_bytes() == path.read_bytes() == before


@pytest.mark.parametrize("call", [1, 9])
def test_an_interrupted_run_goes_on_to_the_same_bytes(path, tmp_path, call: int) -> None:
    whole = tmp_path / "whole.jsonl"
    judge_samples(replies(), CONFIG, whole, lambda: RecordingEngine(strict_judge))
    with pytest.raises(KeyboardInterrupt):
        judge_samples(
            replies(), CONFIG, path, lambda: RecordingEngine(strict_judge, interrupt_at=call)
        )
    kept = path.read_bytes()
    assert len(kept.splitlines()) == 4 * (call - 1)
    engine = RecordingEngine(strict_judge)
    judge_samples(replies(), CONFIG, path, lambda: engine)
    assert len(engine.requests) == 40 - 4 * (call - 1)
    assert path.read_bytes() == whole.read_bytes()
    assert whole.read_bytes().startswith(kept)


def test_more_may_be_judged_into_the_same_store(path) -> None:
    narrow = replace(CONFIG, arms=("gatt",), turns=(2,))
    first = RecordingEngine(strict_judge)
    assert len(judge_samples(replies(), narrow, path, lambda: first)) == 10
    second = RecordingEngine(strict_judge)
    wide = replace(CONFIG, tasks=("adherence", "completion"))
    assert len(judge_samples(replies(), wide, path, lambda: second)) == 80
    assert len(second.requests) == 70
    again = judge_samples(replies(), narrow, path, lambda: pytest.fail("asked"))
    assert {(task, key[0], key[5]) for task, key in again} == {("adherence", "gatt", "2")}


def test_another_seed_rubric_or_other_weights_are_refused(path, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(run_module, "make_engine", lambda _: RecordingEngine(strict_judge))
    folder = write_model(tmp_path / "model")
    config = replace(CONFIG, engine=EngineConfig(model=str(folder)))
    assert len(judge_samples(replies(1), config, path)) == 4
    with pytest.raises(StoreError, match="seed 0 -> 1"):
        judge_samples(replies(1), replace(config, seed=1), path)
    write_model(folder, b"other")
    with pytest.raises(StoreError, match="model_weights"):
        judge_samples(replies(1), config, path)
    write_model(folder)
    monkeypatch.setattr(run_module, "RUBRIC_VERSION", 99)
    with pytest.raises(StoreError, match=r"rubric \d+ -> 99"):
        judge_samples(replies(1), config, path)


def test_another_reply_a_broken_line_and_a_repeated_sample_are_refused(path) -> None:
    judge_samples(replies(1), CONFIG, path, lambda: RecordingEngine(strict_judge))
    changed = [replace(s, reply=f"{s.reply} And more.") for s in replies(1)]
    with pytest.raises(StoreError, match="judged with another text"):
        judge_samples(changed, CONFIG, path, lambda: pytest.fail("asked"))
    with pytest.raises(DataError, match="arm 'base', dialogue 'd1', turn 1: the same turn twice"):
        judge_samples([sample(), sample(reply="Other.")], CONFIG, path)
    first, *rest = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text(first.replace('"fail"', '"maybe"').replace('"pass"', '"maybe"') + "".join(rest))
    with pytest.raises(DataError, match="line 1: no verdict"):
        judge_samples(replies(1), CONFIG, path, lambda: pytest.fail("asked"))


def test_a_broken_answer_to_a_hostile_sample_is_stored_with_what_was_said(path) -> None:
    hostile = sample(dialogue='a/"b\n', reply="half \ud83d of it", instruction=instruction())
    said = Generation('{"reason": "fine", "verdict": "fail"}', "length", 256)
    found = judge_samples([hostile], CONFIG, path, lambda: RecordingEngine(lambda _: said))
    (verdict,) = found.values()
    assert (verdict.status, verdict.verifier) == ("undecided", "judge")
    (row,) = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    assert (row["said"], row["finish"]) == (said.text, "length")
    assert judge_samples([hostile], CONFIG, path, lambda: pytest.fail("asked")) == found


def test_only_replies_with_text_that_the_configuration_names_are_asked_about() -> None:
    samples = [
        sample(), sample(dialogue="blank", reply=" \n"), sample(dialogue="probe", kind="probe"),
        sample(dialogue="plain", instruction=None, split="none", verdicts=()),
        sample(dialogue="late", turn=9), sample(dialogue="other", arm="gatt"),
    ]  # fmt: skip

    def asked(**changes: object) -> set[tuple[str, str]]:
        found = questions(samples, replace(CONFIG, **changes))
        return {(q.task, q.sample_key[2]) for q in found}

    assert asked() == {("adherence", d) for d in ("d1", "late", "other")}
    assert asked(arms=("base",), turns=(1,)) == {("adherence", "d1")}
    assert asked(kinds=("probe",)) == {("adherence", "probe")}
    assert asked(tasks=("completion",), kinds=("turn", "probe")) == {
        ("completion", d) for d in ("d1", "plain", "late", "other")
    }


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
    path: Path, samples: Sequence[Sample], reply: Callable[[GenerationRequest], str] = strict_judge
) -> dict[str, str]:
    found = judge_samples(
        samples, JUDGE_ALL, path / "judgements.jsonl", lambda: RecordingEngine(reply)
    )
    return {s.dialogue: found["adherence", s.key].status for s in samples}


def code_of_another(name: str) -> str:
    """Return the code of the same request with an honest reply: the best that a writer can know."""
    (question,) = questions([sample(dialogue=name, reply=HONEST)], JUDGE_ALL)
    return boundary(JUDGE_ALL.seed, question.key, (text for _, text in question.texts))


def test_no_trick_changes_the_verdict(tmp_path: Path) -> None:
    assert len(set(COAXING.values())) == 50
    honest = [sample(dialogue="yes", reply=HONEST), sample(dialogue="no", reply="I like tea.")]
    assert statuses(tmp_path / "honest", honest) == {"yes": "pass", "no": "fail"}
    assert set(statuses(tmp_path / "bad", coaxed(code_of_another)).values()) == {"fail"}
    good = coaxed(lambda _: KNOWN, f"{HONEST}\n")
    assert set(statuses(tmp_path / "good", good).values()) == {"pass"}
    # A judge that only quotes has given no verdict.
    assert set(statuses(tmp_path / "mute", coaxed(lambda _: KNOWN), mute).values()) == {"undecided"}


@pytest.mark.parametrize("style", ECHOES)
def test_no_quoted_trick_is_read_as_the_verdict(tmp_path: Path, style: str) -> None:
    assert set(statuses(tmp_path, coaxed(lambda _: KNOWN), ECHOES[style]).values()) == {"fail"}


def test_even_with_the_right_code_no_reply_breaks_the_fence(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(question_module, "boundary", lambda *_: KNOWN)
    assert "pass" not in statuses(tmp_path, coaxed(lambda _: KNOWN)).values()
    # A weaker fence is broken.
    fence = "<<<{0} {2}>>>\n{1}\n<<<END OF {0} {2}>>>".format
    monkeypatch.setattr(question_module, "fenced", fence)
    found = statuses(tmp_path / "weak", coaxed(lambda _: KNOWN))
    assert list(found.values()).count("pass") >= 20
