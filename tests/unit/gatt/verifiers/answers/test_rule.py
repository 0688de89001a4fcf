"""`answer` on the replies of `replies.yaml`, and the numbers of a text."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from gatt.errors import VerifierError
from gatt.verifiers import build
from gatt.verifiers.answers.tokens import tokens
from gatt.verifiers.spec import VerifierSpec

CASES = yaml.safe_load(Path(__file__).with_name("replies.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["rule"]["any_of"][0])
def test_verdicts(case: dict[str, Any]) -> None:
    rule = build(VerifierSpec.from_dict(case["rule"]))
    expected = [(status, reply) for status in ("pass", "fail") for reply in case.get(status, ())]
    found = [(rule.check(reply), status, reply) for status, reply in expected]
    assert [one for one in found if one[0].status != one[1]] == []
    for verdict, _, reply in found:
        start, end = verdict.span or (0, 0)
        assert 0 <= start <= end <= len(reply)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("one hundred and eight", [108]),
        ("twenty-eight, thirty", [28, 30]),
        ("two thousand and six", [2006]),
        ("half past nineteen sixty-nine", [1969]),
        ("a dozen eggs, two dozen", [12, 24]),
        ("3 million, 8 hundred", [3_000_000, 800]),
        ("eight and a half, 2.5", ["8.5", "2.5"]),
        ("minus: -4", [-4]),
        ("no one, one of them, one", [1]),
        ("1,250,000", [1_250_000]),
        ("8th, 7:30, 3/4, 2-5", []),
    ],
)
def test_numbers_of_a_text(text: str, values: list[int | str]) -> None:
    found = [value for token in tokens(text) for value in token.values]
    assert found == [Decimal(value) for value in values]


def test_an_answer_has_to_be_named() -> None:
    with pytest.raises(VerifierError, match="any_of"):
        build(VerifierSpec("answer", {}))
