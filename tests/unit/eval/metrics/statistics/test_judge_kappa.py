"""Cohen's kappa against arithmetic by hand, and its interval against a simulation."""

from __future__ import annotations

import numpy as np
import pytest

from eval.metrics.statistics.kappa import Table, cohen_kappa, expanded_tail, kappa_interval


def test_kappa_by_hand() -> None:
    table = Table(both_pass=20, both_fail=15, only_rules=5, only_judge=10)
    # po = 35/50 = 0.7; the rules pass 25/50, the judge 30/50; pe = 0.5*0.6 + 0.5*0.4 = 0.5;
    # kappa = (0.7 - 0.5) / (1 - 0.5) = 0.4
    assert table.total == 50
    assert table.agreement == pytest.approx(0.7)
    assert table.base_rates == (0.5, 0.6)
    assert cohen_kappa(table) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("table", "kappa"),
    [
        (Table(6, 4, 0, 0), 1.0),
        (Table(0, 0, 5, 5), -1.0),
        # pe = 0.25 + 0.25 = 0.5 = po: no better than chance.
        (Table(5, 5, 5, 5), 0.0),
        # The judge passes all: po = pe = 0.7.
        (Table(7, 0, 0, 3), 0.0),
        # po = 0.95, pe = 0.95*0.96 + 0.05*0.04 = 0.914: high agreement, low kappa.
        (Table(93, 2, 2, 3), (0.95 - 0.914) / (1 - 0.914)),
    ],
)
def test_kappa_of_special_tables(table: Table, kappa: float) -> None:
    assert cohen_kappa(table) == pytest.approx(kappa)


@pytest.mark.parametrize("table", [Table(0, 0, 0, 0), Table(9, 0, 0, 0), Table(0, 9, 0, 0)])
def test_kappa_does_not_exist_where_both_say_one_thing(table: Table) -> None:
    assert cohen_kappa(table) is None
    assert kappa_interval([table]) is None


def test_no_reply_has_no_rates() -> None:
    empty = Table(0, 0, 0, 0)
    assert (empty.agreement, empty.base_rates) == (None, (None, None))
    assert kappa_interval([]) is None


def test_independent_replies_get_the_interval_of_the_textbook() -> None:
    tables = [
        Table(*(int(i == n) for i in range(4))) for n in [0] * 20 + [1] * 15 + [2] * 5 + [3] * 10
    ]
    found = kappa_interval(tables)
    assert found is not None
    # Cohen's standard error: sqrt(po (1 - po) / n) / (1 - pe) = sqrt(0.21 / 50) / 0.5 = 0.130.
    assert found == pytest.approx((0.4 - 1.96 * 0.13, 0.4 + 1.96 * 0.13), abs=0.04)


def test_replies_that_share_a_dialogue_are_worth_less() -> None:
    single = [Table(1, 0, 0, 0)] * 20 + [Table(0, 1, 0, 0)] * 15 + [Table(0, 0, 1, 0)] * 5
    single += [Table(0, 0, 0, 1)] * 10
    packed = [Table(5, 0, 0, 0)] * 4 + [Table(0, 5, 0, 0)] * 3 + [Table(0, 0, 5, 0)]
    packed += [Table(0, 0, 0, 5)] * 2
    wide, narrow = kappa_interval(packed), kappa_interval(single)
    assert wide is not None
    assert narrow is not None
    assert wide[1] - wide[0] > 1.5 * (narrow[1] - narrow[0])


def test_few_dialogues_widen_the_interval() -> None:
    # t with 31 degrees of freedom is 2.0395; times sqrt(32/31) it is 2.072; beyond that lies 1.91 %.
    assert expanded_tail(32) == pytest.approx(0.0191, abs=1e-4)
    assert expanded_tail(100_000) == pytest.approx(0.025, abs=1e-5)


def test_order_counts_for_nothing_and_the_seed_fixes_the_draws() -> None:
    tables = [Table(3, 1, 0, 1), Table(0, 2, 1, 0), Table(1, 1, 1, 1), Table(2, 0, 0, 0)] * 3
    assert kappa_interval(tables, seed=5) == kappa_interval(tables[::-1], seed=5)
    assert kappa_interval(tables, seed=5) != kappa_interval(tables, seed=6)


def test_full_agreement_is_not_certainty() -> None:
    found = kappa_interval([Table(1, 0, 0, 0)] * 10 + [Table(0, 1, 0, 0)] * 10)
    assert found is not None
    # Wilson for 20 of 20: low 0.839; pe = 0.5; (0.839 - 0.5) / 0.5 = 0.678
    assert found[0] == pytest.approx(0.678, abs=0.005)
    assert found[1] == 1.0


def test_one_dialogue_says_little() -> None:
    found = kappa_interval([Table(5, 4, 1, 0)])
    assert found is not None
    assert found[1] - found[0] > 1


def test_no_bounds_where_kappa_seldom_exists() -> None:
    # Two of three resamples leave the one dialogue out that does not pass throughout.
    assert (
        kappa_interval([Table(5, 0, 0, 0)] * 3 + [Table(4, 1, 0, 0)] + [Table(4, 0, 1, 0)]) is None
    )


def test_ten_thousand_dialogues_are_drawn_by_their_kinds() -> None:
    rng = np.random.default_rng(0)
    tables = [Table(*row) for row in rng.multinomial(5, [0.4, 0.4, 0.1, 0.1], size=10_000).tolist()]
    found = kappa_interval(tables)
    assert found is not None
    assert found[1] - found[0] < 0.03


@pytest.mark.parametrize(("accuracy", "rate"), [(0.85, 0.5), (0.9, 0.25), (0.7, 0.6)])
def test_the_interval_covers(accuracy: float, rate: float) -> None:
    """40 dialogues of 5 replies that share a difficulty; the judge errs at random within it."""
    rng = np.random.default_rng(11)

    def draw(num: int) -> list[Table]:
        easy = rng.beta(rate * 4, (1 - rate) * 4, size=(num, 1))
        skill = rng.beta(accuracy * 8, (1 - accuracy) * 8, size=(num, 1))
        rules = rng.random((num, 5)) < easy
        judge = np.where(rng.random((num, 5)) < skill, rules, ~rules)
        cells = (rules & judge, ~rules & ~judge, rules & ~judge, ~rules & judge)
        return [Table(*row) for row in zip(*(c.sum(axis=1).tolist() for c in cells), strict=True)]

    truth = cohen_kappa(_sum(draw(100_000)))
    assert truth is not None
    covered = 0
    for _ in range(200):
        found = kappa_interval(draw(40), num_resamples=400)
        assert found is not None
        covered += found[0] <= truth <= found[1]
    # 200 draws of a true 94 % lie above 0.90 in 98 of 100.
    assert covered / 200 >= 0.90


def _sum(tables: list[Table]) -> Table:
    return Table(
        sum(t.both_pass for t in tables),
        sum(t.both_fail for t in tables),
        sum(t.only_rules for t in tables),
        sum(t.only_judge for t in tables),
    )
