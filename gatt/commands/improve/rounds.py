"""The rounds of a finished run: the settings of each of their stages. No torch here."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from gatt.config.load import config_dict
from gatt.errors import ConfigError
from gatt.stages.run_file import RUN_FILE, PipelineRun, Stage, load_run, load_stages

RoundObjective = Literal["preference", "targets"]

STAGES: Final = ("pairs", "train", "eval")
"""Of a round, in order; each name is a command."""
SAMPLES: Final = "samples.jsonl"
BEFORE: Final = "before"
AFTER: Final = "after"
"""Arms of a round's evaluation: the adapter that it starts from, and the one that it makes."""
LEARNING_RATE: Final = 2e-5
"""Of a round with `preference`, whose steps go from a trained adapter; a usual value, not measured here."""
_SET_BY_ROUND: Final = (
    "pairs.samples", "pairs.output_dir", "pairs.adapter", "pairs.seed",
    "train.samples", "train.output_dir", "train.init_adapter", "train.objective", "train.history",
    "eval.output_dir", "eval.adapters", "eval.arms", "eval.baseline", "eval.replies_from",
)  # fmt: skip
_KEY: Final = re.compile(r"(?:--)?([\w.-]+)")


@dataclass(frozen=True)
class Round:
    """One round: draw pairs, learn from them, measure."""

    number: int
    folder: Path
    start: Path
    """The adapter that replies, and from which training goes on."""
    objective: RoundObjective
    stages: tuple[Stage, ...]

    @property
    def adapter(self) -> Path:
        """The adapter that the round makes."""
        return self.folder / "train" / "adapter"

    def stage(self, name: str) -> Stage | None:
        """Return a stage by name; None where the round has none."""
        return next((stage for stage in self.stages if stage.name == name), None)


def plan_rounds(
    folder: Path, num: int, objective: RoundObjective, overrides: Sequence[str] = ()
) -> list[Round]:
    """Return the first `num` rounds of a run, those that are done included.

    `preference` learns pairs; `targets` learns the chosen replies alone. Overrides are such as
    `pairs.replies=8`.

    Raises:
        ConfigError: no such run, a key that the round sets itself, a model on servers, or the problems
            of every stage.
    """
    run = _run_of(folder)
    _refuse_own_keys(overrides)
    trained = run.config_of("train")
    if trained is None:
        raise ConfigError(
            f"{folder / RUN_FILE}: no stage 'train': expected a run that trained an adapter, which a round "
            "improves"
        )
    if objective == "preference" and trained.supervise != "last_turn":
        raise ConfigError(
            f"train.supervise is {trained.supervise!r} in {folder / RUN_FILE}: expected 'last_turn'; the "
            "controls are not improved"
        )
    start, rounds = Path(trained.output_dir) / "adapter", []
    for number in range(1, num + 1):
        place = folder / f"round-{number}"
        settings = _settings(run, number, place, start, objective)
        round_ = Round(number, place, start, objective, _stages(settings, overrides))
        rounds.append(round_)
        start = round_.adapter
    return rounds


def _run_of(folder: Path) -> PipelineRun:
    path = folder / RUN_FILE
    if not path.is_file():
        raise ConfigError(
            f"{folder}: no {RUN_FILE} in it: expected the folder of a finished `gatt run` (its output_dir)"
        )
    return load_run(path)


def _refuse_own_keys(overrides: Sequence[str]) -> None:
    for override in overrides:
        match = _KEY.match(override)
        key = match[1].replace("-", "_") if match else ""
        if any(key == own or key.startswith(f"{own}.") for own in _SET_BY_ROUND):
            raise ConfigError(
                f"{key} is set by the round itself: expected another key"
                f"{', or --objective' if key == 'train.objective' else ''}"
            )


def _settings(
    run: PipelineRun, number: int, place: Path, start: Path, objective: RoundObjective
) -> dict[str, dict[str, Any]]:
    """Return the settings of each stage of a round, without the overrides."""
    stages = run.as_dict()
    train, synth, evaluated = stages["train"], stages.get("synth"), stages.get("eval")
    pairs: dict[str, Any] = {
        "samples": train["samples"],
        "output_dir": str(place / "pairs"),
        "engine": _engine(train, run.config_of("eval")),
        "adapter": str(start),
        "max_turns": train["max_turns"],
        "seed": train["seed"] + number,
    }
    if train["placement"] in ("system", "first_user"):
        pairs["placement"] = train["placement"]
    if synth is not None:
        pairs["quality"] = synth["teacher"]["quality"]
        most = synth["teacher"]["sampling"]["max_new_tokens"]
        pairs["sampling"] = {"max_new_tokens": most}
    settings = {"pairs": pairs, "train": train | _of_round(train, place, start, objective)}
    if evaluated is not None:
        settings["eval"] = evaluated | {
            "output_dir": str(place / "eval"),
            "adapters": {BEFORE: str(start), AFTER: str(place / "train" / "adapter")},
            "arms": [BEFORE, AFTER],
            "baseline": BEFORE,
            "replies_from": None,
            "ray": None,
        }
        if judge := evaluated["judge"]:
            settings["eval"]["judge"] = judge | {"arms": []}
    return settings


def _engine(train: Mapping[str, Any], evaluation: Any) -> dict[str, Any]:
    """Return the engine that samples: that of the evaluation, if it can load a new adapter."""
    engine = getattr(evaluation, "engine", None)
    if engine is not None and engine.has_weights and engine.model == train["model"]:
        return config_dict(engine)
    return {"model": train["model"], "chat_template_kwargs": train["chat_template_kwargs"]}


def _of_round(
    train: Mapping[str, Any], place: Path, start: Path, objective: RoundObjective
) -> dict[str, Any]:
    return {
        "samples": [str(place / "pairs" / SAMPLES)],
        "output_dir": str(place / "train"),
        "init_adapter": str(start),
        "objective": objective,
        # What the round starts from: the base model would pull back what training has taught.
        "preference": train["preference"] | _reference(objective),
        # A sample's dialogue is what the model read when it replied.
        "history": "reference",
        "learning_rate": LEARNING_RATE if objective == "preference" else train["learning_rate"],
        "num_train_epochs": 1.0,
        "max_steps": -1,
    }


def _reference(objective: RoundObjective) -> dict[str, str]:
    return {"reference": "init_adapter"} if objective == "preference" else {}


def _stages(
    settings: Mapping[str, Mapping[str, Any]], overrides: Sequence[str]
) -> tuple[Stage, ...]:
    """Return the stages with their configurations.

    Raises:
        ConfigError: every problem of every stage, or a model on servers.
    """
    given = [f"{name}={json.dumps(values)}" for name, values in settings.items()]
    _, stages = load_stages(STAGES, None, [*given, *overrides])
    for stage in stages:
        engine = getattr(stage.config, "engine", None)
        if engine is not None and not engine.has_weights:
            raise ConfigError(
                f"{stage.name}.engine.server has urls: expected null or start, since a server elsewhere has no "
                f"adapter that a round has just trained: set --{stage.name}.engine.server=null, with a local "
                f"{stage.name}.engine.model, or --{stage.name}.engine.server.start=vllm"
            )
    return tuple(stages)
