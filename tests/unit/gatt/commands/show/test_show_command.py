"""The command `gatt show` on a saved model folder."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from gatt.cli import main
from gatt.commands.show.view import lines_of, view_sample
from gatt.data.sample import TurnTarget
from gatt.train.config import TrainConfig
from tests.support.models.tiny import CHATML, sample, save_tiny_model, tiny_tokenizer, write_samples


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = save_tiny_model(tmp_path_factory.mktemp("model"))
    verdict = {"status": "fail", "evidence": "no French", "verifier": "language", "version": 1}
    gap = TurnTarget(2, None, "rejected", attempts=4, verdicts=(verdict,))
    second = sample(2)
    second = replace(second, targets=(second.targets[0], gap, second.targets[2]))
    write_samples(folder / "samples.jsonl", [sample(1), second])
    return folder


def show(folder, capsys, *words: str) -> tuple[int, str, str]:
    model = [] if "--config" in words else ["--model", str(folder)]
    status = main(["show", str(folder / "samples.jsonl"), *model, *words])
    out, err = capsys.readouterr()
    return status, out, err


def printed(config: TrainConfig) -> str:
    shown = view_sample(tiny_tokenizer(), sample(1), config)
    return "".join(f"{line}\n" for line in lines_of(shown))


def test_the_template_has_the_variables_of_the_run(tmp_path, capsys) -> None:
    template = CHATML.replace("assistant\n' }}", "assistant\n' + ('' if brief else '\n') }}")
    folder = save_tiny_model(tmp_path / "model", template)
    write_samples(folder / "samples.jsonl", [sample(1)])
    config = folder / "train.yaml"
    run = f"{{model: {folder}, samples: [s.jsonl], output_dir: out, chat_template_kwargs: {{brief: %s}}}}"
    for value, has_loss in (("true", "has"), ("false", "no")):
        config.write_text(run % value, encoding="utf-8")
        _, out, _ = show(folder, capsys, "--config", str(config))
        assert f"sampled, {has_loss} loss" in out


def test_a_gap_shows_its_reason_and_verdict(folder, capsys) -> None:
    _, out, _ = show(folder, capsys, "--id", "s-2")
    assert "sample s-2" in out
    assert "none: rejected" in out
    assert "language fail (no French)" in out
    assert "branch of turn 2" not in out
    assert "branch of turn 3" in out


def test_a_training_configuration_and_flags_upon_it(folder, capsys, tmp_path) -> None:
    # Neither samples nor output_dir, which a run may get on its command line.
    values = {"placement": "mixed", "history": "sampled", "seed": 5, "max_length": 250}
    values["max_tokens_per_row"] = 260
    path = tmp_path / "train.yaml"
    path.write_text(json.dumps({"model": str(folder), **values}))
    config = TrainConfig(samples=(Path("s.jsonl"),), output_dir=Path("out"), **values)
    _, out, _ = show(folder, capsys, "--config", str(path))
    assert out == printed(config)
    words = ["--placement=first_user", "--history=reference", "--max_tokens_per_row", "250"]
    _, out, _ = show(folder, capsys, "--config", str(path), *words)
    assert "placement first_user, history reference" in out
    changed = replace(config, placement="first_user", history="reference", max_tokens_per_row=250)
    assert out == printed(changed)


def test_attention_of_the_configuration_decides_on_the_layout(folder, capsys, tmp_path) -> None:
    path = tmp_path / "train.yaml"
    path.write_text(f"model: {json.dumps(str(folder))}\nattn_implementation: eager\n")
    _, out, _ = show(folder, capsys, "--config", str(path))
    assert "layout expanded" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--row", "3"], "samples.jsonl: no row 3: expected 1 to 2"),
        (["--id", "nobody"], "samples.jsonl: no sample 'nobody' among 2"),
        (["--row", "1", "--id", "s-1"], "not allowed with argument"),
    ],
)
def test_mistakes_are_one_line(folder, capsys, words, message) -> None:
    status, _, err = show(folder, capsys, *words)
    assert status == 2
    assert message in err
    assert err.count("\n") == 1


def test_a_page_holds_the_first_samples_or_the_one_that_is_named(folder, capsys, tmp_path) -> None:
    output = tmp_path / "page.html"
    for words, ids in (
        (["--num_samples=1"], ["s-1"]),
        (["--id=s-2"], ["s-2"]),
        ([], ["s-1", "s-2"]),
    ):
        status, out, _ = show(folder, capsys, f"--html={output}", *words)
        assert status == 0
        assert re.findall(r'<article id="(.*?)"', output.read_text("utf-8")) == ids
        assert f"{output}: {len(ids)} samples" in out
    assert show(folder, capsys, f"--html={output}", "--num_samples=0")[0] == 2
