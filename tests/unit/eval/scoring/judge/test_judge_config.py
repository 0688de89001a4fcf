"""The judge's configuration: ranges, and what of it decides a verdict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from eval.scoring.judge.config import JudgeConfig
from gatt.config.load import load_config
from gatt.errors import ConfigError
from gatt.generation.config import EngineConfig
from gatt.generation.servers.config import ServerConfig

SERVED = EngineConfig(model="large", server=ServerConfig(urls=("http://localhost:8000/v1",)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tasks": ()}, "tasks is empty: expected at least one"),
        ({"kinds": ()}, "kinds is empty: expected at least one"),
        ({"arms": ("base", "base")}, r"arms is \['base', 'base'\]: expected each once"),
        ({"turns": (2, 0)}, r"turns is \[2, 0\]: expected turns from 1 on"),
        ({"max_new_tokens": 0}, "max_new_tokens is 0: expected at least 1"),
        ({"batch_size": 0}, "batch_size is 0: expected at least 1"),
        (
            {"is_prefilled": True, "engine": SERVED},
            r"is_prefilled is true.*set engine\.server\.can_prefill",
        ),
    ],
)
def test_values_out_of_range_are_refused(changes, message) -> None:
    with pytest.raises(ConfigError, match=message):
        JudgeConfig(**changes)


def test_it_reads_from_yaml_and_refuses_an_unknown_task(tmp_path: Path) -> None:
    path = tmp_path / "judge.yaml"
    path.write_text("tasks: [adherence, completion]\nturns: [2, 20]\n", encoding="utf-8")
    config = load_config(JudgeConfig, path)
    assert (config.tasks, config.turns) == (("adherence", "completion"), (2, 20))
    with pytest.raises(ConfigError, match=r"tasks\.0.*'style'.*expected 'adherence'"):
        load_config(JudgeConfig, path, ["tasks=[style]"])


def test_answers_are_drawn_greedily() -> None:
    params = JudgeConfig(max_new_tokens=9, seed=4).params()
    assert (params.temperature, params.max_new_tokens, params.seed) == (0.0, 9, 4)


def test_which_replies_are_judged_decides_no_verdict() -> None:
    config = JudgeConfig()
    other = replace(config, tasks=("completion",), arms=("gatt",), turns=(4,), batch_size=7)
    assert other.decisive() == config.decisive()
    for changes in (
        {"seed": 1},
        {"max_new_tokens": 8},
        {"engine": EngineConfig(model="other")},
        {"is_prefilled": True},
    ):
        assert replace(config, **changes).decisive() != config.decisive()
