"""The hint names what was probably meant, or nothing."""

from __future__ import annotations

import pytest

from gatt.runs.suggest import did_you_mean, nearest

KNOWN = ("French", "German", "learning_rate", "num_samples")


@pytest.mark.parametrize(
    ("word", "cutoff", "expected"),
    [
        ("Frensh", 0.6, "French"),
        ("FRENCH", 0.6, "French"),
        ("NUM_SAMPLE", 0.6, "num_samples"),
        ("rate", 0.4, "learning_rate"),
        ("warmup", 0.6, None),
    ],
)
def test_the_most_alike_known_word(word: object, cutoff: float, expected: str | None) -> None:
    assert nearest(word, KNOWN, cutoff) == expected
    assert nearest(word, ()) is None


def test_the_hint_is_the_end_of_a_message() -> None:
    assert did_you_mean("Frensh", iter(KNOWN), " (see the list)") == ", did you mean 'French'?"
    assert did_you_mean("warmup", iter(KNOWN), " (see the list)") == " (see the list)"
    assert did_you_mean("warmup", iter(KNOWN)) == ""
