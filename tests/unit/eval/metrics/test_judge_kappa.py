"""Cohen's kappa against arithmetic by hand, and its interval against a simulation."""

from __future__ import annotations

import numpy as np
import pytest

from eval.metrics.agreement import Table, cohen_kappa, kappa_interval


@pytest.mark.parametrize(
    ("table", "kappa"),
    [
        # po = 35/50; the rules pass 25/50, the judge 30/50; pe = 0.5*0.6 + 0.5*0.4 = 0.5.
        (Table(20, 15, 5, 10), 0.4),
        (Table(6, 4, 0, 0), 1.0),
        (Table(0, 0, 5, 5), -1.0),
        # The judge passes all: po = pe = 0.7.
        (Table(7, 0, 0, 3), 0.0),
        # po = 0.95, pe = 0.95*0.96 + 0.05*0.04 = 0.914: high agreement, low kappa.
        (Table(93, 2, 2, 3), (0.95 - 0.914) / (1 - 0.914)),
    ],
)
def test_kappa_by_hand(table: Table, kappa: float) -> None:
    assert cohen_kappa(table) == pytest.approx(kappa)


@pytest.mark.parametrize("table", [Table(0, 0, 0, 0), Table(9, 0, 0, 0), Table(0, 9, 0, 0)])
def test_kappa_does_not_exist_where_both_say_one_thing(table: Table) -> None:
    assert cohen_kappa(table) is None
    assert kappa_interval([table]) is None


@pytest.mark.parametrize(
    "tables",
    [
        [],
        # Full agreement: every resample says the same, which is no certainty.
        [Table(1, 1, 0, 0)] * 20,
        # Two of three resamples leave the one dialogue out that does not pass throughout.
        [*[Table(5, 0, 0, 0)] * 3, Table(4, 1, 0, 0), Table(4, 0, 1, 0)],
    ],
)
def test_no_bounds_where_the_bootstrap_says_nothing(tables: list[Table]) -> None:
    assert kappa_interval(tables) is None


def test_independent_replies_get_the_interval_of_the_textbook_and_shared_dialogues_a_wider_one() -> (
    None
):
    kinds = [0] * 20 + [1] * 15 + [2] * 5 + [3] * 10
    single = kappa_interval([Table(*(int(i == n) for i in range(4))) for n in kinds])
    packed = kappa_interval([Table(*(5 * int(i == n) for i in range(4))) for n in kinds[::5]])
    assert single is not None
    assert packed is not None
    # Cohen's standard error: sqrt(po (1 - po) / n) / (1 - pe) = sqrt(0.21 / 50) / 0.5 = 0.130.
    assert single == pytest.approx((0.4 - 1.96 * 0.13, 0.4 + 1.96 * 0.13), abs=0.04)
    assert packed[1] - packed[0] > 1.5 * (single[1] - single[0])


def test_the_interval_covers() -> None:
    """40 dialogues of 5 replies that share a difficulty; the judge errs at random within it."""
    rng = np.random.default_rng(11)

    def draw(num: int) -> list[Table]:
        easy = rng.beta(2, 2, size=(num, 1))
        skill = rng.beta(6.8, 1.2, size=(num, 1))
        rules = rng.random((num, 5)) < easy
        judge = np.where(rng.random((num, 5)) < skill, rules, ~rules)
        cells = (rules & judge, ~rules & ~judge, rules & ~judge, ~rules & judge)
        return [Table(*row) for row in zip(*(c.sum(axis=1).tolist() for c in cells), strict=True)]

    whole = draw(100_000)
    truth = cohen_kappa(Table(*np.sum(whole, axis=0).tolist()))
    assert truth is not None
    found = [kappa_interval(draw(40)) for _ in range(100)]
    covered = sum(low <= truth <= high for low, high in filter(None, found))
    # 100 draws of a true 93 % lie above 0.86 in 98 of 100.
    assert covered / 100 >= 0.86
