"""Configurations: strict types, every problem at once, and a lossless way back to YAML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from eval.config import EvalConfig
from gatt.config.load import load_config, save_config, to_yaml
from gatt.errors import ConfigError
from gatt.runs.provenance import fingerprint


@dataclass(frozen=True, kw_only=True)
class Optimiser:
    learning_rate: float = 1e-4
    num_steps: int = 10
    warmup: int | Literal["auto"] = "auto"
    layout: Literal["comb", "expanded"] = "comb"
    bf16: bool = False

    def __post_init__(self) -> None:
        problems = [
            f"{name} is {getattr(self, name)}: expected above 0"
            for name in ("learning_rate", "num_steps")
            if getattr(self, name) <= 0
        ]
        if problems:
            raise ConfigError("; ".join(problems))


@dataclass(frozen=True, kw_only=True, slots=True)
class Base:
    name: str = "x"


@dataclass(frozen=True, kw_only=True)
class Config(Base):
    model: str
    train: Optimiser = field(default_factory=lambda: Optimiser(num_steps=7))
    second: Optimiser | None = None
    folder: Path = Path("runs")
    adapter: str | None = None
    languages: tuple[str, ...] = ()
    pair: tuple[int, float] = (1, 2.0)
    weights: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.model == "bad":
            raise ValueError("model is 'bad': expected a good one")


@dataclass(frozen=True, kw_only=True)
class Inner:
    is_on: bool = False


@dataclass(frozen=True, kw_only=True)
class Listed:
    samples: tuple[str, ...] = ()
    turns: tuple[int, ...] | None = ()
    names: tuple[str, ...] = ()
    text: str = ""
    is_on: bool = False
    deep: Inner = Inner()
    values: Mapping[str, int] = field(default_factory=dict)


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
        "train: &t {learning_rate: 1e-5, warmup: 3}\nsecond: {learning_rate: 1e-5, warmup: 4}\n",
    )
    config = load_config(Config, path, ["--train.warmup=5", "--train.bf16=true", "name=n"])
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
        ("train.num_steps=1_000", "num_steps", 1000),
        ("train.num_steps=010", "num_steps", 10),
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
    assert load("--pair=[-1, -2.5]").pair == (-1, -2.5)
    assert load("second.num_steps=2", "--second.num_steps=3").second == Optimiser(num_steps=3)


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("samples=a.jsonl", {"samples": ("a.jsonl",)}),
        ("samples=a-b.jsonl, {run}/c.jsonl", {"samples": ("a-b.jsonl", "{run}/c.jsonl")}),
        ("samples=[]", {"samples": ()}),
        ("turns=1,20", {"turns": (1, 20)}),
        ("turns=null", {"turns": None}),
        ("names=no", {"names": ("no",)}),
        ("text=a,b", {"text": "a,b"}),
        ("--is-on", {"is_on": True}),
        ("--deep.is-on", {"deep": Inner(is_on=True)}),
        ("values.a-b=1", {"values": {"a-b": 1}}),
    ],
)
def test_what_people_write_on_a_command_line(override: str, expected: dict[str, object]) -> None:
    assert load_config(Listed, None, [override]) == Listed(**expected)  # type: ignore[arg-type]


def test_paths_may_begin_at_home_and_are_never_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell expands no `--folder=~/x`, and an empty variable would mean the current folder."""
    monkeypatch.setenv("HOME", "/home/ada")
    assert load("folder=~/runs").folder == Path("/home/ada/runs")
    assert load("model=~x").model == "~x"
    (problem,) = problems(None, "model=m", "folder=")
    assert problem.startswith("command line: 'folder' is null: expected")
    config = load_config(EvalConfig, None, ["output_dir=o", "adapters.gatt=~/a"])
    assert config.adapters == {"gatt": Path("/home/ada/a")}


def test_all_problems_come_at_once_with_their_place(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "name: 3\ntrain:\n  learing_rate: 2\n  warmup: z\n  layout: row\n  bf16: 1\n"
        "second:\n  learning_rate: -1\nlanguages: [a, 2]\npair: [1]\nlearning_rate: 3\nzz: 3\n",
    )
    found = problems(path, "--train.num_steps=3.5", "second.num_steps=x", "q.r=1", "oops")
    expected = {
        ("x.yaml line 1:", "'name' is 3 (int)", "string"),
        ("x.yaml with command line:", "missing key 'model'"),
        ("x.yaml line 3:", "unknown key 'train.learing_rate'", "'train.learning_rate'?"),
        ("x.yaml line 4:", "'train.warmup' is 'z' (str)", "integer", "'auto'"),
        ("x.yaml line 5:", "'train.layout' is 'row' (str)", "'comb'", "'expanded'"),
        ("x.yaml line 6:", "'train.bf16' is 1 (int)", "boolean"),
        ("x.yaml line 9:", "'languages.1' is 2 (int)", "string"),
        ("x.yaml line 10:", "missing key 'pair.1'"),
        ("x.yaml line 11:", "unknown key 'learning_rate'", "'train.learning_rate'?"),
        ("x.yaml line 12:", "unknown key 'zz'", "(known: name, model,"),
        ("command line:", "'train.num_steps' is 3.5 (float)", "integer"),
        ("command line:", "'second.num_steps' is 'x' (str)", "integer"),
        ("command line:", "unknown key 'q'", "(known: name, model,"),
        ("command line:", "'oops'", "key=value"),
    }
    assert len(found) == len(expected)
    for facts in expected:
        assert any(p.startswith(facts[0]) and all(f in p for f in facts) for p in found), facts


@pytest.mark.parametrize(
    ("text", "overrides", "expected"),
    [
        ("model: m\ntrain:\n  num_steps: -1", [], "x.yaml line 3: train: num_steps is -1"),
        ("model: m", ["train.num_steps=-1"], "command line: train: num_steps is -1"),
        ("model: m\ntrain: {bf16: true}", ["train.num_steps=-1"], "command line: train: num_steps"),
        ("model: bad", [], "x.yaml line 1: model is 'bad'"),
        (
            "model: m\ntrain: {learning_rate: -1}",
            ["train.num_steps=-2"],
            "x.yaml line 2: train: learning_rate is -1.0|command line: train: num_steps is -2",
        ),
        ("model: m\ntrain: null", [], "x.yaml line 2: 'train' is null: expected"),
        ("model: m\nname: 2026-01-02\npair: x", [], "x.yaml line 3: 'pair' is 'x' (str): expected"),
        ("model: m", ["pair=[1, .2e400]"], "command line: 'pair.1' is inf (float): expected"),
        ("model: m", ["train.num_steps=\udcff"], "command line: 'train.num_steps=\\udcff': broken YAML"),
        (None, [], "configuration: missing key 'model'"),
    ],
)  # fmt: skip
def test_a_problem_with_its_place(tmp_path, text, overrides, expected) -> None:
    """Problems of one check are separated."""
    found = problems(None if text is None else write(tmp_path, text), *overrides)
    for problem, start in zip(found, expected.split("|"), strict=True):
        assert problem.startswith(start)


@pytest.mark.parametrize(
    ("overrides", "fact"),
    [
        (["--a b"], "'--a b'"),
        (["--name"], "'--name'"),
        (["languages=[a"], "languages=[a"),
        (["weights={a: 1, a: 2}"], "key 'a'"),
        (["train=3", "train.num_steps=1"], "'train' is 3"),
    ],
)
def test_overrides_that_cannot_be_used(overrides: list[str], fact: str) -> None:
    found = problems(None, "model=m", *overrides)
    assert any(p.startswith("command line: ") and fact in p for p in found)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"# only a comment\n", r"x\.yaml: nothing"),
        (b"- 1\n", r"x\.yaml: a list"),
        (b"a:\n  b: [", r"x\.yaml line 2, column \d+: "),
        (b"a:\n  b: 1\n  b: 2", r"x\.yaml line 3, column 3: .*'a\.b' .*line 2"),
        (b"name: " + b"9" * 5000, r"line 1: 'name' is inf"),
        (b"[1]: 2", r"line 1, column 1: "),
        (b"a: !!python/name:os.system x", r"line 1, column 4: .*os\.system"),
        (b"a: \xff", r"x\.yaml: .* byte 3"),
    ],
)
def test_a_broken_file_is_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"no\.yaml: .*No such"):
        load_config(Config, tmp_path / "no.yaml")
    with pytest.raises(ConfigError, match=message) as caught:
        load_config(Config, path)
    assert "\n" not in str(caught.value)


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
def test_resolved_yaml_reads_back_equal(tmp_path_factory, config) -> None:
    path = tmp_path_factory.mktemp("config") / "resolved.yaml"
    path.write_text(to_yaml(config), encoding="utf-8")
    assert load_config(Config, path) == config


def test_resolved_yaml_keeps_the_order_of_the_fields(tmp_path: Path) -> None:
    save_config(Config(model="m"), tmp_path / "new" / "resolved.yaml")
    text = (tmp_path / "new" / "resolved.yaml").read_text(encoding="utf-8")
    assert re.findall(r"^\w+", text, re.MULTILINE)[:4] == ["name", "model", "train", "second"]


def test_fingerprints_follow_the_value_and_not_its_order() -> None:
    # printf '{"a":1,"b":["x"]}' | sha256sum
    assert fingerprint({"b": ("x",), "a": 1}) == "fd5e92badbe24726"
    assert fingerprint({"a": 1, "b": [Path("x")]}) == fingerprint({"b": ["x"], "a": 1})
    assert fingerprint({"a": 1}) != fingerprint({"a": 1.5})
    assert fingerprint(Base()) == fingerprint({"name": "x"})
    with pytest.raises(ValueError, match="object"):
        fingerprint({"a": object()})
