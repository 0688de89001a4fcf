"""Commands that take the folder of a run: its settings, its samples, its adapter, its evaluation."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from eval.commands.report import _evaluation_of
from eval.records.samples import RESULTS_SCHEMA
from eval.report.data.runs import read_runs
from gatt.cli import main
from gatt.commands.run.folder import talk_of, training_of, with_values
from gatt.config.load import save_config
from gatt.data.catalog.read import load_catalog
from gatt.errors import ConfigError
from gatt.stages.run_file import load_run
from tests.support.models.tiny import sample, save_tiny_model, write_samples


@pytest.fixture
def bot(tmp_path: Path) -> Path:
    """A run of `gatt init` whose samples are there, with a resolved run file beside them."""
    model, bot = save_tiny_model(tmp_path / "model"), tmp_path / "bot"
    main(["init", str(bot), "--model", str(model)])
    (bot / "run" / "synth").mkdir(parents=True)
    write_samples(bot / "run" / "synth" / "samples.jsonl", [sample(1), sample(2)])
    run = load_run(bot)
    (bot / "run" / "run.yaml").write_text(json.dumps(run.as_dict()), encoding="utf-8")
    return bot


def words(*overrides: str, config: Path | None = None) -> argparse.Namespace:
    return argparse.Namespace(config=config, overrides=[*overrides])


def test_samples_are_shown_as_their_run_trains_them(bot: Path, capsys) -> None:
    samples, trained = bot / "run/synth/samples.jsonl", load_run(bot).config_of("train")
    for place in (bot, bot / "run"):
        assert training_of(words(), [place]) == trained
    of_file = training_of(words("--max_length=77"), [samples])
    assert (of_file.model, of_file.history, of_file.max_length) == (trained.model, "reference", 77)
    assert of_file.samples == (samples,)
    assert training_of(words("model=m"), [bot]).model == "m"
    output = bot / "rows.jsonl"
    assert main(["rows", str(bot), "--format", "trl", "--output", str(output)]) == 0
    by_file = bot / "by_file.jsonl"
    assert main(["rows", str(samples), "--format", "trl", "--output", str(by_file)]) == 0
    assert output.read_bytes() == by_file.read_bytes() != b""
    assert main(["show", str(bot), "--row", "2"]) == 0
    assert "sea 2" in capsys.readouterr().out


def test_files_of_no_run_have_the_settings_of_config_or_the_defaults(tmp_path, caplog) -> None:
    samples = write_samples(tmp_path / "samples.jsonl", [sample(1)])
    default = training_of(words(), [samples])
    assert "defaults of training" in caplog.text
    file = tmp_path / "train.yaml"
    save_config(default, file)
    assert training_of(words("seed=3", config=file), [samples]).seed == 3


def test_samples_have_the_settings_of_their_own_run_alone(bot: Path, monkeypatch, caplog) -> None:
    run, synth = bot / "run", bot / "run" / "synth"
    model = load_run(bot).config_of("train").model
    file = run / "run.yaml"
    # As of a run that was started with a relative folder, elsewhere.
    file.write_text(file.read_text().replace(str(run), "bot/run"), encoding="utf-8")
    monkeypatch.chdir(synth)
    assert training_of(words(), [Path("samples.jsonl")]).model == model
    (run / "other").mkdir()
    others = write_samples(run / "other" / "samples.jsonl", [sample(1)])
    default = training_of(words(), [others]).model
    assert default != model
    (run / "other" / "run.yaml").write_text("setup: pip install\n", encoding="utf-8")
    caplog.clear()
    assert training_of(words(), [others]).model == default
    assert "other/run.yaml line 1" in caplog.text
    stages = json.loads(file.read_text(encoding="utf-8"))
    del stages["train"]
    file.write_text(json.dumps(stages), encoding="utf-8")
    assert training_of(words(), [synth / "samples.jsonl"]).model == default
    with pytest.raises(ConfigError, match="no stage train"):
        training_of(words("model=m"), [run])
    with pytest.raises(ConfigError, match="expected --adapter"):
        talk_of(run)
    assert talk_of(run, bot)["model"] is None


@pytest.mark.parametrize(
    ("places", "config", "fact"),
    [
        (["bot", "bot"], None, "other samples"),
        (["bot"], "bot/run.yaml", "--config"),
        (["model"], None, "without run.yaml"),
    ],
)
def test_folders_that_say_nothing(bot, places, config, fact) -> None:
    file = config and bot.parent / config
    with pytest.raises(ConfigError, match=fact):
        training_of(words(config=file or None), [bot.parent / place for place in places])


def test_a_talk_has_the_model_the_adapter_and_the_catalogue_of_its_run(bot: Path) -> None:
    with pytest.raises(ConfigError, match="no adapter yet: `gatt run"):
        talk_of(bot)
    assert talk_of(bot, bot.parent)["adapter"] == bot.parent
    adapter = bot / "run" / "train" / "adapter"
    adapter.mkdir(parents=True)
    values = talk_of(bot)
    assert values["model"] == str(bot.parent / "model")
    assert values["adapter"] == adapter
    assert [e.id for e in load_catalog(*map(Path, values["catalog"])).entries] == ["mine.rule"]
    args = argparse.Namespace(model="other", adapter=None, catalog=None)
    assert with_values(args, values).model == "other"
    assert with_values(args, values).adapter == adapter


def test_the_report_of_a_run_is_that_of_its_evaluation(bot: Path) -> None:
    assert _evaluation_of(bot) == bot / "run/eval"
    assert _evaluation_of(Path("nowhere")) == Path("nowhere")
    bot = bot.rename(bot.parent / "rate=0.1")
    (bot / "run/eval").mkdir()
    (bot / "run/eval/results.json").write_text(
        json.dumps({"schema": RESULTS_SCHEMA}), encoding="utf-8"
    )
    runs = read_runs([str(bot), f"mine={bot}"], _evaluation_of)
    assert [run.name for run in runs] == ["rate=0.1", "mine"]
    assert {run.folder for run in runs} == {bot / "run/eval"}
    (bot / "results.json").touch()
    assert _evaluation_of(bot) == bot
