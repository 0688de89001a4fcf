"""Configuration of `gatt eval`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from eval.records.arms import BASE, DEFAULT_ARMS, History, check_history, is_untrained
from eval.records.suite import suite_values
from eval.scoring.judge.config import JudgeConfig
from gatt.config.load import load_config
from gatt.data.catalog.choice import InstructionChoice
from gatt.data.catalog.switch_draw import SwitchConfig
from gatt.data.hash_split import SplitName
from gatt.data.instruction import Split
from gatt.data.views import Placement
from gatt.errors import ConfigError
from gatt.generation.base import SamplingConfig
from gatt.generation.cluster.config import RayConfig
from gatt.generation.config import EngineConfig
from gatt.runs.values import Source
from gatt.sources.config import SourceConfig

TAKEN = ("all", "dialogue")
"""Names that no adapter may have: reports use them for all arms together and for the dialogue's own replies."""
RUN_MARK = " · "
"""Separates run and arm in a report of several runs."""
_MOST_CASES = 10_000_000
"""All cases are held in memory."""


@dataclass(frozen=True, kw_only=True)
class EvalConfig:
    """Arms, cases and turns of an evaluation.

    Raises:
        ConfigError: a value out of its range, or an arm that cannot be made.
    """

    output_dir: Path
    """Folder of `results.json`, `samples.jsonl` and `report.html`."""
    suite: str | None = None
    """Name of a shipped suite (`gatt suite list`) or path of a suite's YAML file. It sets defaults for the keys
    below."""
    arms: tuple[str, ...] = ()
    """`base`; `alone` (the instruction and this message, no history: what the model can do at all);
    `base+system+reminder` (the instruction once, and a reminder of it behind every message); `window_4` (the
    instruction and the last 4 exchanges; any number from 1); `canned` (no model: one fixed string for each
    instruction); and names of `adapters`. Empty takes all of these but `window_4`."""
    adapters: Mapping[str, Path] = field(default_factory=dict)
    """Arm name to the folder of its LoRA adapter; with `engine.server.urls`, to the name of the adapter
    there."""
    baseline: str | None = None
    """Arm that the others are compared with, case by case; null: `base`, or the first arm if `base` is not
    among them. In a finished folder another baseline needs no new replies."""
    seed: int = 0
    """Fixes cases, replies and bootstrap; `source.seed` fixes the order of dialogues."""
    engine: EngineConfig = field(default_factory=EngineConfig)
    """The base model."""
    sampling: SamplingConfig = field(
        default_factory=lambda: SamplingConfig(max_new_tokens=128, temperature=0.0)
    )
    """How replies are sampled; greedy by default."""
    source: SourceConfig = field(default_factory=lambda: SourceConfig(min_turns=20, max_turns=20))
    """Where the dialogues come from. `conversations` and `faq` ask at the judged turns, unless
    `source.asked` names others."""
    part: SplitName | None = "eval"
    """Part of the source's dialogues; training uses another part. Null takes all."""
    num_turns: int | None = None
    """Join dialogues end to end until they have this many turns, each dialogue once; null: do not join them."""
    cases: Path | None = None
    """A JSONL file of your own cases or of `gatt suite import`; it replaces source and instructions."""
    instructions: InstructionChoice = field(
        default_factory=lambda: InstructionChoice(num_entries=(1.0,))
    )
    """Which instructions the dialogues get."""
    splits: tuple[Split, ...] = ("train", "heldout_value", "heldout_family")
    """Splits of instructions, each with `num_dialogues` cases of its own."""
    only_trained: bool = False
    """Draw from the split `train` only entries that every adapter was trained on (`trained_on.json` beside it).
    Training may have drawn only a part of the split. An arm that is added later must not change the entries."""
    num_dialogues: int = 16
    """Cases per split: a dialogue and an instruction."""
    num_plain: int = 0
    """Dialogues without an instruction, for false triggers."""
    switch: SwitchConfig | None = None
    """Changes of the instruction within a dialogue; null for none."""
    turns: tuple[int, ...] | Literal["last"] = (1, 2, 4, 8, 20)
    """Turns at which replies are judged; `last` is each case's last one. A case of a file may have its own."""
    probe_turns: tuple[int, ...] = (2, 4, 6, 20)
    """Turns at which one probe of the instruction is asked, outside the history; empty for none."""
    probe_choice: Literal["any", "first"] = "any"
    """Which probe of the instruction is asked: `any`, drawn for each case, or the `first`, which asks for the
    instruction directly ("What is your favorite hobby?", "Who are you?"). The others need knowledge too."""
    histories: tuple[History, ...] = ("reference",)
    """Which earlier replies the model reads. `reference`: the dialogue's; `own`: its own, from turn 1 on;
    `slip_2`: the first 2 of the dialogue, which ignore the instruction, then its own (any number from 1; these
    first turns are not judged)."""
    placement: Placement = "system"
    """Where the instruction stands."""
    judge: JudgeConfig | None = None
    """A model that judges replies too. Without it, replies that no rule covers are undecided."""
    unmeasured: bool = False
    """Whether to sample replies even if nothing can be measured on them (no rule, and no judge)."""
    replies_from: Path | None = None
    """Folder of a finished evaluation with the same settings. Its replies are judged again by the current
    rules, into `output_dir`, and no arm replies. Null: the arms reply."""
    batch_cases: int = 8
    """Cases that are answered together. An interruption loses at most one such batch."""
    ray: RayConfig | None = None
    """null: one process. Otherwise workers of Ray answer, each one arm and `batch_cases` cases at a time, and
    this process writes the results. `--workers N` starts N workers on this machine."""

    @classmethod
    def preset(cls, values: Mapping[str, Any]) -> Source:
        """Return the values of the suite that a configuration names, see `gatt.config.load`.

        Raises:
            ConfigError: no such suite, or a key that a suite may not set.
        """
        return suite_values(values.get("suite"))

    def __post_init__(self) -> None:
        if not self.arms:
            object.__setattr__(self, "arms", (*DEFAULT_ARMS, *self.adapters))
        self._check_arms()
        for name in ("arms", "histories", "splits"):
            values = getattr(self, name)
            if len(set(values)) < len(values):
                raise ConfigError(f"{name} is {list(values)}: expected each once")
        for history in self.histories:
            check_history(history)
        for name in ("turns", "histories"):
            if not getattr(self, name):
                raise ConfigError(f"{name} is empty: expected at least one")
        for name in ("turns", "probe_turns"):
            values = getattr(self, name)
            if values == "last":
                continue
            if values != tuple(sorted(set(values))) or (values and values[0] < 1):
                raise ConfigError(f"{name} is {list(values)}: expected rising turns from 1 on")
        if self.cases:
            self._check_case_file()
        else:
            self._check_drawn()
        if self.replies_from is not None and self.replies_from == self.output_dir:
            raise ConfigError(
                f"replies_from is {self.replies_from}, the output_dir: expected another folder, so that "
                "nothing is lost"
            )
        if self.batch_cases < 1:
            raise ConfigError(f"batch_cases is {self.batch_cases}: expected at least 1")

    def _check_arms(self) -> None:
        for arm in self.arms:
            if not is_untrained(arm) and arm not in self.adapters:
                raise ConfigError(
                    f"arm {arm!r} has no adapter: expected {', '.join(DEFAULT_ARMS)}, 'window_4' (or another "
                    f"number) or a name of 'adapters' ({', '.join(self.adapters) or 'none given'})"
                )
        if self.baseline is not None and self.baseline not in self.arms:
            raise ConfigError(
                f"baseline is {self.baseline!r}: expected one of the arms ({', '.join(self.arms)}), or null"
            )
        for arm in (*self.arms, *self.adapters):
            if not arm.strip() or "/" in arm or "\n" in arm:
                raise ConfigError(f"arm {arm!r}: expected a name without '/', on one line")
            is_own = arm in self.adapters and is_untrained(arm)
            if is_own or arm in TAKEN or RUN_MARK in arm:
                where = "adapters has" if is_own else "arm"
                raise ConfigError(
                    f"{where} {arm!r}: expected another name, this one has a meaning of its own"
                )
        for arm in self.judge.arms if self.judge else ():
            if arm not in self.arms:
                raise ConfigError(f"judge.arms has {arm!r}: expected some of {list(self.arms)}")

    @property
    def compared_with(self) -> str:
        """The arm that all others are compared with, see `baseline`."""
        return self.baseline or (BASE if BASE in self.arms else self.arms[0])

    def _check_case_file(self) -> None:
        for key in ("num_turns", "switch", "only_trained"):
            if getattr(self, key):
                raise ConfigError(f"cases with {key}: expected the file to say what happens")

    def _check_drawn(self) -> None:
        for name in ("num_dialogues", "num_plain"):
            if not 0 <= getattr(self, name) <= _MOST_CASES:
                raise ConfigError(f"{name} is {getattr(self, name)}: expected 0 to {_MOST_CASES}")
        if self.num_dialogues * len(self.splits) + self.num_plain == 0:
            raise ConfigError("no case: raise num_dialogues or num_plain")
        if self.only_trained and ("train" not in self.splits or not self.num_dialogues):
            raise ConfigError(
                "only_trained without cases of split 'train': expected 'train' in splits and num_dialogues "
                "above 0, or only_trained: false"
            )
        if self.only_trained and not self.engine.has_weights:
            raise ConfigError(
                "only_trained with engine.server: expected a local adapter, a served one does not say what "
                "it was trained on"
            )
        key = "source.min_turns" if self.num_turns is None else "num_turns"
        given = self.source.min_turns if self.num_turns is None else self.num_turns
        if given < 1:
            raise ConfigError(f"{key} is {given}: expected at least 1")
        turns = (given,) if self.turns == "last" else self.turns
        asked = max((*turns, *self.probe_turns))
        if asked > given:
            raise ConfigError(f"turn {asked} is asked for, but {key} is {given}: raise it")
        if self.switch and (last := self.switch.max_turn or self.switch.min_turn) > given:
            raise ConfigError(
                f"switch at turn {last} is past the last turn, {key} is {given}: lower it, or take "
                "longer dialogues"
            )
        if self.switch and self.switch.min_turn > asked:
            raise ConfigError(
                f"switch.min_turn is {self.switch.min_turn}, but turn {asked} is the last of turns and "
                "probe_turns: lower it, or add later turns"
            )


def config_of(values: Mapping[str, Any]) -> EvalConfig:
    """Return the configuration of values by their keys, nested or dotted; see `load_config`."""
    overrides = [f"{key}={json.dumps(value)}" for key, value in values.items()]
    return load_config(EvalConfig, None, overrides)


def used_adapters(config: EvalConfig) -> dict[str, Path]:
    """Return the adapters of the arms that are evaluated."""
    return {name: Path(folder) for name, folder in config.adapters.items() if name in config.arms}
