"""`gatt show`: the rows that training makes, as text."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from typing import Any

import pytest

from gatt.comb.comb import IGNORE, Comb
from gatt.commands.show.view import lines_of, page_of, view_sample
from gatt.data.expectation import Expectation
from gatt.data.sample import TurnTarget
from gatt.data.switches import Switch
from gatt.train.data.rows import build_rows
from tests.support.models.built_rows import make
from tests.support.models.combs import combs_of
from tests.support.models.golden_templates import INSTRUCTION, SMOLLM2
from tests.support.models.golden_templates import sample as golden_sample
from tests.support.models.tiny import CHATML, REWRITING, sample, tiny_tokenizer


def printed(*given: Any) -> str:
    return "".join(f"{line}\n" for line in lines_of(view_sample(*given)))


def parts_of(comb: Comb) -> list[Any]:
    """Return tokens and labels of the trunk and of each branch."""
    return [(comb.trunk, comb.trunk_labels), *((b.input_ids, b.labels) for b in comb.branches)]


def learned(tokenizer: Any, combs: list[Comb]) -> str:
    """Return the text of all tokens that carry loss."""
    parts = [zip(*part, strict=True) for comb in combs for part in parts_of(comb)]
    return "".join(tokenizer.decode([i for i, label in p if label != IGNORE]) for p in parts)


@pytest.mark.parametrize("template", [CHATML, REWRITING])
@pytest.mark.parametrize("layout", ["auto", "expanded"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"supervise": "context_only"},
        {"history": "mixed", "placement": "mixed"},
        {"history": "both"},
        {"placement": "first_user", "max_length": 150},
        {"supervise": "all_turns", "max_length": 200, "max_tokens_per_row": 250},
        {"plain_loss": "kl", "history": "mixed"},
        {"objective": "distil", "history": "mixed"},
    ],
)
def test_shows_what_training_trains_on(template, layout, settings) -> None:
    tokenizer = tiny_tokenizer(template)
    config = make(layout=layout, **settings)
    plain = [sample(number, 3, is_plain=True) for number in (4, 5, 6)]
    for one in (sample(1, 4), sample(2, 3, targets=["Oui.", None, "Non."]), sample(3, 2), *plain):
        text = printed(tokenizer, one, config).replace("⏎", "")
        # Plain ones alone are refused by KL: one row more, of an instructed one.
        more = [sample(9, 1)] if config.plain_loss == "kl" else []
        built, report = build_rows([one, *more], tokenizer, config, why_not_packable=lambda: None)
        combs = [combs_of(row)[0] for row in built]
        assert f"layout {report.layout}" in text
        assert f"exchanges dropped: {report.num_exchanges_dropped}\n" in text
        # The first is the legend's own.
        _, *marked = re.findall("«(.*?)»", text, re.DOTALL)
        shown = re.sub("[«»]", "", text)
        own = combs[: len(combs) - len(more)]
        for comb in own:
            for ids in (*(ids for ids, _ in parts_of(comb)), *(t.trunk for t in comb.teacher)):
                assert f"\n{tokenizer.decode(ids)}\n" in shown
        assert "".join(marked) == learned(tokenizer, own)
        wanted = [t.turn for t in one.targets if t.reply]
        trained = [int(turn) for turn in re.findall(r"(?m)^turn (\d+): .*, has loss", text)]
        assert trained == ([] if config.supervise == "context_only" else wanted)


def test_a_golden_sample_in_the_terminal() -> None:
    text = printed(SMOLLM2.tokenizer(), golden_sample(2, INSTRUCTION), make())
    # A trunk of 32 tokens, and targets of 2 and 3; written out, 17 + 2 and 32 + 3.
    text = text.partition("legend: ")[2]
    assert text.startswith(
        "⏎ newline · «carries loss»\n\n"
        "row 1 of 1: trunk of 32 tokens, from turns 1-2\n"
        "<|im_start|>system⏎\nSpeak French.<|im_end|>⏎\n"
        "<|im_start|>user⏎\nHello there<|im_end|>⏎\n"
        "<|im_start|>assistant⏎\nHi Bob<|im_end|>⏎\n"
        "<|im_start|>user⏎\nHow are you<|im_end|>⏎\n"
        "<|im_start|>assistant⏎\n\n\n"
        "branch of turn 1, 2 tokens after trunk token 17\n«Bonjour<|im_end|>»\n\n"
        "branch of turn 2, 3 tokens after trunk token 32\n«Bien merci<|im_end|>»\n\n"
        "tokens: 37 in 1 rows; 5 supervised; 54 in one row a target (1.46 times that); "
        "exchanges dropped: 0\n"
    )


def test_a_row_names_the_turns_that_the_length_policy_left() -> None:
    text = printed(SMOLLM2.tokenizer(), golden_sample(3, INSTRUCTION), make(max_length=40))
    # Prompts of 17 and 32 tokens; turn 3 without the exchange before it has 30.
    assert re.findall("(?m)^(?:row|branch) .*", text) == [
        "row 1 of 2: trunk of 32 tokens, from turns 1-2",
        "branch of turn 1, 2 tokens after trunk token 17",
        "branch of turn 2, 3 tokens after trunk token 32",
        "row 2 of 2: trunk of 30 tokens, from turns 1, 3",
        "branch of turn 3, 3 tokens after trunk token 30",
    ]
    assert "exchanges dropped: 1\n" in text


@pytest.mark.parametrize(
    ("one", "settings", "reason"),
    [
        (sample(1, 2, targets=[None, None]), {}, "no turn has a target reply"),
        (sample(1, 1), {"max_length": 20}, "more than max_length 20: raise it"),
    ],
)
def test_a_sample_that_training_leaves_out(one, settings, reason) -> None:
    text = printed(tiny_tokenizer(), one, make(**settings))
    assert "\nleft out: sample 's-1': " in text
    assert reason in text
    assert "no row: training leaves this sample out" in text
    assert "tokens:" not in text


VERDICT = {"status": "fail", "evidence": "no <i>French</i>", "verifier": "language", "version": 1}
GAP = TurnTarget(2, None, "rejected", attempts=4, verdicts=(VERDICT,), refused=("cut", "blank"))
FULL = sample(1, 3, targets=["Oui « <b>&amp;</b>.", "Non.", "Si."])
ONE = replace(
    FULL,
    targets=(FULL.targets[0], GAP, FULL.targets[2]),
    switches=(Switch(3, "cancel", "system", "As you like.", None),),
)


def page(config: Any, *samples: Any) -> str:
    tokenizer = tiny_tokenizer()
    return page_of("s.jsonl", [view_sample(tokenizer, s, config) for s in samples], config.model)


@pytest.mark.parametrize("settings", [{}, {"history": "sampled"}, {"supervise": "all_turns"}])
def test_what_the_page_marks_is_what_carries_loss(settings: dict[str, Any]) -> None:
    tokenizer, config = tiny_tokenizer(), make(**settings)
    samples = [ONE, sample(2, 2, is_plain=True)]
    text = page(config, *samples)
    # The first is the legend's own.
    _, *marked = re.findall(r"<mark>(.*?)</mark>", text, re.DOTALL)
    built = (build_rows([s], tokenizer, config, why_not_packable=lambda: None)[0] for s in samples)
    expected = learned(
        tokenizer, [comb for rows in built for row in rows for comb in combs_of(row)]
    )
    assert html.unescape("".join(marked)).replace("⏎\n", "\n") == expected != ""


def test_a_page_stands_alone_and_says_why_there_is_no_target() -> None:
    first, *rest = ONE.dialogue.messages
    asked = replace(first, expect=Expectation(("30 <days>",)))
    expecting = replace(ONE, dialogue=replace(ONE.dialogue, messages=(asked, *rest)))
    text = page(make(), expecting, sample(3, 2, targets=[None, None]))
    assert "no target: rejected, 4 attempts" in text
    assert "refused before: cut, blank" in text
    assert "language fail: no &lt;i&gt;French&lt;/i&gt;" in text
    assert "Oui « &lt;b&gt;&amp;amp;&lt;/b&gt;." in text
    assert "30 &lt;days&gt;" in text
    assert "cancel, by the system" in text
    assert "no row: training leaves this sample out" in text
    # The last turn of each has no reply of its own.
    assert text.count("which later turns read") == 3
    assert "which later turns read" not in page(make(history="sampled"), ONE)
    assert not re.search(r"https?:|<script|<link|url\(", text)
