"""`gatt show`: the rows that training makes, as text."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from gatt.commands.show.rows import Piece
from gatt.commands.show.text import counts_line, print_sample, settings_line
from gatt.commands.show.view import ShownSample, view_sample
from gatt.train.config import TrainConfig
from gatt.train.data.encoded_samples import has_sampled_history, placement_of
from gatt.train.data.rows import build_rows
from tests.support.models.built_rows import make
from tests.support.models.combs_of_rows import combs_of
from tests.support.models.golden_templates import INSTRUCTION, SMOLLM2
from tests.support.models.golden_templates import sample as golden_sample
from tests.support.models.tiny import (
    CHATML,
    REWRITING,
    sample,
    tiny_tokenizer,
)


def joined(pieces: tuple[Piece, ...]) -> list[tuple[str, str]]:
    """Return the texts of neighbouring pieces of one part."""
    groups = itertools.groupby(pieces, key=lambda piece: piece.part)
    return [(part, "".join(piece.text for piece in group)) for part, group in groups]


def with_loss(pieces: tuple[Piece, ...]) -> list[str]:
    groups = itertools.groupby(pieces, key=lambda piece: piece.has_loss)
    return ["".join(piece.text for piece in group) for has_loss, group in groups if has_loss]


def printed(one: Any, shown: ShownSample, config: TrainConfig, **settings: Any) -> str:
    console = Console(width=200, soft_wrap=True, highlight=False, **settings)
    with console.capture() as capture:
        print_sample(console, one, shown, config, is_plain=not settings)
    return capture.get()


@pytest.mark.parametrize("template", [CHATML, REWRITING])
@pytest.mark.parametrize("layout", ["auto", "expanded"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"supervise": "all_turns"},
        {"supervise": "context_only"},
        {"history": "sampled"},
        {"history": "mixed", "placement": "mixed"},
        {"placement": "first_user", "max_length": 150},
        {"max_length": 200, "max_tokens_per_row": 210},
        {"supervise": "all_turns", "max_length": 200, "max_tokens_per_row": 250},
        {"plain_loss": "kl", "history": "mixed"},
    ],
)
def test_shows_what_training_trains_on(
    template: str, layout: str, settings: dict[str, Any]
) -> None:
    tokenizer = tiny_tokenizer(template)
    config = make(layout=layout, **settings)
    plain = [sample(number, 3, is_plain=True) for number in (4, 5, 6)]
    for one in (sample(1, 4), sample(2, 3, targets=["Oui.", None, "Non."]), sample(3, 2), *plain):
        shown = view_sample(tokenizer, one, config)
        # Plain ones alone are refused by KL: one row more, of an instructed one.
        more = [sample(9, 1)] if config.plain_loss == "kl" else []
        built, report = build_rows([one, *more], tokenizer, config, why_not_packable=lambda: None)
        combs = [combs_of(row)[0] for row in built]
        assert [row.comb for row in shown.rows] == combs[: len(combs) - len(more)]
        assert shown.layout == report.layout
        assert shown.num_exchanges_dropped == report.num_exchanges_dropped
        for row in shown.rows:
            parts = [(row.comb.trunk, row.comb.trunk_labels, row.trunk)]
            parts += [
                (b.input_ids, b.labels, shown_branch.pieces)
                for b, shown_branch in zip(row.comb.branches, row.branches, strict=True)
            ]
            for ids, labels, pieces in parts:
                assert "".join(p.text for p in pieces) == tokenizer.decode(ids)
                has_loss = [p.has_loss for p in pieces for _ in range(p.num_tokens)]
                assert has_loss == [label != -100 for label in labels]
        supervised = {t for row in shown.rows for t in row.target_turns}
        wanted = {t.turn for t in one.targets if t.reply}
        assert supervised == (set() if config.supervise == "context_only" else wanted)


def test_parts_of_the_trunk() -> None:
    shown = view_sample(SMOLLM2.tokenizer(), golden_sample(2, INSTRUCTION), make())
    (row,) = shown.rows
    assert row.turns == row.target_turns == (1, 2)
    assert joined(row.trunk) == [
        ("setup", "<|im_start|>system\nSpeak French.<|im_end|>\n<|im_start|>user\n"),
        ("user", "Hello there<|im_end|>\n"),
        ("prompt", "<|im_start|>assistant\n"),
        ("reply", "Hi Bob<|im_end|>"),
        ("user", "\n<|im_start|>user\nHow are you<|im_end|>\n"),
        ("prompt", "<|im_start|>assistant\n"),
    ]
    assert joined(row.branches[1].pieces) == [("target", "Bien merci<|im_end|>")]


def test_expanded_rows_tell_the_target_from_the_dialogues_own_replies() -> None:
    config = make(layout="expanded", supervise="all_turns")
    first, second, trunk = view_sample(
        SMOLLM2.tokenizer(), golden_sample(2, INSTRUCTION), config
    ).rows
    assert [first.turns, second.turns, trunk.turns] == [(1,), (1, 2), (1, 2)]
    assert [first.target_turns, second.target_turns, trunk.target_turns] == [(1,), (2,), ()]
    assert joined(first.trunk)[-2:] == [
        ("prompt", "<|im_start|>assistant\n"),
        ("target", "Bonjour<|im_end|>"),
    ]
    assert ("reply", "Hi Bob<|im_end|>") in joined(second.trunk)
    assert with_loss(second.trunk) == ["Bien merci<|im_end|>"]
    assert with_loss(trunk.trunk) == ["Hi Bob<|im_end|>"]
    assert ("reply", "Hi Bob<|im_end|>") in joined(trunk.trunk)


def test_each_row_of_a_length_policy_has_its_own_history() -> None:
    shown = view_sample(SMOLLM2.tokenizer(), golden_sample(3, INSTRUCTION), make(max_length=40))
    assert [row.turns for row in shown.rows] == [(1, 2), (1, 3)]
    # Prompts of 17 and 32 tokens; turn 3 without the exchange before it has 30.
    forks = [[(b.turn, b.fork) for b in row.branches] for row in shown.rows]
    assert forks == [[(1, 17), (2, 32)], [(3, 30)]]
    # Rows of 17 + 2, 32 + 3 and 30 + 3 tokens against 32 + 2 + 3 and 30 + 3.
    assert counts_line(shown) == (
        "tokens: 62 trunk + 8 branches = 70 in 2 rows; 8 supervised; 87 expanded "
        "(1.24 times that); exchanges dropped: 1"
    )


def test_a_row_cut_between_turns_names_the_turns_that_it_has() -> None:
    # The whole comb has 44 + 2 + 3 + 3 tokens.
    config = make(max_length=47, max_tokens_per_row=50)
    shown = view_sample(SMOLLM2.tokenizer(), golden_sample(3, INSTRUCTION), config)
    assert [row.turns for row in shown.rows] == [(1, 2), (1, 2, 3)]
    assert [row.target_turns for row in shown.rows] == [(1, 2), (3,)]


def test_sampled_history_puts_the_loss_into_the_trunk() -> None:
    one = sample(1, 3, targets=["Oui.", None, "Non, jamais."])
    shown = view_sample(tiny_tokenizer(), one, make(history="sampled"))
    (row,) = shown.rows
    assert not row.branches
    assert with_loss(row.trunk) == ["Oui.<|im_end|>", "Non, jamais.<|im_end|>"]
    assert row.target_turns == (1, 3)
    # A gap keeps the dialogue's own reply, without loss.
    assert [text for part, text in joined(row.trunk) if part in ("reply", "target")] == [
        "Oui.<|im_end|>",
        "It is quiet and long and long there.<|im_end|>",
        "Non, jamais.<|im_end|>",
    ]
    count = row.comb.num_supervised
    assert counts_line(shown) == (
        f"tokens: {len(row.comb.trunk)} in 1 row; {count} supervised; exchanges dropped: 0"
    )


def test_rows_of_a_template_that_rewrites_turns() -> None:
    shown = view_sample(tiny_tokenizer(REWRITING), sample(7, 2), make())
    assert shown.layout == "expanded"
    assert [row.turns for row in shown.rows] == [(1,), (1, 2)]
    assert joined(shown.rows[1].trunk) == [
        ("setup", "<|im_start|>system\nAlways answer in French.<|im_end|>\n<|im_start|>user\n"),
        (
            "user",
            "What is the sea 7 like on day 1?<|im_end|>\n<|im_start|>assistant\n",
        ),
        # "Answer:" no longer stands before the reply of the earlier turn.
        ("reply", "It is quiet and long there."),
        (
            "user",
            "<|im_end|>\n<|im_start|>user\nWhat is the sea 7 like on day 2?<|im_end|>\n",
        ),
        ("prompt", "<|im_start|>assistant\nAnswer:\n"),
        ("target", "Bonjour, jour 2 de 7.<|im_end|>"),
    ]
    assert with_loss(shown.rows[1].trunk) == ["Bonjour, jour 2 de 7.<|im_end|>"]


def test_a_target_that_cannot_be_encoded_is_no_reply_of_its_turn() -> None:
    one = sample(1, 2, targets=["Oui <|im_end|>.", "Non."])
    shown = view_sample(tiny_tokenizer(REWRITING), one, make(supervise="all_turns"))
    assert [row.target_turns for row in shown.rows] == [(), (2,)]
    assert "holds the control token '<|im_end|>'" in shown.left_out[0]


def test_turns_of_a_dialogue_that_repeats_itself() -> None:
    one = sample(1, 3)
    same = [
        replace(m, content="What?" if m.role == "user" else "That.") for m in one.dialogue.messages
    ]
    one = replace(one, dialogue=replace(one.dialogue, messages=tuple(same)))
    for template in (CHATML, REWRITING):
        tokenizer = tiny_tokenizer(template)
        whole = view_sample(tokenizer, one, make(layout="expanded"))
        config = make(max_length=whole.rows[-1].comb.num_tokens - 1)
        shown = view_sample(tokenizer, one, config)
        assert shown.num_exchanges_dropped == 1
        assert shown.rows[-1].turns == (1, 3)
        assert shown.rows[-1].target_turns == (3,)


def test_what_is_mixed_is_drawn_as_in_training() -> None:
    found = set()
    for number in range(12):
        one = sample(number, 2)
        config = make(placement="mixed", history="mixed", seed=3)
        shown = view_sample(tiny_tokenizer(), one, config)
        drawn = placement_of("mixed", 3, one.id), has_sampled_history("mixed", 3, one.id)
        assert (shown.placement, shown.has_sampled_history) == drawn
        is_system = shown.rows[0].trunk[1].text.startswith("system")
        assert is_system == (drawn[0] == "system")
        assert bool(shown.rows[0].branches) != drawn[1]
        found.add(drawn)
        assert settings_line(shown, config) == (
            f"placement {drawn[0]} (drawn from seed 3 and the id), "
            f"history {'sampled' if drawn[1] else 'reference'} (drawn from seed 3 and the id), "
            "supervise last_turn, layout comb"
        )
    assert len(found) == 4


@pytest.mark.parametrize(
    ("one", "settings", "reason"),
    [
        (sample(1, 2, targets=[None, None]), {}, "no turn has a target reply"),
        (sample(1, 1), {"max_length": 20}, "more than max_length 20: raise it"),
    ],
)
def test_a_sample_that_training_leaves_out(one, settings, reason) -> None:
    config = make(**settings)
    shown = view_sample(tiny_tokenizer(), one, config)
    assert shown.rows == ()
    text = printed(one, shown, config)
    assert "\nleft out: sample 's-1': " in text
    assert reason in text
    assert "no row: training leaves this sample out" in text
    assert "legend" not in text
    assert "tokens:" not in text


def test_colours_mark_loss_and_parts() -> None:
    config = make()
    one = sample(1, 1, targets=["Oui."])
    shown = view_sample(tiny_tokenizer(), one, config)
    text = printed(one, shown, config, force_terminal=True, color_system="standard")
    assert "\x1b[1;32mOui.\x1b[0m" in text
    assert "\x1b[36mWhat is the sea 1 like on day 1?\x1b[0m" in text
    assert "«" not in text
