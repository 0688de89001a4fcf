"""What the terminal says of the targets, and which of them are a formula."""

from __future__ import annotations

import pytest

from data_synth.gate import TargetLook
from gatt.data.sample import GattSample, TurnTarget
from gatt.verifiers.spec import VerifierSpec
from tests.support.runs.stages import PLACES, dialogue, hobby

STOCK = tuple(f"Remember the free {place}." for place in PLACES)
HOBBY = hobby("tennis", probes=(), utterances=STOCK)


def look(replies: list[str], kind="composed", instruction=HOBBY) -> TargetLook:
    found = TargetLook()
    for number, reply in enumerate(replies):
        targets = (
            TurnTarget(1, reply, kind=kind),
            TurnTarget(2, None, "lost_fact", refused=("lost_fact",)),
        )
        found.add(GattSample(f"s{number}", dialogue(number, 2), instruction, targets))
    return found


def distinct(number: int) -> str:
    return f"{PLACES[number % 8]} {PLACES[number // 8 % 8]} number {number} was fine"


@pytest.mark.parametrize(
    ("replies", "fact"),
    [
        ([f"I am Mia {distinct(n)}." for n in range(24)], "i am mia"),
        ([f"{distinct(n)}. That is what I think." for n in range(24)], "that is what i think"),
        ([f"{distinct(n)}, and {STOCK[n % 4].lower()}" for n in range(24)], "24 of 24"),
        ([f"{distinct(n)}. {STOCK[n % 8]}" for n in range(24)], None),
        ([f"{distinct(n)}." for n in range(24)], None),
        # Too few to say.
        (["I am Mia."] * 10, None),
    ],
)
def test_a_formula_is_what_many_targets_share(replies, fact) -> None:
    found = look(replies).formula(0.3)
    assert (found is None) == (fact is None)
    assert fact is None or fact in str(found)


def test_what_the_instruction_gives_to_the_letter_is_no_formula() -> None:
    ahoy = hobby(
        "x", probes=(), verifiers=(VerifierSpec("starts_with", {"any_of": ["Ahoy there you!"]}),)
    )
    said = [f"Ahoy there you! {distinct(n)}." for n in range(24)]
    assert look(said, "prefilled", ahoy).formula(0.3) is None
    assert look(said, "prefilled").formula(0.3) is not None


def test_the_lines_hold_shares_reasons_repetitions_and_five_targets() -> None:
    text = "\n".join(look([f"{distinct(n)}. {STOCK[n % 2]}" for n in range(24)]).lines())
    for fact in (
        "24 of 48 turns", "24 composed by program (100%)", "in 2 phrasings", "lost_fact 24",
        "12 x 'remember the free",
    ):  # fmt: skip
        assert fact in text
    assert text.count("[composed]") == 5
