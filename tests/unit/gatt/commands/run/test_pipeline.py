"""Whole runs: placeholders, all mistakes at once, order, and the file that stays."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from gatt.commands.run.command import execute_run
from gatt.errors import ConfigError, StaleError, StoreError
from gatt.stages.run_file import load_run


@dataclass(frozen=True, kw_only=True)
class Inner:
    rate: float = 0.5
    note: str = "into {run}"

    def __post_init__(self) -> None:
        if self.rate <= 0:
            raise ConfigError(f"rate is {self.rate}: expected above 0")


@dataclass(frozen=True, kw_only=True)
class Fake:
    output_dir: Path
    inputs: tuple[Path, ...] = ()
    named: Mapping[str, Path] = field(default_factory=dict)
    inner: Inner = field(default_factory=Inner)
    num: int = 1


class Stages:
    """Fake stages behind the entry points; `done` records what ran, in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done: list[tuple[str, Fake]] = []
        self.refuses: str | None = None
        self.stale: set[str] = set()
        self.entries: list[importlib.metadata.EntryPoint] = []
        for name in ("eval", "synth", "train"):
            module = ModuleType(f"fake_stage_{name}")
            vars(module).update(CONFIG=Fake, MODEL="inner.note", execute=self._executor(name))
            if name != "synth":
                vars(module).update(renew=self._renew)
            monkeypatch.setitem(sys.modules, module.__name__, module)
            entry = importlib.metadata.EntryPoint(name, module.__name__, "gatt.commands")
            self.entries.append(entry)
        monkeypatch.setattr(importlib.metadata, "entry_points", self._entry_points)

    def _entry_points(self, group: str) -> list[object]:
        # pydantic looks for its plug-ins by entry points too.
        return list(self.entries) if group == "gatt.commands" else []

    def _executor(self, name: str):
        def execute(config: Fake) -> str:
            if self.refuses == name:
                raise StoreError(f"{config.output_dir}: belongs to another configuration")
            if name in self.stale:
                raise StaleError(f"{config.output_dir}: other inputs", (name,))
            self.done.append((name, config))
            return f"{name} made it"

        return execute

    def _renew(self, config: Fake, error: StaleError) -> str:
        self.stale -= {*error.parts}
        return f"{config.output_dir.name} was stale"


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch) -> Stages:
    return Stages(monkeypatch)


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "file.yaml"
    path.write_text(text.replace("OUT", str(tmp_path / "out")), encoding="utf-8")
    return path


WHOLE = """
output_dir: OUT
eval: {output_dir: "{run}", named: {gatt: "{run}/train/adapter"}}
synth: {output_dir: "{run}/synth"}
train: {output_dir: "{run}/train", inputs: ["{run}/synth/a", "b"], inner: {note: "a {b}"}}
"""


def test_runs_all_stages_in_the_fixed_order_with_the_folder_filled_in(
    tmp_path, stages, capsys
) -> None:
    execute_run(load_run(write(tmp_path, WHOLE)))
    said = capsys.readouterr().out.splitlines()
    out = tmp_path / "out"
    assert [name for name, _ in stages.done] == ["synth", "train", "eval"]
    configs = dict(stages.done)
    assert configs["synth"].output_dir == out / "synth"
    assert configs["train"].inputs == (out / "synth" / "a", Path("b"))
    assert configs["eval"].named == {"gatt": out / "train" / "adapter"}
    assert configs["eval"].inner.note == f"into {out}"
    # Other braces in texts that are no paths stay.
    assert configs["train"].inner.note == "a {b}"
    assert said[0] == f"[1/3] synth -> {out}/synth"
    assert said[1].strip().startswith("synth made it [")
    assert said[4] == f"[3/3] eval -> {out}"
    assert said[-1].startswith("all 3 stages done in ")
    assert said[-1].endswith(f": {out}")


def test_the_resolved_file_gives_the_same_run_again(tmp_path, stages) -> None:
    run = load_run(write(tmp_path, WHOLE), ["train.num=7", "--train.inner.rate=1e-4"])
    execute_run(run)
    written = tmp_path / "out" / "run.yaml"
    assert written.read_text(encoding="utf-8").startswith("# Resolved configuration of: ")
    assert yaml.safe_load(written.read_text(encoding="utf-8"))["train"]["num"] == 7
    again = load_run(written)
    assert again.as_dict() == run.as_dict()
    assert run.as_dict()["train"]["inner"]["rate"] == 1e-4


def test_one_model_is_that_of_every_stage_that_names_no_other(tmp_path, stages) -> None:
    path = write(
        tmp_path,
        "output_dir: OUT\n"
        "model: 'a: b'\n"
        "synth: {output_dir: x}\n"
        "train: {output_dir: y, inner: {note: mine}}\n",
    )
    notes = lambda run: [stage.config.inner.note for stage in run.stages]  # noqa: E731
    assert notes(load_run(path)) == ["a: b", "mine"]
    assert notes(load_run(path, ["--model=m"])) == ["m", "mine"]
    assert notes(load_run(path, ["--model=m", "train.inner.note=n"])) == ["m", "n"]
    assert notes(load_run(path, ["--model='m'"])) == ["m", "mine"]
    assert notes(load_run(path, ["--train.inner={rate: 0.1}"])) == ["a: b", "a: b"]
    assert notes(load_run(path, ["--eval.output_dir=z"])) == ["a: b", "mine", "a: b"]
    own = f"into {tmp_path / 'out'}"
    assert notes(load_run(path, ["--model=null"])) == [own, "mine"]
    assert "model" not in load_run(path).as_dict()
    with pytest.raises(ConfigError, match="line 2: 'model' is 7"):
        load_run(write(tmp_path, "output_dir: OUT\nmodel: 7\ntrain: {output_dir: y}\n"))


def test_every_problem_of_every_stage_is_told_before_anything_runs(tmp_path, stages) -> None:
    path = write(
        tmp_path,
        "output_dir: OUT\n"
        "synth: {num: 1}\n"
        "train: {output_dir: x, inner: {rate: 0.0}}\n"
        "eval: {output_dir: y, nmu: 2}\n"
        "trian: {}\n",
    )
    with pytest.raises(ConfigError) as caught:
        load_run(path)
    text = str(caught.value)
    assert "line 2: missing key 'synth.output_dir'" in text
    assert "line 3: train.inner: rate is 0.0" in text
    assert "line 4: unknown key 'eval.nmu', did you mean 'eval.num'?" in text
    assert "line 5: unknown key 'trian', did you mean 'train'?" in text
    assert not stages.done
    assert not (tmp_path / "out").exists()


def test_a_file_that_makes_no_run(tmp_path, stages) -> None:
    with pytest.raises(ConfigError, match="no stage in it"):
        load_run(write(tmp_path, "output_dir: OUT\n"))
    with pytest.raises(ConfigError, match=r"'\{rnu\}/x'"):
        load_run(write(tmp_path, 'output_dir: OUT\ntrain: {output_dir: "{rnu}/x"}\n'))


def test_a_refused_stage_leaves_the_older_run_file(tmp_path, stages) -> None:
    path = write(tmp_path, WHOLE)
    execute_run(load_run(path))
    written = tmp_path / "out" / "run.yaml"
    before = written.read_text(encoding="utf-8")
    stages.refuses = "train"
    with pytest.raises(StoreError, match="belongs to another configuration"):
        execute_run(load_run(path, ["train.num=9"]))
    assert written.read_text(encoding="utf-8") == before
    assert [name for name, _ in stages.done] == ["synth", "train", "eval", "synth"]


def test_what_was_made_of_other_inputs_is_set_aside_with_a_line_and_made_anew(
    tmp_path, stages, capsys
) -> None:
    stages.stale = {"train", "eval"}
    execute_run(load_run(write(tmp_path, WHOLE)))
    assert [name for name, _ in stages.done] == ["synth", "train", "eval"]
    said = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert said[2:4] == [f"[2/3] train -> {tmp_path}/out/train", "train was stale"]
    assert "out was stale" in said
    # A stage that cannot set anything aside refuses.
    stages.stale = {"synth"}
    with pytest.raises(StaleError, match="other inputs"):
        execute_run(load_run(write(tmp_path, WHOLE)))


def test_a_check_refuses_before_any_stage_runs(tmp_path, stages) -> None:
    def check(config: Fake) -> None:
        raise StoreError(f"{config.output_dir}: cannot be measured")

    vars(sys.modules["fake_stage_eval"])["check"] = check
    with pytest.raises(StoreError, match=r"/out: "):
        execute_run(load_run(write(tmp_path, WHOLE)))
    assert stages.done == []
    assert not (tmp_path / "out").exists()
