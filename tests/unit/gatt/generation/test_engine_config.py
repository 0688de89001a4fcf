"""Engine settings, the scripted engine, and settings of instructions."""

from __future__ import annotations

import shutil

from gatt.data.dialogue import Message
from gatt.generation.base import Generation, GenerationRequest, SamplingParams
from gatt.generation.config import EngineConfig, local_engine
from gatt.generation.scripted import ScriptedEngine
from tests.support.models.trained import save_trained


def test_a_scripted_reply_is_cut_by_words_and_counted() -> None:
    engine = ScriptedEngine(lambda request: request.key)
    requests = [GenerationRequest(key, (Message("user", "a"),)) for key in ("one two", "1 2 3 4")]
    assert engine.generate(requests, SamplingParams(max_new_tokens=3)) == [
        Generation("one two", "stop", 2),
        Generation("1 2 3", "length", 3),
    ]
    assert engine.num_requests == 2


def test_an_adapter_of_another_model_is_told(tmp_path, caplog) -> None:
    base, adapter = save_trained(tmp_path)
    shutil.copytree(base, tmp_path / "fine_tuned")
    local_engine(EngineConfig(model=str(base), device="cpu"), {"gatt": adapter})
    assert "was trained on" not in caplog.text
    local_engine(EngineConfig(model=str(tmp_path / "fine_tuned"), device="cpu"), {"gatt": adapter})
    assert f"was trained on {base} and is used on {tmp_path / 'fine_tuned'}: " in caplog.text
