"""The label of every token, against literal goldens, and the length policy."""

from __future__ import annotations

from typing import get_args

import pytest

from gatt.comb.comb import IGNORE
from gatt.train.data.labels import BuiltComb, BuiltSample, Supervise, build_combs
from tests.support.models.golden_templates import (
    FAMILIES,
    INSTRUCTION,
    SMOLLM2,
    Family,
    sample,
    tokens,
)

CASES = [
    pytest.param(family, opening, num_turns, id=f"{family.name}-{opening}-{num_turns}")
    for family in FAMILIES
    for opening in family.openings
    for num_turns in (1, 2, 3)
]


def only(built: BuiltSample) -> BuiltComb:
    """Return the one comb of a sample."""
    (part,) = built.parts
    return part


def build(family: Family, opening: str, num_turns: int, supervise: str) -> BuiltSample:
    instruction = None if opening == "none" else INSTRUCTION
    return build_combs(
        family.tokenizer(),
        sample(num_turns, instruction),
        placement="first_user" if opening == "first_user" else "system",
        supervise=supervise,
    )


@pytest.mark.parametrize(("family", "opening", "num_turns"), CASES)
def test_every_token_and_label_is_as_the_template_says(family, opening, num_turns) -> None:
    """Trunk: no loss, except on history replies in the controls. Branches: all, or none."""
    tokenizer = family.tokenizer()
    golden = family.prompt(opening, num_turns)
    for supervise in get_args(Supervise):
        built = build(family, opening, num_turns, supervise)
        comb = only(built).comb
        assert tokenizer.convert_ids_to_tokens(list(comb.trunk)) == [t for t, _ in golden]
        expected = [
            token if of_reply and supervise != "last_turn" else IGNORE
            for token, (_, of_reply) in zip(comb.trunk, golden, strict=True)
        ]
        assert list(comb.trunk_labels) == expected
        assert [b.fork for b in comb.branches] == [
            len(family.prompt(opening, turn)) for turn in range(1, num_turns + 1)
        ]
        for branch, target in zip(comb.branches, family.targets, strict=False):
            assert tokenizer.convert_ids_to_tokens(list(branch.input_ids)) == tokens(target)
            carries = supervise != "context_only"
            assert branch.labels == (
                branch.input_ids if carries else (IGNORE,) * len(branch.input_ids)
            )
        assert (len(built.targets), built.num_exchanges_dropped) == (num_turns, 0)
        assert built.dropped_targets == ()


class TestLengthPolicy:
    """Trap 1, with ChatML and the instruction in the system message.

    Prompt 1 has 7 (system) + 7 (user) + 3 (generation prompt) = 17 tokens; turn 2 adds
    3 (Hi Bob and its end) + 9 + 3 = 15: 32; turn 3 adds 2 (Fine) + 7 + 3 = 12: 44.
    With their targets 19, 35 and 47. Without exchange 2, turn 3 has 17 + 3 + 7 + 3 = 30
    tokens, 33 with its target.
    """

    def build(self, max_length: int, num_turns: int = 3) -> BuiltSample:
        made = sample(num_turns, INSTRUCTION)
        return build_combs(SMOLLM2.tokenizer(), made, max_length=max_length)

    def test_oldest_exchange_after_the_first_goes_whole(self) -> None:
        """Turn 3 loses exchange 2 and gets a comb of its own; turns 1 and 2 keep theirs."""
        whole = self.build(47)
        assert whole.num_exchanges_dropped == 0
        assert [b.fork for b in only(whole).comb.branches] == [17, 32, 44]
        built = self.build(46)
        assert (len(built.targets), built.num_exchanges_dropped) == (3, 1)
        assert built.dropped_targets == ()
        first, second = built.parts
        assert (first.turns, first.targets) == ((1, 2), (1, 2))
        assert [b.fork for b in first.comb.branches] == [17, 32]
        assert len(first.comb.trunk) == 32  # cut behind the last prompt that it serves
        assert (second.turns, second.targets) == ((1, 3), (3,))
        assert [b.fork for b in second.comb.branches] == [30]
        found = SMOLLM2.tokenizer().convert_ids_to_tokens(list(second.comb.trunk))
        assert found == tokens(
            "<|im_start|>·system·⏎·Speak· French.·<|im_end|>·⏎"
            "·<|im_start|>·user·⏎·Hello· there·<|im_end|>·⏎"
            "·<|im_start|>·assistant·⏎·Hi· Bob·<|im_end|>·⏎"
            "·<|im_start|>·user·⏎·Bye·<|im_end|>·⏎·<|im_start|>·assistant·⏎"
        )

    def test_what_does_not_fit_with_turn_one_alone_is_dropped_and_named(self) -> None:
        assert len(self.build(33).targets) == 2
        built = self.build(32)
        assert (len(built.targets), len(built.parts)) == (1, 1)
        assert built.dropped_targets == (
            "sample 's-1': 35 tokens with turn 1 and turn 2 alone, more than max_length 32: raise "
            "it or shorten the messages",
            "sample 's-1': 33 tokens with turn 1 and turn 3 alone, more than max_length 32: raise "
            "it or shorten the messages",
        )
        built = self.build(18, num_turns=1)
        assert built.parts == ()
        assert "19 tokens with turn 1 alone, more than max_length 18" in built.dropped_targets[0]
