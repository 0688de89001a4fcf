"""Configurations: strict types, every problem at once, and a lossless way back to YAML."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from eval.config import EvalConfig
from gatt.config.load import (
    Field,
    config_dict,
    describe,
    fingerprint,
    load_config,
    save_config,
    to_yaml,
)
from gatt.errors import ConfigError, StoreError
from gatt.train.config import TrainConfig


@dataclass(frozen=True, kw_only=True)
class Optimiser:
    learning_rate: float = 1e-4
    """Peak learning rate,
    above 0."""
    num_steps: int = 10
    warmup: int | Literal["auto"] = "auto"
    layout: Literal["comb", "expanded"] = "comb"
    bf16: bool = False

    def __post_init__(self) -> None:
        if self.learning_rate <= 0:
            raise ConfigError(f"learning_rate is {self.learning_rate}: expected above 0")
        if self.num_steps < 0:
            raise ValueError(f"num_steps is {self.num_steps}: expected 0 or more")


@dataclass(frozen=True, kw_only=True, slots=True)
class Base:
    name: str = "x"
    """Inherited documentation."""


@dataclass(frozen=True, kw_only=True)
class Config(Base):
    model: str
    """What to train."""
    train: Optimiser = field(default_factory=lambda: Optimiser(num_steps=7))
    second: Optimiser | None = None
    folder: Path = Path("runs")
    """Where it goes."""
    adapter: str | None = None
    languages: tuple[str, ...] = ()
    pair: tuple[int, float] = (1, 2.0)
    weights: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.model == "bad":
            raise ValueError("model is 'bad': expected a good one")


def load(*overrides: str) -> Config:
    return load_config(Config, None, ["model=m", *overrides])


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "x.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def problems(path: Path | None, *overrides: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_config(Config, path, overrides)
    text = str(caught.value)
    assert "\n" not in text
    return text.replace(str(path), "x.yaml").split("; ")


def test_a_file_gives_typed_values_and_overrides_win(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "model: m\nfolder: out\nlanguages: [no, 'yes', on]\npair: [1, 2]\nweights: {no: 1}\n"
        "train: &t {learning_rate: 1e-5, warmup: 3}\nsecond: {<<: *t, warmup: 4}\n",
    )
    config = load_config(Config, path, ["--train.warmup", "5", "--train.bf16=true", "name=n"])
    assert config == Config(
        model="m",
        name="n",
        folder=Path("out"),
        languages=("no", "yes", "on"),
        pair=(1, 2.0),
        weights={"no": 1.0},
        train=Optimiser(learning_rate=1e-5, num_steps=7, warmup=5, bf16=True),
        second=Optimiser(learning_rate=1e-5, warmup=4),
    )


@pytest.mark.parametrize(
    ("override", "key", "expected"),
    [
        ("train.learning_rate=1e-4", "learning_rate", 1e-4),
        ("train.learning_rate=2", "learning_rate", 2.0),
        ("train.learning_rate=.5", "learning_rate", 0.5),
        ("train.num_steps=1_000", "num_steps", 1000),
        ("train.num_steps=010", "num_steps", 10),
        ("train.num_steps=0x10", "num_steps", 16),
        ("train.warmup=auto", "warmup", "auto"),
        ("train.bf16=True", "bf16", True),
    ],
)
def test_scalars_of_overrides(override: str, key: str, expected: object) -> None:
    found = getattr(load(override).train, key)
    assert found == expected
    assert type(found) is type(expected)


def test_texts_of_overrides_are_taken_as_they_stand() -> None:
    config = load("name=007", "adapter=null", "folder=1e5", "languages=[a, 1e-4x]")
    assert (config.name, config.adapter, config.folder) == ("007", None, Path("1e5"))
    assert config.languages == ("a", "1e-4x")
    assert load("name=Act as: X # 1").name == "Act as: X # 1"
    assert load("name='null'").name == "null"
    assert load("name=").name == ""
    assert load("weights={a: 1, b: 2.5}").weights == {"a": 1.0, "b": 2.5}
    assert load("weights.a=1").weights == {"a": 1.0}


def test_values_beside_their_key_may_be_negative_and_the_last_wins() -> None:
    config = load("--pair", "[-1, -2.5]", "--train.num_steps", "1", "train.num_steps=2")
    assert config.pair == (-1, -2.5)
    assert config.train.num_steps == 2


def test_an_override_makes_the_mapping_above_it() -> None:
    assert load("second.num_steps=3").second == Optimiser(num_steps=3)


def test_paths_may_begin_at_home_and_are_never_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell expands no `--folder=~/x`, and an empty variable would mean the current folder."""
    monkeypatch.setenv("HOME", "/home/ada")
    assert load("folder=~/runs").folder == Path("/home/ada/runs")
    assert load("model=~x").model == "~x"
    assert problems(None, "model=m", "folder=") == ["command line: 'folder' is null: expected path"]
    config = load_config(EvalConfig, None, ["output_dir=o", "adapters.gatt=~/a", "cases=~/c.jsonl"])
    assert config.adapters == {"gatt": Path("/home/ada/a")}
    assert config.cases == Path("/home/ada/c.jsonl")
    given = ["output_dir=o", "samples=[~/s.jsonl]"]
    assert load_config(TrainConfig, None, given).samples == (Path("/home/ada/s.jsonl"),)


def test_all_problems_come_at_once_with_their_place(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "name: a\nname: 3\ntrain:\n  learing_rate: 2\n  warmup: z\n  layout: row\n  bf16: 1\n"
        "second:\n  learning_rate: -1\nlanguages: [a, 2]\npair: [1]\nlearning_rate: 3\nzz: 3\n",
    )
    assert sorted(problems(path, "--train.num_steps=3.5", "second.num_steps=x", "q.r=1")) == sorted(
        [
            "x.yaml line 2: key 'name' already stands in line 1, expected it once",
            "x.yaml: 'name' is 3 (int): expected str",
            "x.yaml: missing key 'model': expected str",
            "x.yaml: unknown key 'train.learing_rate', did you mean 'train.learning_rate'?",
            "x.yaml: 'train.warmup' is 'z' (str): expected int or 'auto'",
            "x.yaml: 'train.layout' is 'row' (str): expected 'comb' or 'expanded'",
            "x.yaml: 'train.bf16' is 1 (int): expected bool",
            "x.yaml: 'languages.1' is 2 (int): expected str",
            "x.yaml: missing key 'pair.1': expected float",
            "x.yaml: unknown key 'learning_rate', did you mean 'train.learning_rate'?",
            "x.yaml: unknown key 'zz' (known: name, model, train, second, folder, adapter, "
            "languages, pair, weights)",
            "command line: 'train.num_steps' is 3.5 (float): expected int",
            "command line: 'second.num_steps' is 'x' (str): expected int",
            "command line: unknown key 'q' (known: name, model, train, second, folder, adapter, "
            "languages, pair, weights)",
        ]
    )


@pytest.mark.parametrize(
    ("text", "overrides", "expected"),
    [
        ("model: m\ntrain: {learning_rate: -1}", [], "x.yaml: train: learning_rate is -1.0"),
        ("model: m\ntrain: {num_steps: -1}", [], "x.yaml: train: num_steps is -1: expected 0"),
        ("model: m", ["train.num_steps=-1"], "command line: train: num_steps is -1"),
        (
            "model: m\ntrain: {bf16: true}",
            ["train.num_steps=-1"],
            "x.yaml with command line: train: num_steps is -1",
        ),
        ("model: bad", [], "x.yaml: model is 'bad': expected a good one"),
        ("model: m\ntrain: null", [], "x.yaml: 'train' is null: expected mapping (learning_rate"),
        ("model: m\nname: {a: 1}", [], "x.yaml: 'name' is a mapping: expected str"),
        ("model: m\nname: 2026-01-02\npair: x", [], "x.yaml: 'pair' is 'x' (str): expected list"),
        ("model: m\npair: [1, true]", [], "x.yaml: 'pair.1' is True (bool): expected float"),
    ],
)
def test_one_problem_with_its_place(
    tmp_path: Path, text: str, overrides: list[str], expected: str
) -> None:
    (problem,) = problems(write(tmp_path, text), *overrides)
    assert problem.startswith(expected)


def test_without_a_file_the_place_is_the_configuration_or_the_command_line() -> None:
    assert problems(None) == ["configuration: missing key 'model': expected str"]
    assert problems(None, "model=bad") == ["command line: model is 'bad': expected a good one"]


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["oops"], "command line: 'oops': expected key=value or --key value"),
        (["--a b"], "command line: '--a b': expected key=value or --key value"),
        (["--name"], "command line: '--name' without a value: expected --name=value"),
        (["--name", "--x=1"], "command line: '--name' without a value: expected --name=value"),
        (["languages=[a"], "command line: 'languages' is '[a': broken YAML: expected ',' or ']'"),
        (["weights={a: 1, a: 2}"], "command line: 'weights' is '{a: 1, a: 2}': broken YAML: line"),
        (["train=3", "train.num_steps=1"], "command line: cannot set 'train.num_steps': 'train'"),
    ],
)
def test_overrides_that_cannot_be_used(overrides: list[str], expected: str) -> None:
    assert any(p.startswith(expected) for p in problems(None, "model=m", *overrides))


ALIAS_BOMB = b"a0: &a0 [x]\n" + b"".join(
    b"a%d: &a%d [*a%d, *a%d]\n" % (n, n, n - 1, n - 1) for n in range(1, 40)
)
"""Some 2**40 values in forty lines."""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"x\.yaml: nothing in it: expected a mapping"),
        (b"# only a comment\n", r"x\.yaml: nothing in it"),
        (b"- 1\n", r"x\.yaml: found list: expected a mapping"),
        (b"a:\n  b: [", r"x\.yaml line 2, column \d+: broken YAML: "),
        (b"a: &x {b: *x}", r"line 1, column 4: broken YAML: an alias to what holds it"),
        (b"a: " + b"[" * 99 + b"1" + b"]" * 99, r"unknown key 'a'"),
        (b"a: " + b"[" * 101 + b"1" + b"]" * 101, r"line 1, column 103: .* 100 levels"),
        (b"{a: " * 90000, r"line 1, column 401: .* 100 levels"),
        (ALIAS_BOMB, r"aliases for more than 100000 values"),
        (b"a: " + b"9" * 5000, r"line 1, column 4: .* 5000 digits"),
        (b"[1]: 2", r"line 1, column 1: broken YAML: a key that is a list or a mapping"),
        (b"a: !!python/name:os.system x", r"line 1, column 4: broken YAML: could not determine"),
        (b"a: \xff", r"x\.yaml: no UTF-8 text at byte 3"),
    ],
)
def test_a_broken_file_is_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=message) as caught:
        load_config(Config, path)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no\.yaml: cannot read the configuration: No such"):
        load_config(Config, tmp_path / "no.yaml")


TEXT = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(
    ["1e-4", "no", "null", "~", "", "010", "0o17", "1:30", "2026-01-02", "<<", "true", ".inf", "="]
)
LINE_BREAKS = Config(model="m", languages=("\x85", "a\x85b", " a\u2028b", "\u2029", "a\nb", "\r"))


@example(LINE_BREAKS)
@settings(deadline=None)
@given(
    st.builds(
        Config,
        model=TEXT.filter(lambda text: text != "bad"),
        adapter=st.none() | TEXT,
        languages=st.lists(TEXT).map(tuple),
        weights=st.dictionaries(TEXT, st.floats(allow_nan=False, allow_infinity=False)),
        train=st.builds(Optimiser, learning_rate=st.floats(1e-300, 1e300)),
    )
)
def test_resolved_yaml_reads_back_equal(
    tmp_path_factory: pytest.TempPathFactory, config: Config
) -> None:
    path = tmp_path_factory.mktemp("config") / "resolved.yaml"
    path.write_text(to_yaml(config), encoding="utf-8")
    assert load_config(Config, path) == config


def test_resolved_yaml_keeps_the_order_of_the_fields(tmp_path: Path) -> None:
    config = Base(name="1e-4")
    assert to_yaml(config) == "name: '1e-4'\n"
    keys = re.findall(r"^\w+", to_yaml(Config(model="m")), re.MULTILINE)
    assert keys[:4] == ["name", "model", "train", "second"]
    save_config(config, tmp_path / "new" / "resolved.yaml")
    assert (tmp_path / "new" / "resolved.yaml").read_text(encoding="utf-8") == to_yaml(config)


def test_saving_where_it_cannot_be_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"resolved\.yaml: cannot write"):
        save_config(Base(), tmp_path / "file" / "resolved.yaml")


class Colour(Enum):
    RED = "red"


def test_config_dict_is_json_able() -> None:
    found = config_dict(Config(model="m", folder=Path("a") / "b", languages=("x",)))
    assert found["folder"] == "a/b"
    assert found["languages"] == ["x"]
    assert found["train"]["num_steps"] == 7
    assert config_dict({"c": Colour.RED, "s": {2, 1}}) == {"c": "red", "s": [1, 2]}
    with pytest.raises(TypeError, match="expected a dataclass or a mapping, found list"):
        config_dict([1])


def test_fingerprints_follow_the_value_and_not_its_order() -> None:
    # printf '{"a":1,"b":["x"]}' | sha256sum
    assert fingerprint({"b": ("x",), "a": 1}) == "fd5e92badbe24726"
    assert fingerprint({"a": 1, "b": [Path("x")]}) == fingerprint({"b": ["x"], "a": 1})
    assert fingerprint({"a": 1}) != fingerprint({"a": 1.5})
    assert fingerprint(Base()) == fingerprint({"name": "x"})
    with pytest.raises(TypeError, match="no JSON form of object"):
        fingerprint({"a": object()})


def test_describe_names_types_defaults_and_documentation() -> None:
    fields = {f.name: f for f in describe(Config)}
    assert fields["model"] == Field("model", "str", None, "What to train.")
    assert fields["name"] == Field("name", "str", "x", "Inherited documentation.")
    assert fields["train.learning_rate"] == Field(
        "train.learning_rate", "float", "0.0001", "Peak learning rate, above 0."
    )
    assert fields["train.num_steps"].default == "7"
    assert fields["second.num_steps"].default == "10"
    assert fields["second"].default == "null"
    assert fields["train.bf16"].default == "false"
    assert fields["adapter"].type == "str or null"
    assert fields["languages"].type == "list of str"
    assert fields["pair"].type == "list of 2 (int, float)"
    assert fields["weights"].type == "mapping of str to float"
    assert "train" not in fields


def test_a_class_without_source_has_no_documentation() -> None:
    scope: dict[str, Any] = {"__name__": __name__, "dataclass": dataclass}
    exec("@dataclass\nclass Made:\n    a: int = 1\n    'Documented.'\n", scope)
    assert describe(scope["Made"]) == [Field("a", "int", "1", "")]


def test_importing_configurations_loads_no_heavy_library() -> None:
    code = (
        "import sys, gatt.config.load, gatt.config.arguments\n"
        "heavy = {'torch', 'transformers', 'pydantic'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
