"""What is said before a table is read: arms that cannot differ, silent arms, other decoding."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eval import run as run_module
from eval.commands.eval import execute
from eval.config import EvalConfig
from eval.records.samples import Sample
from eval.results.checks import checks
from eval.run import evaluate
from gatt.generation.base import SamplingConfig
from gatt.generation.config import EngineConfig
from gatt.generation.scripted import ScriptedEngine
from gatt.generation.servers.config import ServerConfig
from gatt.models.generation_defaults import FILE, own_decoding
from tests.support.runs.case_files import dialogue_config
from tests.support.runs.judged import sample
from tests.support.runs.stages import write_model
from tests.support.servers.faulty_server import FaultyServer

SERVER = ServerConfig(urls=("http://127.0.0.1:1/v1",))


@pytest.fixture
def config(tmp_path: Path) -> EvalConfig:
    return EvalConfig(
        output_dir=tmp_path / "run",
        adapters={"gatt": Path("gatt")},
        arms=("base", "base+system+reminder", "gatt"),
        engine=EngineConfig(model="m", server=SERVER),
    )


def samples(reply: Callable[[str, int], str], num: int = 20, **changes: Any) -> list[Sample]:
    """Return replies of three arms to different messages."""
    return [
        sample(arm=arm, turn=turn, user=f"message {turn}", reply=reply(arm, turn), **changes)
        for arm in ("base", "base+system+reminder", "gatt")
        for turn in range(1, num + 1)
    ]


def test_nothing_is_said_where_all_is_well(config) -> None:
    assert (
        checks(config, samples(lambda arm, turn: f"{arm} at {turn}"), {"num_replies": 60}, {}) == []
    )
    assert checks(config, [], {}, {}) == []


@pytest.mark.parametrize(
    ("reply", "changes", "facts"),
    [
        (
            lambda a, t: f"r{t}" if a != "base+system+reminder" else f"x{t}",
            {}, ("gatt", "base", "20 of 20", "/v1/models"),
        ),
        # A server's batches may change a word here and there.
        (
            lambda a, t: f"r{t}" if a != "base+system+reminder" and (a, t) != ("gatt", 7) else f"x{t}",
            {}, ("gatt", "19 of 20"),
        ),
        (lambda a, t: f"r{t}" if a != "gatt" else f"x{t}", {}, ("base+system+reminder", "base", "repeated")),
        (lambda a, t: "" if a == "gatt" else f"{a}{t}", {}, ("20 of 20", "gatt", "empty", "stop 20")),
        (lambda a, t: " \n" if a == "gatt" and t < 4 else f"{a}{t}", {}, ("3 of 20", "gatt", "empty")),
        (lambda a, t: "Busy." if a == "gatt" else f"{a}{t}", {}, ("20 of 20", "gatt", "'Busy.'")),
    ],
)  # fmt: skip
def test_each_reason_is_one_line(config, reply, changes, facts) -> None:
    [line] = checks(config, samples(reply, **changes), {}, {})
    assert [fact for fact in facts if fact not in line] == []


def test_an_adapter_that_changes_nothing_is_named_with_its_folder(config) -> None:
    here = replace(config, engine=EngineConfig(), adapters={"gatt": Path("runs/adapter")})
    alike = samples(lambda arm, turn: f"r{turn}" if arm != "base+system+reminder" else f"x{turn}")
    [line] = checks(here, alike, {}, {})
    assert [fact for fact in ("runs/adapter", "20 of 20") if fact not in line] == []


def test_arms_without_an_instruction_to_repeat_may_be_alike(config) -> None:
    plain = samples(
        lambda arm, turn: f"r{turn}" if arm != "gatt" else "x" * turn,
        instruction=None, split="none", family="none",
    )  # fmt: skip
    assert checks(config, plain, {}, {}) == []


@pytest.mark.parametrize(("finish", "num"), [("length", 3), ("context_limit", 0)])
def test_replies_that_are_cut_or_have_no_room(config, finish: str, num: int) -> None:
    cut = samples(lambda arm, turn: f"{arm}{turn}", finish=finish)
    assert len(checks(config, cut, {}, {})) == num
    # Turns without room are told by the limits of a run, unless there is nothing else.
    half = [replace(s, reply="") if s.turn > 10 else s for s in cut]
    assert [line for line in checks(config, half, {}, {}) if "empty" in line and not num] == []


def test_the_decoding_of_servers(config) -> None:
    well = samples(lambda arm, turn: f"{arm} at {turn}")
    [line] = checks(config, well, {"num_replies": 60, "num_not_neutral": 58}, {})
    assert "58 of 60" in line
    for extra, temperature, num in (
        ({"repetition_penalty": 1.3}, 0.0, 1), ({"top_k": 5}, 0.0, 0), ({"top_k": 5}, 0.7, 1),
        ({"top_k": -1, "min_p": 0}, 0.7, 0), ({"chat_template_kwargs": {}}, 0.7, 0),
    ):  # fmt: skip
        engine = EngineConfig(model="m", server=replace(SERVER, extra_body=extra))
        other = replace(config, engine=engine, sampling=SamplingConfig(temperature=temperature))
        assert len(checks(other, well, {}, {})) == num, extra
    left_out = EngineConfig(model="m", server=replace(SERVER, omit=("temperature", "seed")))
    [line] = checks(replace(config, engine=left_out), well, {}, {})
    assert "temperature" in line


@pytest.mark.parametrize(
    ("text", "greedy", "drawn"),
    [
        ('{"repetition_penalty": 1.1, "top_k": 20, "temperature": 0.6}', {"repetition_penalty"}, {"top_k"}),
        ('{"repetition_penalty": 1.0, "top_k": 0, "min_p": 0.0, "eos_token_id": 2}', set(), set()),
        ('{"no_repeat_ngram_size": 3, "suppress_tokens": null}', {"no_repeat_ngram_size"}, set()),
        ("[1]", set(), set()),
        ("{", set(), set()),
        (None, set(), set()),
    ],
)  # fmt: skip
def test_what_a_model_folder_asks_for(tmp_path: Path, text, greedy, drawn) -> None:
    folder = write_model(tmp_path / "model")
    if text is not None:
        (folder / FILE).write_text(text, encoding="utf-8")
    assert own_decoding(str(folder), is_greedy=True).keys() == greedy
    assert own_decoding(str(folder), is_greedy=False).keys() == greedy | drawn


def test_a_server_that_ignores_the_model_is_told_in_the_terminal_and_the_report(
    tmp_path: Path, capsys
) -> None:
    with FaultyServer() as server:
        config = dialogue_config(
            tmp_path,
            arms=("base", "gatt"),
            adapters={"gatt": Path("gatt")},
            engine=EngineConfig(model="m", server=ServerConfig(urls=(server.url,))),
        )
        said = execute(config)
        [line] = evaluate(config).results["checks"]
    printed = " ".join(capsys.readouterr().out.split())
    # The server says that it had two of three prompt tokens before.
    assert "67% of the prompt tokens" in said
    assert printed.startswith(f"! {line}")
    results = json.loads((config.output_dir / "results.json").read_text(encoding="utf-8"))
    assert results["checks"] == [line]
    page = (config.output_dir / "report.html").read_text(encoding="utf-8")
    assert line.split(":")[0] in page


def test_what_a_local_model_asks_for_and_does_not_get_is_told(tmp_path: Path, monkeypatch) -> None:
    model = write_model(tmp_path / "model")
    (model / FILE).write_text('{"repetition_penalty": 1.1}', encoding="utf-8")
    config = dialogue_config(tmp_path, engine=EngineConfig(model=str(model)))
    engine = ScriptedEngine(lambda request: request.key)
    monkeypatch.setattr(run_module, "make_engine", lambda *_: engine)
    [line] = evaluate(config).results["checks"]
    assert "repetition_penalty 1.1" in line
    # An engine of one's own has nothing to do with the folder.
    other = replace(config, output_dir=tmp_path / "other")
    assert evaluate(other, lambda: engine).results["checks"] == []
