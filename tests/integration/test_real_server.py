"""A real server, `transformers serve` with an export of the embedded model: started, asked, torn down."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, get_peft_model

from data_synth.config import SynthConfig, TeacherConfig
from data_synth.pipeline import run_synth
from eval.config import EvalConfig
from eval.records.samples import read_samples as read_replies
from eval.results.compare import compare
from eval.run import evaluate
from gatt.commands.export.command import ExportConfig
from gatt.commands.export.write import export
from gatt.data.catalog.choice import InstructionConfig
from gatt.data.dialogue import Message
from gatt.data.sample import read_samples
from gatt.errors import GenerationError
from gatt.generation.base import GenerationRequest, SamplingConfig, SamplingParams
from gatt.generation.config import EngineConfig, make_engine
from gatt.generation.servers.config import ServerConfig
from gatt.models.chat_template import encode
from gatt.models.load import load_model
from gatt.models.packaged.table import EMBEDDED
from gatt.sources.config import SourceConfig
from tests.support.runs.stages import write_dialogues

pytestmark = pytest.mark.integration

START_SECONDS = 150
GREEDY = SamplingParams(max_new_tokens=12, temperature=0.0, top_p=1.0)
USERS = ("Hi! How are you today?", "What is the capital of France?", "Name three fruits, please.")


@dataclass(frozen=True)
class Served:
    """A server that runs."""

    url: str
    model: str
    adapter: Path
    """What was merged into it."""

    def config(self, **changes: object) -> EngineConfig:
        settings = {"urls": (self.url,), "max_concurrency": 4, **changes}
        return EngineConfig(model=self.model, server=ServerConfig(**settings))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Return once the server says that it is well."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text(encoding="utf-8")[-3000:]
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.3)
    pytest.fail(f"no server after {START_SECONDS} s: {log.read_text(encoding='utf-8')[-3000:]}")


def save_random_adapter(folder: Path) -> None:
    """Write an adapter of the embedded model that changes its words a little."""
    settings = LoraConfig(task_type="CAUSAL_LM", r=4, target_modules=["q_proj", "v_proj"])
    torch.manual_seed(1)
    model = get_peft_model(load_model(EMBEDDED).model, settings)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                weight.normal_(std=0.05)
    model.peft_config["default"].base_model_name_or_path = EMBEDDED
    model.save_pretrained(folder)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    for name in ("gguf", "fastapi", "uvicorn", "openai"):
        pytest.importorskip(name)
    folder, port = tmp_path_factory.mktemp("server"), free_port()
    adapter, model, log = folder / "adapter", str(folder / "served"), folder / "log.txt"
    save_random_adapter(adapter)
    export(ExportConfig(adapter=adapter, output_dir=Path(model)))
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-c", "from transformers.cli.transformers import main; main()",
             "serve", model, "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"],
            env=env, stdout=stream, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        wait_for(f"http://127.0.0.1:{port}/health", process, log)
        yield Served(f"http://127.0.0.1:{port}/v1", model, adapter)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def test_greedy_replies_are_those_of_plain_generate(served: Served) -> None:
    requests = [GenerationRequest(str(n), (Message("user", u),)) for n, u in enumerate(USERS)]
    found = make_engine(served.config()).generate(requests, GREEDY)
    local = load_model(served.model)
    for request, reply in zip(requests, found, strict=True):
        ids = torch.tensor([encode(local.tokenizer, request.messages, add_generation_prompt=True)])
        out = local.model.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=12, do_sample=False
        )[0, ids.shape[1] :]
        assert reply.text == local.tokenizer.decode(out, skip_special_tokens=True).strip()
        # Counted from the limit on, not from the end-of-turn token, as this server does.
        assert reply.finish == ("length" if len(out) == 12 else "stop")
        assert reply.num_tokens == len(out)


def test_a_model_that_it_does_not_serve_is_refused(served: Served) -> None:
    request = GenerationRequest("k", (Message("user", "Hi"),))
    engine = make_engine(EngineConfig(model="another", server=served.config().server))
    with pytest.raises(GenerationError, match=r"status 400.*pinned"):
        engine.generate([request], GREEDY)


def test_samples_are_made_end_to_end(served: Served, tmp_path: Path) -> None:
    dialogues = write_dialogues(tmp_path / "d.jsonl", 6, 3)
    config = SynthConfig(
        output_dir=tmp_path / "synth",
        num_samples=4,
        plain_fraction=0.5,
        part=None,
        source=SourceConfig(name="jsonl", path=str(dialogues), min_turns=3, max_turns=3),
        instructions=InstructionConfig(families=("language",), num_entries=(1.0,)),
        teacher=TeacherConfig(
            engine=served.config(),
            sampling=SamplingConfig(max_new_tokens=24, temperature=0.7, top_p=0.9),
            prefill_attempts=0,
            hint_attempts=0,
        ),
        batch_samples=2,
    )
    result = run_synth(config)
    assert (result.num_samples, result.num_turns, result.num_new) == (4, 12, 4)
    assert result.num_targets >= 2
    for sample in read_samples(result.samples):
        assert sample.provenance["teacher"] == served.model
        for target in sample.targets:
            assert target.reply or target.reason
            assert target.attempts > 0
    again = run_synth(config)
    assert (again.num_new, again.num_targets) == (0, result.num_targets)


def test_verdicts_are_those_of_the_local_model_and_its_adapter(
    served: Served, tmp_path: Path
) -> None:
    common = {
        "source": SourceConfig(
            name="jsonl",
            path=str(write_dialogues(tmp_path / "d.jsonl", 6, 3)),
            min_turns=3,
            max_turns=3,
        ),
        "part": None,
        "num_dialogues": 2,
        "splits": ("train",),
        "turns": (1, 3),
        "probe_turns": (),
        "histories": ("own",),
        "sampling": SamplingConfig(max_new_tokens=8, temperature=0.0),
        "task_completion": False,
    }
    evaluate(
        EvalConfig(
            output_dir=tmp_path / "local",
            arms=("base", "gatt"),
            adapters={"gatt": served.adapter},
            engine=EngineConfig(),
            **common,
        )
    )
    # The merged model stands for the arm: it is asked under the name that it is served by.
    evaluate(
        EvalConfig(
            output_dir=tmp_path / "served",
            arms=("gatt",),
            adapters={"gatt": Path(served.model)},
            engine=served.config(),
            **common,
        )
    )
    found = compare(tmp_path / "local", tmp_path / "served")
    assert (found.total.num, found.num_only_left, found.num_other_prompts) == (4, 4, 0)
    assert found.total.num_same_verdicts == found.total.num_same_replies == 4, found.differences
    said = {(s.arm, s.key[2:]): s.reply for s in read_replies(tmp_path / "local" / "samples.jsonl")}
    # Else the adapter had no part in it.
    assert any(reply != said["gatt", key] for (arm, key), reply in said.items() if arm == "base")
