"""The suites that are shipped, and how one stands under a user's configuration."""

from __future__ import annotations

import pytest

from eval.cases.build import load_inputs
from eval.config import EvalConfig
from eval.records.suite import read_suite, shipped_suites
from gatt.config.load import load_config
from gatt.errors import ConfigError
from gatt.stages.run_file import load_run

OUT = ("output_dir=out", "arms=[base]")
NAMES = ("behaviour", "combined", "custom", "heldout", "none", "switch", "table30")


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_suite_gives_its_cases(name) -> None:
    assert tuple(shipped_suites()) == NAMES
    assert read_suite(shipped_suites()[name]).values["about"].rstrip()[-1] in ".?"
    config = load_config(EvalConfig, None, [*OUT, f"suite={name}"])
    cases = load_inputs(config, config.instructions.load(), pytest.fail, "").cases
    assert len({c.id for c in cases}) == len(cases)
    assert all(c.num_turns >= max(config.turns) for c in cases) or name == "custom"
    assert config.sampling.max_new_tokens == 128
    if name not in ("custom", "table30"):
        assert all(case.expectation(turn) for case in cases for turn in config.turns)
    if name == "none":
        assert len(cases) == 64
        assert all(c.instruction is None for c in cases)
        return
    families = {c.family for c in cases if c.instruction}
    expected = {
        "table30": {"hobby", "figure"}, "behaviour": {"hobby", "figure", "language", "persona", "behaviour"},
        "combined": {"combined"}, "custom": {"behaviour", "format"}, "heldout": {"format"},
        "switch": {"hobby", "figure", "language", "persona", "behaviour"},
    }[name]  # fmt: skip
    assert expected <= families
    if name in ("table30", "combined"):
        assert families == expected
    if name == "combined":
        assert {len(c.instruction.entries) for c in cases if c.instruction} == {2, 3}
    if name == "table30":
        assert {c.num_turns for c in cases} == {40}
        assert all(c.probe for c in cases)
    if name == "heldout":
        assert {c.split for c in cases} == {"heldout_value", "heldout_family"}


def test_a_users_values_stand_above_those_of_the_suite_in_a_run_file_too(tmp_path) -> None:
    path = tmp_path / "run.yaml"
    own = "{suite: behaviour, output_dir: out, arms: [base], num_dialogues: 2, source: {seed: 7}}"
    path.write_text(f"output_dir: r\neval: {own}\n", encoding="utf-8")
    (stage,) = load_run(path).stages
    config = stage.config
    assert (config.num_dialogues, config.source.seed, config.source.min_turns) == (2, 7, 20)
    assert config.turns == load_config(EvalConfig, None, [*OUT, "suite=behaviour"]).turns
    assert load_run(path, ["eval.turns=[1]"]).stages[0].config.turns == (1,)
    assert load_run(path, ["eval.suite=none"]).stages[0].config.num_plain == 64


def of_suite(folder, text: str, *given: str) -> EvalConfig:
    (folder / "own.yaml").write_text(text, encoding="utf-8")
    return load_config(EvalConfig, None, [*OUT, f"suite={folder / 'own.yaml'}", *given])


def test_paths_in_a_suite_are_relative_to_its_folder(tmp_path) -> None:
    config = of_suite(tmp_path, "cases: own.jsonl\nhistories: [own]\n")
    assert config.cases == tmp_path / "own.jsonl"
    source = "source: {{name: {}, path: {}, min_turns: 20, max_turns: 20}}\n"
    catalog = "instructions: {catalog: [a, ../b]}\n"
    config = of_suite(tmp_path, source.format("jsonl", "d.jsonl") + catalog)
    assert config.source.path == str(tmp_path / "d.jsonl")
    assert config.instructions.catalog == (str(tmp_path / "a"), str(tmp_path / "../b"))
    config = of_suite(tmp_path, source.format("hub", "org/chats-1.0"))
    assert config.source.path == "org/chats-1.0"


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("adapters: {gatt: x}\nturns: [1]\n", r"own\.yaml line 1: key 'adapters'"),
        ("turms: [1]\n", r"own\.yaml line 1: unknown key 'turms', .*'turns'"),
        ("source: {name: jsonl, min_turns: 20}\n", r"^command line with \S+own\.yaml line 1: source"),
    ],
)  # fmt: skip
def test_what_a_suite_must_not_say_is_one_line(tmp_path, text, facts) -> None:
    with pytest.raises(ConfigError, match=facts):
        of_suite(tmp_path, text, "source.num=5", "source.max_turns=20")


def test_an_unknown_suite_and_each_place_of_a_mistake_are_named(tmp_path) -> None:
    with pytest.raises(ConfigError, match=r"no suite 'behaviours', .*'behaviour'"):
        load_config(EvalConfig, None, [*OUT, "suite=behaviours"])
    (tmp_path / "inner.yaml").write_text("source: {min_turns: soon}\n", encoding="utf-8")
    mine = tmp_path / "my.yaml"
    mine.write_text(
        f"suite: {tmp_path / 'inner.yaml'}\noutput_dir: out\nsource: {{seed: no}}\n",
        encoding="utf-8",
    )
    with pytest.raises(ConfigError) as caught:
        load_config(EvalConfig, mine, ["source.max_turns=late"])
    blamed = {line.split(": ", 1)[0].rsplit("/", 1)[-1] for line in str(caught.value).split("; ")}
    assert blamed == {"inner.yaml line 1", "my.yaml line 3", "command line"}
    mine.write_text("suite: 3\noutput_dir: out\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"'suite' is 3 \(int\)"):
        load_config(EvalConfig, mine)
