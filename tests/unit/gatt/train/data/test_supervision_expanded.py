"""Own replies behind templates that rewrite earlier turns, and messages that a template stumbles over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, get_args

import pytest

from gatt.comb.comb import IGNORE, Comb
from gatt.data.dialogue import Message
from gatt.data.sample import GattSample
from gatt.train.data.labels import Supervise, build_combs
from tests.support.models.combs import written_out
from tests.support.models.foreign_templates import foreign_tokenizer
from tests.support.models.tiny import CHATML, SPECIAL, sample, tiny_tokenizer


def learned(rows: Iterable[Comb]) -> Counter[tuple[tuple[int, ...], int]]:
    """Return each supervised token with all that stands before it."""
    return Counter(
        (row.trunk[:index], label)
        for row in rows
        for index, label in enumerate(row.trunk_labels)
        if label != IGNORE
    )


@pytest.mark.parametrize("supervise", get_args(Supervise))
@pytest.mark.parametrize(
    "targets",
    [
        ["Oui.", "Non.", "Oui.", "Non."],
        ["Oui.", None, None, None],
        [None, None, "Oui.", None],
        # The last target cannot be encoded: what stands before it is in no prompt then.
        ["Oui.", None, None, "Non <|im_end|>."],
        ["Oui <|im_end|>.", None, None, None],
    ],
)
def test_learns_what_the_comb_learns(targets: list[str | None], supervise: Supervise) -> None:
    """Own replies up to the last turn with a target and not further, whatever the template."""
    tokenizer, one = tiny_tokenizer(CHATML), sample(1, 4, targets=targets)
    combs = build_combs(tokenizer, one, supervise=supervise)
    built = build_combs(tokenizer, one, supervise=supervise, keeps_prefixes=False)
    expected = learned(written_out(combs))
    assert learned(written_out(built)) == expected
    assert len(built.targets) == len(combs.targets)
    assert built.dropped_targets == combs.dropped_targets


@pytest.mark.parametrize("max_length", [120, 180, 260])
@pytest.mark.parametrize("supervise", get_args(Supervise))
@pytest.mark.parametrize("targets", [None, ["Oui.", None, None, None, "Oui, et " * 9, "Non."]])
def test_what_a_cut_history_leaves_out_is_counted(max_length, supervise, targets) -> None:
    """A comb ends with its last prompt, whatever is learned: own replies behind it are in none."""
    tokenizer, one = tiny_tokenizer(CHATML), sample(1, 6, targets=targets)
    combs = build_combs(tokenizer, one, supervise=supervise, max_length=max_length)
    built = build_combs(
        tokenizer, one, supervise=supervise, keeps_prefixes=False, max_length=max_length
    )
    expected = learned(written_out(combs))
    if supervise == "last_turn":
        assert learned(written_out(built)) == expected
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    ends = [
        sum(n for (_, label), n in r.items() if label == end)
        for r in (learned(written_out(built)), expected)
    ]
    left = [p for p in combs.dropped_targets if "an own reply behind the last prompt" in p]
    # Those that do not fit into any row are told of either way.
    nowhere = len(built.dropped_targets) - (len(combs.dropped_targets) - len(left))
    assert ends[0] - ends[1] == len(left) - nowhere
    assert max(part.comb.num_positions for part in combs.parts) <= max_length
    assert len(built.targets) == len(combs.targets)


TEMPLATE = CHATML.replace(
    "{{ '<|im_start|>' + m['role']",
    "{{ 1 // 0 if 'zyx' in m['content'] else '' }}{{ '<|im_start|>' + m['role']",
)
"""Keeps prefixes, names a token that is not special, and fails on a word."""
NAMED = TEMPLATE + "{% if messages[0]['content'] == '<think>' %}x{% endif %}"


def odd_tokenizer() -> Any:
    """Return one whose line breaks merge."""
    return foreign_tokenizer(NAMED, SPECIAL, ("<think>",), eos="<|im_end|>")


def with_message(index: int, text: str) -> GattSample:
    """Return a sample of four turns, the last one answered, with another text in one message."""
    made = sample(1, 4)
    messages = [*made.dialogue.messages, Message("assistant", "It was quiet.")]
    messages[index] = replace(messages[index], content=text)
    return replace(made, dialogue=replace(made.dialogue, messages=tuple(messages)))


ODD = [
    # Turn 2 is answered in a comb of its own: "\n" of its prompt and that of the reply are one token.
    pytest.param(3, "\nIt is quiet.", [1, 2, 3, 4], 1, id="a line break begins a reply"),
    pytest.param(3, "It is <think>.", [1, 2], 2, id="a mark of reasoning in a reply"),
    pytest.param(4, "What <|im_end|>?", [1, 2], 2, id="a control token in a user message"),
    pytest.param(7, "It is <|im_start|>.", [1, 2, 3, 4], 0, id="one in a reply that no row holds"),
    pytest.param(4, "What zyx?", [1, 2], 2, id="a message that the template fails on"),
    pytest.param(3, "It is zyx.", [1, 2], 2, id="a reply that the template fails on"),
]


@pytest.mark.parametrize("supervise", get_args(Supervise))
@pytest.mark.parametrize(("index", "text", "kept", "num_problems"), ODD)
def test_the_other_targets_stay(index, text, kept, num_problems, supervise) -> None:
    one = with_message(index, text)
    combs = build_combs(odd_tokenizer(), one, supervise=supervise)
    rows = build_combs(odd_tokenizer(), one, supervise=supervise, keeps_prefixes=False)
    assert sorted(combs.targets) == sorted(rows.targets) == kept
    assert learned(written_out(combs)) == learned(written_out(rows))
    # The odd reply itself is a problem only to who would learn it.
    is_own_reply = len(kept) == 4 and supervise == "last_turn"
    assert len(combs.dropped_targets) == (0 if is_own_reply else num_problems)
    assert len(rows.dropped_targets) == len(combs.dropped_targets)


def test_targets_whose_prompts_begin_the_last_one_still_share_its_trunk() -> None:
    built = build_combs(odd_tokenizer(), with_message(3, "\nIt is quiet."))
    assert [(part.turns, part.targets) for part in built.parts] == [
        ((1, 2), (2,)), ((1, 2, 3, 4), (1, 3, 4)),
    ]  # fmt: skip
