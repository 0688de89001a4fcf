"""`gatt eval` on the command line: the command that it prints can be run."""

from __future__ import annotations

import io
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import gatt.commands.chat.command as chat
from eval.cases.build import load_inputs
from eval.commands.eval import chat_line
from eval.config import EvalConfig
from gatt.cli import main
from gatt.generation.config import EngineConfig
from gatt.generation.servers.config import ServerConfig
from tests.support.runs.case_files import TEA, case_config, dialogue_config, write_case_file
from tests.support.runs.stages import RecordingEngine, write_adapter
from tests.support.servers.faulty_server import FaultyServer, always, completion, shorten_pauses

ROW = {
    "id": "tea-0",
    "user_turns": ["Hello!", "What should I read?"],
    "instruction": {"text": "-- Mention 'tea'\nalways.", "family": "behaviour", "verifiers": [TEA]},
}


def own_cases(folder: Path) -> EvalConfig:
    return case_config(folder, write_case_file(folder, [ROW]), turns=(1, 2))


def drawn_cases(folder: Path) -> EvalConfig:
    return dialogue_config(folder, splits=("train",), num_dialogues=1, num_plain=0)


@pytest.mark.parametrize("is_served", [False, True])
@pytest.mark.parametrize("make", [own_cases, drawn_cases])
def test_the_printed_command_runs(make, is_served: bool, tmp_path, monkeypatch, capsys) -> None:
    shorten_pauses(monkeypatch)
    monkeypatch.setattr(sys, "stdin", io.StringIO("Hello\n"))
    engine = RecordingEngine(lambda _: "Some tea?")
    engine.tokenizer = chat_tokenizer()  # type: ignore[attr-defined]
    monkeypatch.setattr(chat, "local_engine", lambda *_: engine)
    adapter = "lora-7" if is_served else str(write_adapter(tmp_path / "adapter"))
    config = replace(make(tmp_path), adapters={"gatt": adapter}, arms=("base", "gatt"))
    with FaultyServer(always(completion("Some tea?"))) as server:
        if is_served:
            served = ServerConfig(urls=(server.url,), omit=("top_p", "seed"))
            config = replace(config, engine=EngineConfig(model="base-1", server=served))
        case = load_inputs(config, config.instructions.load()).cases[0]
        line = chat_line(config, "gatt", case.instruction)
        assert main(shlex.split(line.partition("gatt ")[2])) == 0
    assert "Some tea?" in capsys.readouterr().out
    if is_served:
        assert [asked.body["model"] for asked in server.asked] == ["lora-7"]
        assert "seed" not in server.asked[0].body


def chat_tokenizer() -> object:
    from tests.support.models.tiny import tiny_tokenizer

    return tiny_tokenizer()
