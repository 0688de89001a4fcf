"""Chat templates of other projects: accepted, refused or falling back, and each for its reason."""

from __future__ import annotations

from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import pytest
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from gatt.comb.comb import IGNORE
from gatt.data.dialogue import Dialogue, Message
from gatt.errors import DataError, TemplateError
from gatt.models.chat_template import rendered_on
from gatt.models.encoded_view import encode_reply, encode_view, stop_token_ids
from gatt.models.template_facts import TemplateFacts, learnable_facts, usable_placement
from gatt.models.template_variables import set_template_variables
from gatt.train.config import TrainConfig
from gatt.train.data.labels import BuiltSample, Supervise
from gatt.train.data.rows import draw_sample, encode_sample
from tests.support.models.combs import written_out
from tests.support.models.foreign_templates import FOREIGN, Foreign, foreign
from tests.support.models.tiny import sample

TARGETS = ["Oui, toujours.", "Non.\n\nJamais !", "Si."]
ACCEPTED = [one for one in FOREIGN if one.outcome != "refused"]
DAY = date(2026, 6, 1)


@cache
def encoded(name: str, supervise: Supervise = "last_turn") -> tuple[BuiltSample, TemplateFacts]:
    (one,) = (one for one in FOREIGN if one.id == name)
    tokenizer = one.tokenizer()
    set_template_variables(tokenizer, one.variables)
    config = TrainConfig(
        samples=(Path("s"),), output_dir=Path("o"), max_length=4096, supervise=supervise
    )
    with rendered_on(DAY):
        facts = learnable_facts(tokenizer)
        placement = usable_placement("system", facts)
        one = draw_sample(sample(1, 3, targets=TARGETS), config, facts, placement)
        return encode_sample(one, tokenizer, config, facts), facts


def oracle(one: Foreign, turn: int, tokenizer: Any, placement: str) -> str:
    """Return the prompt of a turn from jinja alone, over messages written by hand."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols]
    )
    environment.filters["tojson"] = lambda value, **_: repr(value)

    def refuse(message: str) -> None:
        raise jinja2.TemplateError(message)

    told = "Always answer in French."
    messages = [{"role": "system", "content": told}] if placement == "system" else []
    for number in range(1, turn + 1):
        asked = f"What is the sea 1 like on day {number}?"
        if number == 1 and placement == "first_user":
            asked = f"{told}\n\n{asked}"
        messages.append({"role": "user", "content": asked})
        if number < turn:
            said = f"It is quiet {'and long ' * number}there."
            messages.append({"role": "assistant", "content": said})
    return environment.from_string(one.template()).render(
        messages=messages, add_generation_prompt=True, tools=None, documents=None,
        bos_token=tokenizer.bos_token, eos_token=tokenizer.eos_token, raise_exception=refuse,
        strftime_now=DAY.strftime, **one.variables,
    )  # fmt: skip


@pytest.mark.parametrize("one", FOREIGN, ids=lambda one: one.id)
def test_a_run_is_accepted_refused_or_falls_back_for_the_right_reason(one: Foreign) -> None:
    if one.outcome == "refused":
        with pytest.raises(TemplateError) as refused:
            encoded(one.id)
        line = str(refused.value)
    else:
        facts = encoded(one.id)[1]
        assert facts.is_prefix_preserving == (one.outcome == "comb")
        line = facts.note
    assert "\n" not in line
    assert [fact for fact in one.said if fact not in line] == []


@pytest.mark.parametrize("one", ACCEPTED, ids=lambda one: one.id)
def test_what_is_learned_is_the_reply_and_all_that_ends_its_turn(one: Foreign) -> None:
    """Every prompt is what jinja makes of the messages; its labels are the reply and the stop tokens."""
    found, facts = encoded(one.id)
    tokenizer = one.tokenizer()
    placement = "system" if facts.has_system else "first_user"
    learned = sorted(written_out(found), key=lambda row: len(row.trunk))
    assert len(learned) == len(TARGETS)
    for turn, (row, target) in enumerate(zip(learned, TARGETS, strict=True), start=1):
        start = row.trunk_labels.count(IGNORE)
        assert row.trunk_labels == (IGNORE,) * start + row.trunk[start:]
        assert tokenizer.decode(row.trunk[:start]) == oracle(one, turn, tokenizer, placement)
        assert tokenizer.decode(row.trunk[start:]) == f"{one.header}{target}{one.closing}"
        assert row.trunk[-1] in stop_token_ids(tokenizer)


@pytest.mark.parametrize("one", ACCEPTED, ids=lambda one: one.id)
def test_the_controls_learn_replies_of_the_history_to_their_ends(one: Foreign) -> None:
    found, _ = encoded(one.id, "context_only")
    tokenizer = one.tokenizer()
    runs: list[str] = []
    for row in written_out(found):
        open_run: list[int] = []
        for token, label in zip(row.trunk, row.trunk_labels, strict=True):
            if label != IGNORE:
                open_run.append(token)
            elif open_run:
                runs.append(tokenizer.decode(open_run))
                open_run = []
        runs += [tokenizer.decode(open_run)] if open_run else []
    header, end = one.in_history or (one.header, one.closing)
    said = ["It is quiet and long there.", "It is quiet and long and long there."]
    assert runs == [f"{header}{reply}{end}" for reply in said]


@pytest.mark.parametrize("name", ["deepseek_r1_0528", "deepseek_v3_1", "exaone4", "reka"])
def test_a_target_that_the_template_cuts_is_refused(name: str) -> None:
    """The target must be the sampled reply, not its end after `</think>`."""
    # As plain text, since a control token is refused before.
    tokenizer = foreign(name).tokenizer(without=("<think>", "</think>"))
    view = Dialogue("d-1", (Message("user", "Hello"),))
    prompt = encode_view(tokenizer, view).input_ids
    whole = encode_reply(tokenizer, view, 1, prompt, "Fine < /think> Bye")
    assert "Fine < /think> Bye" in tokenizer.decode(whole)
    with pytest.raises(DataError, match=r"'d-1', turn 1: .*another text than the reply.*</think>"):
        encode_reply(tokenizer, view, 1, prompt, "Fine </think> Bye")
