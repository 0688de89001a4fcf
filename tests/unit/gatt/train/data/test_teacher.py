"""What the teacher of `distil` reads, word for word."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gatt.data.dialogue import Dialogue, Message
from gatt.data.expectation import Expectation
from gatt.data.sample import GattSample
from gatt.data.switches import Switch
from gatt.train.config import DistilSettings
from gatt.train.data.labels import BuiltSample, build_combs
from tests.support.models.built_rows import build
from tests.support.models.tiny import instruction, sample, tiny_tokenizer


def built(one: GattSample, max_length: int | None = None, **settings: Any) -> BuiltSample:
    return build_combs(
        tiny_tokenizer(),
        one,
        objective="distil",
        max_length=max_length,
        distil=DistilSettings(**settings),
    )


def read(one: BuiltSample) -> list[list[str]]:
    """Return the user messages that each comb of the teachers of a sample holds, without the rest."""
    texts = [
        tiny_tokenizer().decode(list(comb.trunk)) for p in one.parts for comb in p.comb.teacher
    ]
    opening = "<|im_start|>user\n"
    return [[said.split("<|im_end|>")[0] for said in t.split(opening)[1:]] for t in texts]


def asked(turn: int, told: str = "Always answer in French.") -> str:
    return f"{told}\n\nWhat is the sea 1 like on day {turn}?"


def test_the_instruction_on_every_turn() -> None:
    one = built(sample(1, 2))
    (comb,) = (part.comb for part in one.parts)
    assert tiny_tokenizer().decode(list(comb.teacher[0].trunk)) == (
        "<|im_start|>user\nAlways answer in French.\n\nWhat is the sea 1 like on day 1?<|im_end|>\n"
        "<|im_start|>assistant\nIt is quiet and long there.<|im_end|>\n"
        "<|im_start|>user\nAlways answer in French.\n\nWhat is the sea 1 like on day 2?<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    assert [b.labels for b in comb.teacher[0].branches] == [b.labels for b in comb.branches]
    assert "system" in tiny_tokenizer().decode(list(comb.trunk))


def test_the_request_to_be_brief_and_what_is_in_force() -> None:
    whole = sample(1, 3)
    change = Switch(
        2, "replace", "user", "From now on: Speak German.", instruction("Speak German.")
    )
    told = "Always answer in French. Be brief."
    one = built(replace(whole, switches=(change,)), brief="Be brief.")
    # The teacher reads what holds, and no announcement.
    later = (asked(turn, "Speak German. Be brief.") for turn in (2, 3))
    assert read(one) == [[asked(1, told), *later]]


def test_the_latest_exchanges_alone() -> None:
    one = sample(1, 3)
    assert read(built(one, context_turns=0)) == [[asked(1)], [asked(2)], [asked(3)]]
    # A prompt that begins the next one shares its comb.
    assert read(built(one, context_turns=1)) == [[asked(1), asked(2)], [asked(2), asked(3)]]
    expect = Expectation(("Bob",), kind="told")
    messages = (*one.dialogue.messages[:-1], Message("user", "Who am I?", expect=expect))
    told = replace(one, dialogue=Dialogue("d", messages))
    last = "Always answer in French.\n\nWho am I?"
    assert read(built(told, context_turns=0))[-1] == [asked(1), asked(2), last]


def test_both_lose_the_same_exchanges() -> None:
    whole = sample(1, 4)
    longest = built(whole).parts[0].comb.num_positions
    one = built(whole, max_length=longest - 1)
    # The student's prompt alone would fit.
    assert build_combs(tiny_tokenizer(), whole, max_length=longest - 1).num_exchanges_dropped == 0
    assert [part.turns for part in one.parts] == [(1, 2, 3), (1, 3, 4)]
    assert read(one) == [[asked(1), asked(2), asked(3)], [asked(1), asked(3), asked(4)]]


def test_a_reply_of_other_tokens_is_dropped_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """As under a template whose header depends on the messages."""
    import gatt.train.data.teacher as module

    encode = module.encode_reply

    def other(tokenizer: Any, view: Any, turn: int, *rest: Any) -> tuple[int, ...]:
        ids: tuple[int, ...] = encode(tokenizer, view, turn, *rest)
        return ids if turn != 2 else (7, *ids)

    monkeypatch.setattr(module, "encode_reply", other)
    rows, report = build([sample(1, 3)], objective="distil")
    assert (report.num_targets, report.num_wanted, list(report.dropped.values())) == (2, 3, [1])
    assert len(rows) == 1
    (told,) = built(sample(1, 3)).dropped_targets
    assert told.startswith("dialogue 'd-1', turn 2: ")
