"""The reply without sight of some tokens, against a forward with the mask written out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from eval.studies.attention.layout import lay_out
from eval.studies.attention.measure import INSTRUCTION, INTACT, OTHERS, greedy, hidden_replies
from gatt.data.views import prompt_of_turn, training_view
from gatt.generation.base import GenerationRequest, SamplingParams
from gatt.generation.local.engine import TransformersEngine
from gatt.models.load import LoadedModel
from tests.support.models.tiny import tiny_llama, tiny_tokenizer
from tests.support.runs.judged import sample
from tests.support.runs.stages import dialogue
from tests.unit.eval.studies.attention.test_weights import model

TOLD = "Always answer in French."
PROMPT = tuple(torch.randint(3, 290, (60,), generator=torch.Generator().manual_seed(3)).tolist())
BLIND_FROM = 40
HIDDEN: tuple[Sequence[int], ...] = ((), range(5, 20), (2, 30, 31, 39))


def written_out(name: str, hidden: Sequence[int], num: int) -> list[int]:
    """Return the likeliest tokens, the whole text read anew for each under a 4-D mask."""
    ids = list(PROMPT)
    for _ in range(num):
        length = len(ids)
        sees = torch.ones(length, length, dtype=torch.bool).tril()
        sees[BLIND_FROM:, list(hidden)] = False
        window = 21 if name == "mistral" else length
        at = torch.arange(length)
        sees &= at[:, None] - at[None] < window
        mask = torch.zeros(1, 1, length, length, dtype=torch.float64)
        mask.masked_fill_(~sees, torch.finfo(torch.float64).min)
        with torch.inference_mode():
            logits = model(name, "eager")(input_ids=torch.tensor([ids]), attention_mask=mask).logits
        ids.append(int(logits[0, -1].argmax()))
    return ids[len(PROMPT) :]


@pytest.mark.parametrize("name", ["llama", "mistral"])
def test_hidden_tokens_are_out_of_sight_from_there_on_and_only_from_there(name: str) -> None:
    with torch.inference_mode():
        found = greedy(model(name), PROMPT, BLIND_FROM, HIDDEN, 6, frozenset())
    assert found == [written_out(name, hidden, 6) for hidden in HIDDEN]
    assert len({tuple(output) for output in found}) > 1


def test_a_reply_ends_at_a_stop_token_and_waits_for_the_others() -> None:
    with torch.inference_mode():
        whole = greedy(model("llama"), PROMPT, BLIND_FROM, HIDDEN, 6, frozenset())
        stop = whole[0][2]
        found = greedy(model("llama"), PROMPT, BLIND_FROM, HIDDEN, 6, frozenset({stop}))
    assert found[0] == whole[0][: whole[0].index(stop) + 1]
    assert len(found[1]) == 6 or found[1][-1] == stop


@pytest.fixture(scope="module")
def engine() -> Any:
    tokenizer = tiny_tokenizer()
    return TransformersEngine(LoadedModel(tiny_llama(tokenizer, seed=2), tokenizer, "tiny"))


def test_with_all_in_sight_the_reply_is_the_engines_own(engine: TransformersEngine) -> None:
    said = (sample(turn=1, reply="Bonjour."), sample(turn=3, reply="Le port est calme."))
    layout = lay_out(engine.tokenizer, dialogue(1), TOLD, said)
    found = hidden_replies(engine, layout, None, 8, "seed")
    assert list(found) == [INTACT, INSTRUCTION, OTHERS]
    messages = prompt_of_turn(training_view(dialogue(1), TOLD), 3)
    params = SamplingParams(max_new_tokens=8, temperature=0.0)
    assert found[INTACT] == engine.generate([GenerationRequest("k", messages)], params)[0]
    assert found == hidden_replies(engine, layout, None, 8, "seed")


def test_turn_1_holds_the_instruction_in_its_prompt_and_is_not_asked(
    engine: TransformersEngine,
) -> None:
    layout = lay_out(engine.tokenizer, dialogue(1), TOLD, (sample(turn=1, reply="Bonjour."),))
    assert hidden_replies(engine, layout, None, 8, "seed") == {}
