"""A real server, `transformers serve` with an export of the embedded model: started, asked, torn down."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, get_peft_model

from data_synth.pipeline import run_synth
from eval.records.samples import read_samples as read_replies
from eval.run import evaluate
from gatt.commands.export.command import ExportConfig
from gatt.commands.export.write import export
from gatt.data.dialogue import Message
from gatt.data.sample import read_samples
from gatt.errors import GenerationError
from gatt.generation.base import GenerationRequest, SamplingConfig, SamplingParams
from gatt.generation.config import EngineConfig, make_engine
from gatt.generation.local.engine import TransformersEngine
from gatt.generation.servers.config import ServerConfig
from gatt.generation.servers.started import start_servers
from gatt.models.load import load_model
from gatt.models.packaged import EMBEDDED
from tests.support.models.engine_prompts import reference
from tests.support.models.tiny import randomise
from tests.support.runs.case_files import dialogue_config
from tests.support.runs.synth_runs import synth_config

pytestmark = pytest.mark.integration

GREEDY = SamplingParams(max_new_tokens=12, temperature=0.0, top_p=1.0)
USERS = ("Hi! How are you today?", "What is the capital of France?", "Name three fruits, please.")


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An adapter of the embedded model that changes its words a little."""
    pytest.importorskip("gguf")
    torch.manual_seed(1)
    settings = LoraConfig(task_type="CAUSAL_LM", r=4, target_modules=["q_proj", "v_proj"])
    model = get_peft_model(load_model(EMBEDDED).model, settings)
    randomise(model)
    model.peft_config["default"].base_model_name_or_path = EMBEDDED
    folder = tmp_path_factory.mktemp("adapter")
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def served(adapter: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineConfig]:
    """Serve the embedded model with the adapter merged into it; yield how it is asked."""
    for name in ("fastapi", "uvicorn", "openai"):
        pytest.importorskip(name)
    model = str(tmp_path_factory.mktemp("server") / "served")
    export(ExportConfig(adapter=adapter, output_dir=Path(model)))
    config = ServerConfig(start="transformers", start_words=("--device", "cpu"), max_concurrency=4)
    servers = start_servers(config, model, {})
    yield EngineConfig(model=servers.name, server=servers.config)
    servers.stop()


def test_greedy_replies_are_those_of_plain_generate(served: EngineConfig) -> None:
    requests = [GenerationRequest(str(n), (Message("user", u),)) for n, u in enumerate(USERS)]
    found = make_engine(served).generate(requests, GREEDY)
    local = TransformersEngine(load_model(served.model))
    # A reply is counted from the limit on, not from the end-of-turn token, as this server does.
    assert found == [reference(local, local.model, request, GREEDY) for request in requests]
    with pytest.raises(GenerationError, match=r"status 400.*pinned"):
        make_engine(replace(served, model="another")).generate(requests, GREEDY)


def test_samples_are_made_end_to_end(served: EngineConfig, tmp_path: Path) -> None:
    config = synth_config(tmp_path, num_samples=4, plain_fraction=0.5, batch_samples=2)
    sampling = SamplingConfig(max_new_tokens=24, temperature=0.7, top_p=0.9)
    teacher = replace(
        config.teacher, engine=served, sampling=sampling, prefill_attempts=0, hint_attempts=0
    )
    config = replace(config, teacher=teacher)
    result = run_synth(config)
    assert (result.num_samples, result.num_turns, result.num_new) == (4, 12, 4)
    assert result.num_targets >= 2
    for sample in read_samples(result.samples):
        assert sample.provenance["teacher"] == served.model
        assert all((t.reply or t.reason) and t.attempts > 0 for t in sample.targets)
    again = run_synth(config)
    assert (again.num_new, again.num_targets) == (0, result.num_targets)


def test_verdicts_are_those_of_the_local_model_and_its_adapter(served, adapter, tmp_path) -> None:
    local = dialogue_config(
        tmp_path,
        output_dir=tmp_path / "local",
        arms=("base", "gatt"),
        adapters={"gatt": adapter},
        num_dialogues=2,
        turns=(1, 3),
        probe_turns=(),
        histories=("own",),
        sampling=SamplingConfig(max_new_tokens=8, temperature=0.0),
    )
    evaluate(local)
    # The merged model stands for the arm: it is asked under the name that it is served by.
    asked = replace(local, output_dir=tmp_path / "served", arms=("gatt",), engine=served)
    evaluate(replace(asked, adapters={"gatt": Path(served.model)}))
    said, merged = (
        {s.key: (s.reply, s.status) for s in read_replies(tmp_path / folder / "samples.jsonl")}
        for folder in ("local", "served")
    )
    assert (len(said), len(merged)) == (8, 4)
    assert all(said[key] == reply for key, reply in merged.items())
    # Else the adapter had no part in it.
    assert any(said["base", *key[1:]] != reply for key, reply in merged.items())
