"""`gatt synth` from the command line: `--workers`, and words that are none of its actions."""

from __future__ import annotations

import pytest

from gatt.cli import main
from gatt.config.load import save_config


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
