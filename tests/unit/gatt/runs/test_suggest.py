"""The hint names what was probably meant, or nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gatt.runs.suggest import did_you_mean, nearest

KNOWN = ("French", "German", "learning_rate", "num_samples")


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("Frensh", "French"),
        ("FRENCH", "French"),
        ("learing_rate", "learning_rate"),
        ("NUM_SAMPLE", "num_samples"),
        ("warmup", None),
        (3, None),
    ],
)
def test_the_most_alike_known_word(word: object, expected: str | None) -> None:
    assert nearest(word, KNOWN) == expected


def test_how_alike_is_for_the_caller_to_say() -> None:
    assert nearest("rate", KNOWN, cutoff=0.4) == "learning_rate"
    assert nearest("rate", KNOWN, cutoff=0.75) is None


def test_nothing_known() -> None:
    assert nearest("a", ()) is None
    assert did_you_mean("a", ()) == ""


def test_the_hint_is_the_end_of_a_message() -> None:
    assert did_you_mean("Frensh", iter(KNOWN), " (see the list)") == ", did you mean 'French'?"
    assert did_you_mean("warmup", iter(KNOWN), " (see the list)") == " (see the list)"
    assert did_you_mean("warmup", iter(KNOWN)) == ""


def test_it_needs_no_model_library() -> None:
    code = "import sys, gatt.runs.suggest; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
