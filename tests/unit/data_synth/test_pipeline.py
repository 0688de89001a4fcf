"""`gatt synth` as a whole: resumable to the byte, refusing, and with a card that adds up."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from data_synth import pipeline
from data_synth.pipeline import load_source, run_synth
from gatt.cli import main
from gatt.config.load import save_config
from gatt.data.sample import read_samples
from gatt.errors import DataError, StoreError
from gatt.generation.base import Generation
from gatt.generation.config import EngineConfig
from gatt.sources.config import SourceConfig
from tests.support.runs.stages import RecordingEngine, write_model
from tests.support.runs.synth_runs import make, varied_reply

FILES = ("samples.jsonl", "README.md", "source.json", "config.yaml")


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
    # The counts of the card add up.
    card = (config.output_dir / "README.md").read_text(encoding="utf-8")
    families = table(card, "By family and split")
    assert [row[:2] for row in families] == [["hobby", "train"], ["plain", "none"]]
    assert [sum(int(row[n]) for row in families) for n in (2, 3, 4)] == [
        10, 30, result.num_targets,
    ]  # fmt: skip
    made = table(card, "Where targets come from")
    assert sum(int(row[-1]) for row in made) == result.num_targets
    refused = table(card, "Refused")
    assert sum(int(row[-1]) for row in refused) == 30 - result.num_targets
    assert {row[0] for row in refused if row[-2] != "0"} >= {"cut", "blank", "rejected"}
    head = yaml.safe_load(re.split(r"^---$", card, flags=re.MULTILINE)[1])
    assert head["configs"][0]["data_files"] == "samples.jsonl"


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


@pytest.mark.parametrize("num_rows", range(11))
def test_a_batch_is_redone_as_the_same_whole(config, num_rows) -> None:
    whole, engine = make(config)
    rows = whole.samples.read_bytes().splitlines(keepends=True)
    whole.samples.write_bytes(b"".join(rows[:num_rows]))
    result, again = make(config)
    assert whole.samples.read_bytes() == b"".join(rows)
    assert result.num_new == 10 - num_rows
    # What the engine is asked has the shape it had: nothing is batched anew.
    left = [call for call in engine.calls if call in again.calls]
    assert again.calls == left == engine.calls[len(engine.calls) - len(left) :]
    begun = {request.key.split("/")[0] for request in again.requests}
    first = num_rows - num_rows % 3 if num_rows < 10 else 10
    assert begun == {f"s{n:06d}" for n in range(first, 10)}


def test_rows_that_are_not_the_planned_ones_are_refused(config) -> None:
    result, _ = make(config)
    rows = result.samples.read_bytes().splitlines(keepends=True)
    for wrong, found in (
        ([rows[0], rows[2]], r"row 2 .*'s000002', expected 's000001'"),
        ([*rows, rows[3]], r"row 11 .*'s000003'"),
        ([b"{}\n"], r"row 1 .*None, expected 's000000'"),
    ):
        result.samples.write_bytes(b"".join(wrong))
        with pytest.raises(StoreError, match=found):
            make(config)
        assert result.samples.read_bytes() == b"".join(wrong)


def test_the_folder_and_the_limits_of_the_machine_decide_nothing(config, tmp_path) -> None:
    first, _ = make(config)
    engine = replace(config.teacher.engine, max_rows=5, max_cache_tokens=99, device="cpu")
    moved = replace(
        config, output_dir=tmp_path / "other", teacher=replace(config.teacher, engine=engine)
    )
    assert make(moved)[0].samples.read_bytes() == first.samples.read_bytes()
    assert make(replace(moved, output_dir=config.output_dir))[0].num_new == 0


def test_other_weights_under_the_same_name_are_another_run(config, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(pipeline, "make_engine", lambda *_: RecordingEngine(varied_reply))
    model = write_model(tmp_path / "model")
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_model.safetensors").write_bytes(b"weights")
    teacher = replace(config.teacher, engine=EngineConfig(model=str(model)), adapter=str(adapter))
    settings = replace(config, teacher=teacher)
    first = run_synth(settings)
    assert run_synth(settings) == replace(first, num_new=0)
    write_model(model, b"other")
    with pytest.raises(StoreError, match="teacher_weights"):
        run_synth(settings)
    write_model(model)
    (adapter / "adapter_model.safetensors").write_bytes(b"other")
    with pytest.raises(StoreError, match="adapter_weights"):
        run_synth(settings)


def test_other_rules_and_other_dialogues_are_another_run(config, monkeypatch) -> None:
    make(config)
    for name, changed in (("FILTERS_VERSION", -1), ("verifier_versions", dict)):
        with monkeypatch.context() as patch:
            patch.setattr(f"data_synth.run_folder.{name}", changed)
            with pytest.raises(StoreError, match=r"(filters|verifiers)"):
                make(config)
    path = Path(config.source.path or "")
    path.write_text(path.read_text("utf-8").replace('"id": "', '"id": "other-'), "utf-8")
    with pytest.raises(StoreError, match="10 on new dialogues"):
        make(config)


def test_a_run_without_any_target_is_refused_and_its_card_says_why(config) -> None:
    engine = RecordingEngine(lambda _: Generation("On and on", "length", 9))
    with pytest.raises(DataError, match=r"samples\.jsonl: .*30 turns .*README\.md"):
        run_synth(config, lambda: engine)
    card = (config.output_dir / "README.md").read_text(encoding="utf-8")
    assert re.search(r"\| cut \| the length limit cut the reply \| \d+ \| 30 \|", card)


def table(card: str, title: str) -> list[list[str]]:
    section = card.split(f"## {title}\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


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
    (told,) = [line for line in caplog.messages if "system message removed" in line]
    assert told.startswith(
        "source jsonl: 4 altered: system message removed (first: dialogue 'd-000')"
    )
    assert "put what must hold into a catalogue entry" in told
    card = (other.output_dir / "README.md").read_text(encoding="utf-8")
    assert "| system message removed | 4 | dialogue 'd-000' |" in card
    assert "are **not** in these samples: the instruction takes their place" in card


def test_the_command_runs_the_configuration_and_says_what_is_there(
    config, tmp_path, monkeypatch, capsys
) -> None:
    engine = RecordingEngine(varied_reply)
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


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        (["--workers", "many"], ("--workers", "'many'")),
        (["--workers", "0"], ("--workers", "0")),
        (["--workers", "2", "--ray.num_workers=2"], ("--workers", "ray.num_workers")),
        (["mrege"], ("'mrege'",)),
    ],
)
def test_words_that_make_no_sense_are_one_line(config, tmp_path, capsys, words, facts) -> None:
    save_config(config, tmp_path / "c.yaml")
    assert main(["synth", *words, "--config", str(tmp_path / "c.yaml")]) == 2
    error = capsys.readouterr().err
    assert [fact for fact in facts if fact not in error] == []
    assert error.count("\n") == 1


def test_questions_are_answered_under_the_seed_of_the_run(config) -> None:
    engine = RecordingEngine(lambda _: "On Sunday I play tennis and like gardening.")
    source = SourceConfig(name="questions", min_turns=2, max_turns=2, num=2)
    load_source(replace(config, seed=5, source=source), lambda: engine)
    assert {params.seed for _, params, _ in engine.calls} == {5}
    with pytest.raises(StoreError, match=r"dialogues\.jsonl"):
        load_source(replace(config, seed=5, source=source), lambda: engine, "other weights")
