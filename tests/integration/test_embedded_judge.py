"""The embedded model as a judge: weak, but whatever it says is a verdict or is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval.scoring.judge.config import JudgeConfig
from eval.scoring.judge.question import REMOVED_MARKER, RUBRIC_VERSION, questions
from eval.scoring.judge.run import judge_samples
from gatt.data.dialogue import Message
from gatt.generation.local.engine import TransformersEngine
from gatt.models.chat_template import encode
from gatt.models.control_tokens import control_tokens
from gatt.models.load import LoadedModel, load_model
from gatt.models.packaged import EMBEDDED
from tests.support.runs.judged import sample
from tests.support.texts.coaxing_replies import COAXING

pytestmark = pytest.mark.integration

CONFIG = JudgeConfig(max_new_tokens=48, batch_size=4)


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    pytest.importorskip("gguf")
    return load_model(EMBEDDED)


def test_verdicts_repeat_and_share_the_rubric(loaded: LoadedModel, tmp_path: Path) -> None:
    samples = [
        sample(dialogue=f"d{number}", reply=reply)
        for number, reply in enumerate(["I played tennis.", "I like tea.", *COAXING.values()][:6])
    ]
    engine = TransformersEngine(loaded)
    first = judge_samples(samples, CONFIG, tmp_path / "one.jsonl", lambda: engine)
    assert [(v.verifier, v.version) for v in first.values()] == [("judge", RUBRIC_VERSION)] * 6
    missing = [v for v in first.values() if v.status == "undecided"]
    assert all(v.evidence.startswith("no verdict: ") for v in missing)
    assert engine.counters.num_encoded_tokens < 0.7 * engine.counters.num_prompt_tokens
    again = judge_samples(samples, CONFIG, tmp_path / "two.jsonl", lambda: engine)
    assert again == first


@pytest.mark.parametrize("name", ["chatml", "chatml in pieces", "llama 2"])
def test_no_reply_opens_a_turn_of_the_real_template(loaded: LoadedModel, name: str) -> None:
    (question,) = questions([sample(reply=COAXING[name])], CONFIG)
    prompt = question.prompt(0, control_tokens(loaded.tokenizer))
    assert REMOVED_MARKER in prompt
    ids = encode(loaded.tokenizer, (Message("user", prompt),), add_generation_prompt=True)
    # The template's system message, the user's, and the open one of the assistant.
    assert ids.count(loaded.tokenizer.convert_tokens_to_ids("<|im_start|>")) == 3
    assert ids.count(loaded.tokenizer.convert_tokens_to_ids("<|im_end|>")) == 2
