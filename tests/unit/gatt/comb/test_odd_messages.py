"""One message that a template or a tokenizer stumbles over costs its own targets and no others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gatt.comb.comb import Comb, expand
from gatt.commands.show.view import view_sample
from gatt.data.dialogue import Message
from gatt.data.sample import GattSample
from gatt.train.data.labels import SUPERVISE, BuiltSample, Supervise, build_combs, build_expanded
from gatt.train.data.rows import build_rows
from tests.support.models.built_rows import make, packable
from tests.support.models.combs_of_rows import combs_of
from tests.support.models.foreign_templates import foreign_tokenizer
from tests.support.models.tiny import CHATML, SPECIAL, sample
from tests.unit.gatt.train.data.test_supervision_expanded import learned

TEMPLATE = CHATML.replace(
    "{{ '<|im_start|>' + m['role']",
    "{{ 1 // 0 if 'zyx' in m['content'] else '' }}{{ '<|im_start|>' + m['role']",
)
"""Keeps prefixes, names a token that is not special, and fails on a word."""
NAMED = TEMPLATE + "{% if messages[0]['content'] == '<think>' %}x{% endif %}"


def tokenizer() -> Any:
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


def written(built: BuiltSample) -> list[Comb]:
    return [row for part in built.parts for row in expand(part.comb)]


@pytest.mark.parametrize("supervise", SUPERVISE)
@pytest.mark.parametrize(("index", "text", "kept", "num_problems"), ODD)
def test_the_other_targets_stay(
    index: int, text: str, kept: list[int], num_problems: int, supervise: Supervise
) -> None:
    one = with_message(index, text)
    combs = build_combs(tokenizer(), one, supervise=supervise)
    rows = build_expanded(tokenizer(), one, supervise=supervise)
    assert sorted(combs.targets) == kept
    assert list(rows.targets) == kept
    assert learned(written(combs)) == learned(rows.rows)
    # The odd reply itself is a problem only to who would learn it.
    is_own_reply = len(kept) == 4 and supervise == "last_turn"
    assert len(combs.dropped_targets) == (0 if is_own_reply else num_problems)
    assert len(rows.dropped_targets) == len(combs.dropped_targets)


def test_targets_whose_prompts_begin_the_last_one_still_share_its_trunk() -> None:
    built = build_combs(tokenizer(), with_message(3, "\nIt is quiet."))
    assert [(part.turns, part.targets) for part in built.parts] == [
        ((1, 2, 3, 4), (1, 3, 4)), ((1, 2), (2,)),
    ]  # fmt: skip


@pytest.mark.parametrize("layout", ["comb", "expanded"])
@pytest.mark.parametrize("history", ["reference", "sampled"])
@pytest.mark.parametrize(("index", "text", "kept"), [case.values[:3] for case in ODD[:4]])
def test_a_run_keeps_them_in_every_layout_and_shows_what_it_trains_on(
    index: int, text: str, kept: list[int], layout: str, history: str
) -> None:
    one, config = with_message(index, text), make(layout=layout, history=history)
    rows, report = build_rows([one, sample(2, 4)], tokenizer(), config, why_not_packable=packable)
    # With sampled history the targets stand in the place of the odd reply.
    expected = [1, 2, 3, 4] if history == "sampled" and index % 2 else kept
    assert report.num_targets == len(expected) + 4
    assert sum(report.dropped.values()) == 4 - len(expected)
    shown = view_sample(tokenizer(), one, config)
    assert sorted(shown.trained) == expected
    trained = [comb for row in rows for comb in combs_of(row)]
    assert list(shown.combs) == trained[: len(shown.combs)]
