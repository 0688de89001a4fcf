"""The label of every token, against literal goldens, and the length policy."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gatt.comb.comb import IGNORE
from gatt.data.sample import TurnTarget
from gatt.errors import DataError
from gatt.train.data.labels import SUPERVISE, BuiltComb, BuiltSample, build_combs
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
    for supervise in SUPERVISE:
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
        assert (built.num_targets, built.num_exchanges_dropped) == (num_turns, 0)
        assert built.dropped_targets == ()


@pytest.mark.parametrize("placement", ["system", "first_user"])
def test_own_system_message_stays_in_front(placement) -> None:
    tokenizer = SMOLLM2.tokenizer()
    comb = only(
        build_combs(tokenizer, sample(1, INSTRUCTION, system="Be brief."), placement=placement)
    ).comb
    golden = {
        "system": "<|im_start|>·system·⏎·Be· brief.·⏎·⏎·Speak· French.·<|im_end|>·⏎"
        "·<|im_start|>·user·⏎·Hello· there·<|im_end|>·⏎·<|im_start|>·assistant·⏎",
        "first_user": "<|im_start|>·system·⏎·Be· brief.·<|im_end|>·⏎"
        "·<|im_start|>·user·⏎·Speak· French.·⏎·⏎·Hello· there·<|im_end|>·⏎"
        "·<|im_start|>·assistant·⏎",
    }
    assert tokenizer.convert_ids_to_tokens(list(comb.trunk)) == tokens(golden[placement])


def test_trap_3_pad_that_equals_the_end_of_turn_changes_no_label() -> None:
    tokenizer = SMOLLM2.tokenizer()
    tokenizer.pad_token = "<|im_end|>"
    built = build_combs(tokenizer, sample(2, INSTRUCTION))
    assert only(built).comb == only(build(SMOLLM2, "system", 2, "last_turn")).comb


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ("Bonjour <|im_start|>", r"turn 2: the text holds the control token '<\|im_start\|>'"),
        ("  ", "turn 2: the target reply is blank"),
    ],
)
def test_a_target_that_cannot_be_encoded_is_dropped_with_its_reason(reply, message) -> None:
    full = sample(2, INSTRUCTION)
    broken = replace(full, targets=(full.targets[0], TurnTarget(2, reply, kind="sampled")))
    built = build_combs(SMOLLM2.tokenizer(), broken)
    assert built.num_targets == 1
    (reason,) = built.dropped_targets
    with pytest.raises(DataError, match=message):
        raise DataError(reason)


class TestLengthPolicy:
    """Trap 1, with ChatML and the instruction in the system message.

    Prompt 1 has 7 (system) + 7 (user) + 3 (generation prompt) = 17 tokens; turn 2 adds
    3 (Hi Bob and its end) + 9 + 3 = 15: 32; turn 3 adds 2 (Fine) + 7 + 3 = 12: 44.
    With their targets 19, 35 and 47. Without exchange 2, turn 3 has 17 + 3 + 7 + 3 = 30
    tokens, 33 with its target.
    """

    def build(self, max_length: int, num_turns: int = 3, made=None, **more) -> BuiltSample:
        made = made or sample(num_turns, INSTRUCTION)
        return build_combs(SMOLLM2.tokenizer(), made, max_length=max_length, **more)

    def test_nothing_is_dropped_at_the_exact_length(self) -> None:
        built = self.build(47)
        assert built.num_exchanges_dropped == 0
        assert [b.fork for b in only(built).comb.branches] == [17, 32, 44]

    def test_oldest_exchange_after_the_first_goes_whole(self) -> None:
        """Turn 3 loses exchange 2 and gets a comb of its own; turns 1 and 2 keep theirs."""
        built = self.build(46)
        assert (built.num_targets, built.num_exchanges_dropped) == (3, 1)
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

    def test_own_replies_carry_loss_once_over_all_combs(self) -> None:
        whole = self.build(47, supervise="context_only")
        parts = self.build(46, supervise="context_only").parts
        # Hi Bob with its end, in the first comb only; Fine is behind the last prompt but one.
        assert [p.comb.num_supervised for p in parts] == [3, 0]
        assert only(whole).comb.num_supervised == 5
        for mode in SUPERVISE:
            assert [p.comb.trunk for p in self.build(46, supervise=mode).parts] == [
                p.comb.trunk for p in parts
            ]

    def test_what_does_not_fit_with_turn_one_alone_is_dropped_and_named(self) -> None:
        assert self.build(33).num_targets == 2
        built = self.build(32)
        assert (built.num_targets, len(built.parts)) == (1, 1)
        assert built.dropped_targets == (
            "sample 's-1': 35 tokens with turn 1 and turn 2 alone, more than max_length 32: raise "
            "it or shorten the messages",
            "sample 's-1': 33 tokens with turn 1 and turn 3 alone, more than max_length 32: raise "
            "it or shorten the messages",
        )
        built = self.build(18, num_turns=1)
        assert built.parts == ()
        assert "19 tokens with turn 1 alone, more than max_length 18" in built.dropped_targets[0]

    def test_long_first_target_does_not_empty_the_dialogue(self) -> None:
        full = sample(3, INSTRUCTION)
        long = TurnTarget(1, " ".join(["Bonjour"] * 40), kind="sampled")
        built = self.build(47, made=replace(full, targets=(long, *full.targets[1:])))
        assert (built.num_exchanges_dropped, built.num_targets) == (0, 2)
        assert "58 tokens with turn 1 alone, more than max_length 47" in built.dropped_targets[0]
