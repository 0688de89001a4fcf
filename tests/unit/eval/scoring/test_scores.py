"""Scores of the user's own functions: the file, the value of a reply, the verdict, the mean."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from eval.metrics.curves import GRADED, curves
from eval.metrics.intervals import Ways, crossed_interval, graded_interval
from eval.records.case_file import read_cases
from eval.scoring.scores import scores_for, with_scores
from gatt.errors import DataError
from gatt.verifiers import check_all, overall
from gatt.verifiers.spec import VerifierSpec
from tests.support.runs.case_files import tea_case, write_case_file
from tests.support.runs.fake_samples import sample

LENGTH = VerifierSpec("score", {"function": "length", "at_least": 0.4})
HALF = VerifierSpec("score", {"function": "half"})
TEA = VerifierSpec("terms", {"any_of": ["tea"]})
FUNCTIONS = {
    "length": lambda reply: len(reply) / 10,
    "half": lambda reply: np.float32(0.5),
    "broken": lambda reply: 1 / 0,
    "nan": lambda reply: float("nan"),
}


def graded(reply, *specs, **changes):
    plain = sample(arm="gatt", turn=1, dialogue="d")
    told = replace(plain.instruction, verifiers=specs)
    verdicts = check_all(specs, reply)
    rolled_out = replace(
        plain,
        instruction=told,
        reply=reply,
        verdicts=verdicts,
        status=overall(verdicts),
        **{"loose": overall(verdicts), **changes},
    )
    return with_scores([rolled_out], FUNCTIONS)[0]


@pytest.mark.parametrize(
    ("reply", "specs", "score", "status", "loose"),
    [
        ("Tea now.", (LENGTH,), 0.8, "pass", "pass"),
        ("No.", (LENGTH,), 0.3, "fail", "fail"),
        ("Tea now.", (LENGTH, HALF, TEA), 0.65, "pass", "pass"),
        ("Now or no", (LENGTH, TEA), 0.9, "fail", "fail"),
        ("No tea.", (LENGTH, VerifierSpec("judge", {"rubric": "x"})), 0.7, "undecided", "undecided"),
        ("No.", (LENGTH, VerifierSpec("judge", {"rubric": "x"})), 0.3, "fail", "fail"),
        ("Far too long a reply.", (LENGTH,), None, "undecided", "undecided"),
        ("Tea.", (VerifierSpec("score", {"function": "broken"}),), None, "undecided", "undecided"),
        ("Tea.", (VerifierSpec("score", {"function": "nan"}), HALF), None, "undecided", "undecided"),
        ("Tea.", (TEA,), None, "pass", "pass"),
        ("", (HALF,), 0.5, "fail", "fail"),
    ],
)  # fmt: skip
def test_a_reply_has_the_mean_of_its_scores_and_the_verdict_of_all(
    reply, specs, score, status, loose
) -> None:
    found = graded(reply, *specs)
    assert (found.score, found.status, found.loose) == (pytest.approx(score), status, loose)


def test_scores_become_a_curve_and_undecided_ones_are_counted_apart() -> None:
    samples = [
        replace(graded(text, LENGTH), dialogue=f"d{n}")
        for n, text in enumerate(("Tea.", "No.", "Tea now.", "Far too long a reply."))
    ]
    (point,) = (p for p in curves(samples, GRADED) if (p.split, p.family) == ("all", "all"))
    assert (point.metric, point.rate) == ("score", pytest.approx(0.5))
    assert (point.num_passed, point.num_decided, point.num_undecided) == (2, 3, 1)
    assert (point.pessimistic, point.optimistic) == (pytest.approx(1.5 / 4), pytest.approx(2.5 / 4))


def test_the_interval_of_scores_holds_their_mean_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    num_dialogues, num_turns, num_runs = 12, 4, 400
    codes = np.repeat(np.arange(num_dialogues), num_turns)
    ways = Ways(codes, np.zeros_like(codes), codes)
    held = narrower = 0
    for _ in range(num_runs):
        # Beta(4, 6) for a dialogue, with noise inside it: mean 0.4.
        scores = np.repeat(rng.beta(4, 6, num_dialogues), num_turns)
        scores = np.clip(scores + rng.uniform(-0.05, 0.05, scores.shape), 0, 1)
        low, high = graded_interval(scores, ways)
        wide = crossed_interval(scores, ways)
        held += low <= 0.4 <= high
        narrower += high - low < wide[1] - wide[0]
    assert held >= 0.93 * num_runs
    assert narrower == num_runs


def test_scores_without_spread_are_not_taken_for_certain() -> None:
    one = np.zeros(1, dtype=np.int64)
    low, high = graded_interval(np.array([0.4]), Ways(one, one, one))
    assert low < 0.1 < 0.7 < high


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("1 +", "SyntaxError"),
        ("SCORE = {}", "SCORES is NoneType"),
        ("SCORES = {}", "SCORES is dict"),
        ("SCORES = {'a': 1}", "SCORES has 'a': int"),
    ],
)
def test_a_file_without_functions_is_one_line(tmp_path, text, facts) -> None:
    path = tmp_path / "scores.py"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=rf"scores\.py: .*{facts}") as caught:
        scores_for(path, ())
    assert "\n" not in str(caught.value)
    for name in ("none.py", "scores.txt"):
        with pytest.raises(DataError, match=name):
            scores_for(tmp_path / name, ())


def test_a_file_must_have_what_the_cases_name(tmp_path) -> None:
    (tmp_path / "scores.py").write_text("SCORES = {'length': len}", encoding="utf-8")
    rules = [[{"kind": "score", "function": name}] for name in ("length", "lengths")]
    told = {"text": "x", "family": "f", "verifiers": rules[0]}
    probe = {"question": "?", "verifiers": rules[1]}
    add = {"turn": 2, "kind": "add", "text": "y", "instruction": told, "probes": [probe]}
    case = tea_case("c", switches=[add])
    cases = read_cases(write_case_file(tmp_path, [case]))
    with pytest.raises(DataError, match=r"case 'c': .*'lengths' .*'length'"):
        scores_for(tmp_path / "scores.py", cases)
    assert scores_for(None, cases) == {}
