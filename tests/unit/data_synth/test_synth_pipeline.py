"""`gatt synth` as a whole: resumable to the byte, refusing, and with a card that adds up."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from datasets import load_dataset

from data_synth import pipeline
from data_synth.config import SynthConfig, TeacherConfig
from data_synth.pipeline import SynthResult, load_source, run_synth
from gatt.cli import main
from gatt.errors import CatalogError, DataError, StoreError
from gatt.generation.base import Generation, GenerationRequest
from gatt.generation.config import EngineConfig
from gatt.instruction_config import InstructionConfig
from gatt.sample import read_samples
from gatt.source_config import SourceConfig
from tests.support.stages import RecordingEngine, write_dialogues, write_model

FILES = ("samples.jsonl", "README.md", "source.json", "config.yaml")


@pytest.fixture
def config(tmp_path: Path) -> SynthConfig:
    return SynthConfig(
        output_dir=tmp_path / "out",
        num_samples=10,
        plain_fraction=0.2,
        part=None,
        source=SourceConfig(
            name="jsonl", path=str(write_dialogues(tmp_path / "d.jsonl")), min_turns=3, max_turns=3
        ),
        instructions=InstructionConfig(
            values=("tennis", "gardening"), families=("hobby",), num_entries=(1.0,)
        ),
        teacher=TeacherConfig(compose=False),
        batch_samples=3,
    )


@pytest.fixture(autouse=True)
def one_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold the commit still: runs are compared byte for byte, and somebody may commit meanwhile."""
    monkeypatch.setattr(pipeline, "provenance", lambda: {"commit": {"id": "c" * 40}})


def reply(request: GenerationRequest) -> str | Generation:
    """Accepted, rejected, blank or cut: fixed by the key, so equal whenever it is asked."""
    kind = sum(request.key.encode()) % 5
    if kind == 0:
        return Generation("We went home to", "length", 9)
    return ["", "We only stayed at home today.", "", "On Sunday I play tennis and like gardening."][
        kind - 1
    ]


def make(config: SynthConfig, **settings: int) -> tuple[SynthResult, RecordingEngine]:
    engine = RecordingEngine(reply, **settings)
    return run_synth(config, lambda: engine), engine


def test_a_run_leaves_samples_card_source_and_configuration(config) -> None:
    result, _ = make(config)
    samples = list(read_samples(result.samples))
    assert [s.id for s in samples] == [f"s{n:06d}" for n in range(10)]
    assert (result.num_samples, result.num_turns, result.num_new) == (10, 30, 10)
    assert result.num_targets == sum(s.num_targets for s in samples)
    assert 0 < result.num_targets < 30
    assert sum(s.instruction is None for s in samples) == 2
    assert all((config.output_dir / name).is_file() for name in FILES)
    assert json.loads((config.output_dir / "source.json").read_text())["num_kept"] == 6
    assert yaml.safe_load((config.output_dir / "config.yaml").read_text())["num_samples"] == 10
    assert samples[0].provenance["teacher"] == config.teacher.engine.model


@pytest.mark.parametrize("call", [1, 2, 7, 12])
def test_an_interrupted_run_goes_on_to_the_same_bytes(config, tmp_path, call) -> None:
    whole, engine = make(replace(config, output_dir=tmp_path / "whole"))
    with pytest.raises(KeyboardInterrupt):
        make(config, interrupt_at=call)
    path = config.output_dir / "samples.jsonl"
    kept = path.read_bytes()
    result, again = make(config)
    assert path.read_bytes().startswith(kept)
    assert path.read_bytes() == whole.samples.read_bytes()
    assert result.num_new == 10 - kept.count(b"\n")
    assert len(again.calls) <= len(engine.calls)
    if call == 12:
        assert kept
        assert len(again.calls) < len(engine.calls)


def test_a_second_run_makes_nothing_and_asks_nobody(config) -> None:
    first, _ = make(config)
    before = first.samples.read_bytes()
    second = run_synth(config, lambda: pytest.fail("an engine was made"))
    assert second == replace(first, num_new=0)
    assert first.samples.read_bytes() == before


def test_the_size_of_batches_and_the_folder_decide_nothing(config, tmp_path) -> None:
    first, _ = make(config)
    moved = replace(config, output_dir=tmp_path / "other", batch_samples=7)
    assert make(moved)[0].samples.read_bytes() == first.samples.read_bytes()
    same, _ = make(replace(config, batch_samples=1))
    assert same.num_new == 0


def test_another_configuration_in_the_same_folder_is_refused(config) -> None:
    first, _ = make(config)
    before = first.samples.read_bytes()
    with pytest.raises(StoreError, match=r"belongs to another run.*seed 0 -> 1"):
        make(replace(config, seed=1))
    assert first.samples.read_bytes() == before
    assert yaml.safe_load((config.output_dir / "config.yaml").read_text())["seed"] == 0


def test_other_weights_under_the_same_name_are_another_run(config, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(pipeline, "make_engine", lambda *_: RecordingEngine(reply))
    model = write_model(tmp_path / "model")
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_model.safetensors").write_bytes(b"weights")
    teacher = replace(config.teacher, engine=EngineConfig(model=str(model)), adapter=str(adapter))
    settings = replace(config, teacher=teacher)
    first = run_synth(settings)
    assert run_synth(settings) == replace(first, num_new=0)
    write_model(model, b"other")
    with pytest.raises(StoreError, match=r"belongs to another run.*teacher_weights"):
        run_synth(settings)
    write_model(model)
    (adapter / "adapter_model.safetensors").write_bytes(b"other")
    with pytest.raises(StoreError, match=r"belongs to another run.*adapter_weights"):
        run_synth(settings)


def test_changed_dialogues_in_the_same_file_are_another_run(config) -> None:
    make(config)
    write_dialogues(Path(config.source.path or ""), num=5)
    with pytest.raises(StoreError, match="belongs to another run: fingerprint"):
        make(config)


def test_datasets_reads_the_file_as_it_is(config, tmp_path) -> None:
    result, _ = make(config)
    rows = load_dataset(
        "json", data_files=str(result.samples), split="train", cache_dir=str(tmp_path / "cache")
    )
    assert rows["id"] == [s.id for s in read_samples(result.samples)]
    assert rows[0]["turns"][0]["turn"] == 1
    assert rows[0]["instruction"]["families"] == ["hobby"]


def test_a_run_without_any_target_is_refused_and_its_card_says_why(config) -> None:
    engine = RecordingEngine(lambda _: Generation("On and on", "length", 9))
    with pytest.raises(DataError, match=r"samples.jsonl: none of 30 turns has a target.*README.md"):
        run_synth(config, lambda: engine)
    card = (config.output_dir / "README.md").read_text(encoding="utf-8")
    assert "| cut | the length limit cut the reply | 30 |" in card


def table(card: str, title: str) -> list[list[str]]:
    section = card.split(f"## {title}\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_the_counts_of_the_card_add_up(config) -> None:
    result, _ = make(config)
    card = (config.output_dir / "README.md").read_text(encoding="utf-8")
    families = table(card, "By family and split")
    assert [row[:2] for row in families] == [["hobby", "train"], ["plain", "none"]]
    assert [sum(int(row[n]) for row in families) for n in (2, 3, 4)] == [
        10, 30, result.num_targets,
    ]  # fmt: skip
    for title in ("Where targets come from", "Draws until accepted"):
        assert sum(int(row[-1]) for row in table(card, title)) == result.num_targets
    gaps = table(card, "Turns without a target")
    assert sum(int(row[-1]) for row in gaps) == 30 - result.num_targets
    assert {row[0] for row in gaps} <= {"cut", "blank", "rejected"}
    head = yaml.safe_load(re.split(r"^---$", card, flags=re.MULTILINE)[1])
    assert head["configs"][0]["data_files"] == "samples.jsonl"


def test_removed_system_messages_are_told_in_the_log_and_on_the_card(config, caplog) -> None:
    path = Path(config.source.path or "")
    make(config)
    plain_card = (config.output_dir / "README.md").read_text(encoding="utf-8")
    assert "system message" not in plain_card + caplog.text
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for row in rows[:4]:
        row["messages"].insert(0, {"role": "system", "content": "You work for Acme."})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    other = replace(config, output_dir=config.output_dir.with_name("other"))
    make(other)
    (told,) = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    assert told.startswith("source jsonl: 4 dialogues had a system message of their own, which was")
    card = (other.output_dir / "README.md").read_text(encoding="utf-8")
    assert "| system message removed | 4 |" in card
    assert "are **not** in these samples: the instruction takes their place" in card


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"families": ("hoby",)}, "unknown family 'hoby', did you mean 'hobby'"),
        ({"families": (), "values": ("Klingon",)}, "no catalogue entry with value 'Klingon'"),
    ],
)
def test_an_unknown_choice_is_refused_before_anything_is_written(config, choice, message) -> None:
    wrong = replace(config, instructions=replace(config.instructions, **choice))
    with pytest.raises(CatalogError, match=message):
        make(wrong)
    assert not config.output_dir.exists()


def test_a_language_that_no_verifier_knows_is_one_line(config, tmp_path) -> None:
    entry = {
        "id": "language.tlh", "value": "Klingon", "verbose": ["Speak Klingon."],
        "terse": "Language: Klingon.", "verifiers": [{"kind": "language", "language": "tlh"}],
    }  # fmt: skip
    folder = tmp_path / "catalog"
    folder.mkdir()
    (folder / "l.yaml").write_text(yaml.safe_dump({"family": "language", "entries": [entry]}))
    wrong = replace(config, instructions=InstructionConfig(catalog=(str(folder),)))
    with pytest.raises(CatalogError, match=r"l.yaml: entry 'language.tlh': .*tlh"):
        make(wrong)


def test_the_command_runs_the_configuration_and_says_what_is_there(
    config, tmp_path, monkeypatch, capsys
) -> None:
    engine = RecordingEngine(reply)
    monkeypatch.setattr(pipeline, "make_engine", lambda *_: engine)
    path = tmp_path / "synth.yaml"
    path.write_text(
        f"output_dir: {config.output_dir}\nnum_samples: 4\npart: null\n"
        f"source: {{name: jsonl, path: {config.source.path}, min_turns: 3, max_turns: 3}}\n"
        "instructions: {values: [tennis], num_entries: [1.0]}\n"
        f"teacher: {{engine: {{model: {write_model(tmp_path / 'model')}}}}}\n",
        encoding="utf-8",
    )
    for state in ("4 new", "all of them stood there already"):
        assert main(["synth", "--config", str(path)]) == 0
        assert f"4 samples ({state})" in capsys.readouterr().out
    assert main(["synth", "--config", str(path), "--seed", "9"]) == 2
    error = capsys.readouterr().err
    assert "belongs to another run" in error
    assert "Traceback" not in error


def test_questions_are_answered_under_the_seed_of_the_run(config) -> None:
    engine = RecordingEngine(lambda _: "On Sunday I play tennis and like gardening.")
    source = SourceConfig(name="questions", min_turns=2, max_turns=2, num=2)
    load_source(replace(config, seed=5, source=source), lambda: engine)
    assert {params.seed for _, params, _ in engine.calls} == {5}
    with pytest.raises(StoreError, match=r"dialogues.jsonl: belongs to another run"):
        load_source(replace(config, seed=5, source=source), lambda: engine, "other weights")
