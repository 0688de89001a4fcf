"""Which tokens are the instruction's and the replies': by their text, and by hand."""

from __future__ import annotations

import pytest

from eval.studies.attention.measure import instruction_span, lay_out
from gatt.data.dialogue import Dialogue, Message
from gatt.errors import DataError, TemplateError
from tests.support.models.tiny import CHATML, tiny_tokenizer
from tests.support.runs.judged import sample
from tests.support.runs.stages import dialogue

TOLD = "Always answer in French."


@pytest.mark.parametrize("placement", ["system", "first_user"])
@pytest.mark.parametrize("told", [TOLD, "Q", "Figure: Napoleon.\n"])
def test_the_span_holds_the_instruction_and_nothing_else(placement, told) -> None:
    tokenizer = tiny_tokenizer()
    own = Dialogue("d", (Message("system", "Be kind to French Q."), *dialogue(1).messages))
    for given in (dialogue(1), own):
        found = lay_out(
            tokenizer, given, told, (sample(turn=2, reply="Bonjour."),), placement=placement
        )
        text = tokenizer.decode(found.trunk[slice(*found.instruction)])
        assert text.strip() == told.strip()
        before = tokenizer.decode(found.trunk[: found.instruction[0]])
        assert ("Be kind" in before) == (given is own)


def test_targets_and_prompts_lie_where_the_template_puts_them() -> None:
    tokenizer = tiny_tokenizer()
    replies = (
        sample(turn=1, reply="Bonjour."),
        sample(turn=2, reply="  "),
        sample(turn=3, reply="Le port", finish="length"),
    )
    found = lay_out(tokenizer, dialogue(1), TOLD, replies)
    assert [t.sample.turn for t in found.targets] == [1, 3]
    assert tokenizer.decode(found.targets[0].input_ids) == "Bonjour.<|im_end|>"
    assert tokenizer.decode(found.targets[1].input_ids) == "Le port"
    last = tokenizer.decode(found.trunk[found.last_prompt :])
    asked = dialogue(1).user_turns[2]
    assert last == f"\n<|im_start|>user\n{asked}<|im_end|>\n<|im_start|>assistant\n"
    assert len(found.trunk) == found.targets[1].fork


def test_replies_behind_the_context_are_left_out_and_counted() -> None:
    tokenizer = tiny_tokenizer()
    replies = [sample(turn=turn, reply="Bonjour.") for turn in (1, 2, 3)]
    whole = lay_out(tokenizer, dialogue(1), TOLD, replies)
    assert len(whole.targets) == 3
    two = lay_out(tokenizer, dialogue(1), TOLD, replies, max_tokens=whole.targets[2].fork)
    assert len(two.targets) == 2
    assert len(two.trunk) == whole.targets[1].fork
    for kept, most in ((replies, 5), ([sample(turn=1, reply=" ")], None), ([], None)):
        with pytest.raises(DataError, match="no reply with text"):
            lay_out(tokenizer, dialogue(1), TOLD, kept, max_tokens=most)


def test_an_instruction_that_cannot_be_found_is_one_line() -> None:
    shouting = CHATML.replace("m['content']", "m['content'] | upper")
    with pytest.raises(TemplateError, match="instruction"):
        instruction_span(tiny_tokenizer(shouting), dialogue(1), TOLD, "system")
