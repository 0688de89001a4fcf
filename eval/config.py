"""Configuration of `gatt eval`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from eval.records.samples import History
from eval.records.suite import suite_values
from eval.scoring.judge.config import JudgeConfig
from gatt.data.catalog.choice import InstructionChoice
from gatt.data.catalog.switch_draw import SwitchConfig
from gatt.data.hash_split import Part
from gatt.data.instruction import Split
from gatt.data.views import Placement
from gatt.errors import ConfigError
from gatt.generation.base import SamplingConfig
from gatt.generation.cluster.config import RayConfig
from gatt.generation.config import EngineConfig
from gatt.runs.yaml_file import Source
from gatt.sources.config import SourceConfig

BASE = "base"
REMINDER = "base+reminder"
TAKEN = ("all", "dialogue")
"""What no adapter may be called: all arms together, and the dialogue's own replies."""
RUN_MARK = " · "
"""Stands between a run and its arm where several runs are shown."""
_MOST_CASES: Final = 10_000_000
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
    """A suite that is shipped (`gatt suite list`) or the YAML file of one: values for the keys below,
    under those that are given here."""
    arms: tuple[str, ...] = ()
    """`base`, `base+reminder` (the instruction on every turn, meant as an upper bound), and any name of
    `adapters`; empty takes all of them."""
    adapters: Mapping[str, Path] = field(default_factory=dict)
    """Arm name to folder of its LoRA adapter."""
    baseline: str | None = None
    """Arm that the others are compared with, case by case; null: `base`, or the first where it is none
    of the arms. In a finished folder another one only counts anew."""
    seed: int = 0
    """Fixes cases, draws and bootstrap; `source.seed` the order of dialogues."""
    engine: EngineConfig = field(default_factory=EngineConfig)
    """The base model."""
    sampling: SamplingConfig = field(
        default_factory=lambda: SamplingConfig(max_new_tokens=32, temperature=0.0)
    )
    """How replies are drawn; greedy by default."""
    source: SourceConfig = field(default_factory=lambda: SourceConfig(min_turns=20, max_turns=20))
    """Where the dialogues come from."""
    part: Part | None = "eval"
    """Part of the source's dialogues; training takes another. Null takes all."""
    num_turns: int | None = None
    """Join dialogues end to end until they have so many turns, none into two; null takes them as they are."""
    cases: Path | None = None
    """A JSONL file of cases of your own or of `gatt suite import`, in place of source and instructions."""
    instructions: InstructionChoice = field(
        default_factory=lambda: InstructionChoice(num_entries=(1.0,))
    )
    """Which instructions are put on them."""
    splits: tuple[Split, ...] = ("train", "heldout_value", "heldout_family")
    """Splits of instructions, each with `num_dialogues` cases of its own."""
    only_trained: bool = False
    """Of the split `train` only entries that every adapter was trained on, as its `trained_on.json` says:
    training may have drawn a part of the split. An arm that comes later must not change which those are."""
    num_dialogues: int = 16
    """Cases per split: a dialogue and an instruction."""
    num_plain: int = 0
    """Dialogues without an instruction, for false triggers."""
    event_turns: tuple[int, ...] = ()
    """Turns at which the user jumps topics, quotes text with instructions in it and so on, in place of
    the dialogue's message; needs the history `own`."""
    event_kinds: tuple[str, ...] = ()
    """What the user does then, see `eval/records/events.yaml`; empty takes all kinds there are."""
    event_file: Path | None = None
    """A file of kinds of events in place of `eval/records/events.yaml`."""
    switch: SwitchConfig | None = None
    """Changes of the instruction in mid-dialogue; null for none."""
    turns: tuple[int, ...] = (1, 2, 4, 8, 20)
    """Turns at which replies are judged."""
    probe_turns: tuple[int, ...] = (2, 4, 6, 20)
    """Turns at which one probe of the instruction is asked off the record; empty for none."""
    probe_choice: Literal["any", "first"] = "any"
    """Which probe of the instruction: any, drawn for each case, or the first, which asks for it outright
    ("What is your favorite hobby?", "Who are you?") where others want knowledge as well."""
    histories: tuple[History, ...] = ("reference",)
    """`reference`: the model answers within the dialogue as it stands; `own`: it reads its own
    replies, from turn 1 on."""
    placement: Placement = "system"
    """Where the instruction stands, once, for all arms but the reminder."""
    task_completion: bool = True
    """Whether it is measured if replies still answer what was asked, by similarity of sentences."""
    judge: JudgeConfig | None = None
    """A model that judges replies too; what no rule covers is open without one."""
    score_file: Path | None = None
    """A Python file of your own whose `SCORES`, names with functions from a reply to 0..1, `score`
    verifiers name; it is run. Null: what they ask for is open."""
    unmeasured: bool = False
    """Whether replies are sampled even where nothing that is asked of them can be measured (no judge for
    what no rule covers, no score_file)."""
    replies_from: Path | None = None
    """Folder of a finished evaluation of the same settings: its replies are judged again by today's rules,
    into `output_dir`, and no arm is asked. Null: the arms reply."""
    batch_cases: int = 8
    """Cases worked on together: the unit that is redone after an interruption."""
    ray: RayConfig | None = None
    """null: this process alone; else workers of Ray roll out, each one arm and `batch_cases` cases at a
    time, and this process writes their rows. `--workers N` starts N on this machine."""

    @classmethod
    def preset(cls, values: Mapping[str, Any]) -> Source:
        """Return the suite that some values name, see `gatt.config.load`.

        Raises:
            ConfigError: no such suite, or a key in it that is none of a suite.
        """
        return suite_values(values.get("suite"))

    def __post_init__(self) -> None:
        if not self.arms:
            object.__setattr__(self, "arms", (BASE, REMINDER, *self.adapters))
        for arm in self.arms:
            if arm not in (BASE, REMINDER) and arm not in self.adapters:
                raise ConfigError(
                    f"arm {arm!r} has no adapter: expected {BASE!r}, {REMINDER!r} or a name of 'adapters' "
                    f"({', '.join(self.adapters) or 'none given'})"
                )
        if self.baseline is not None and self.baseline not in self.arms:
            raise ConfigError(
                f"baseline is {self.baseline!r}: expected one of the arms ({', '.join(self.arms)}), or null"
            )
        for arm in (*self.arms, *self.adapters):
            if not arm.strip() or "/" in arm or "\n" in arm:
                raise ConfigError(f"arm {arm!r}: expected a name without '/', on one line")
            if arm in TAKEN or RUN_MARK in arm:
                raise ConfigError(
                    f"arm {arm!r}: expected another name, reports call something else "
                    f"{arm if arm in TAKEN else RUN_MARK.strip()!r}"
                )
        for arm in (BASE, REMINDER):
            if arm in self.adapters:
                raise ConfigError(
                    f"adapters has {arm!r}, which stands for the base model: give the adapter another name"
                )
        for name in ("arms", "histories", "splits"):
            values = getattr(self, name)
            if len(set(values)) < len(values):
                raise ConfigError(f"{name} is {list(values)}: expected each once")
        for name in ("turns", "histories"):
            if not getattr(self, name):
                raise ConfigError(f"{name} is empty: expected at least one")
        for name in ("turns", "probe_turns", "event_turns"):
            values = getattr(self, name)
            if values != tuple(sorted(set(values))) or (values and values[0] < 1):
                raise ConfigError(f"{name} is {list(values)}: expected rising turns from 1 on")
        self._check_length()
        if self.event_turns and self.histories != ("own",):
            raise ConfigError(
                f"event_turns with histories {list(self.histories)}: expected [own], since the dialogue's "
                "replies do not answer what the user says at an event"
            )
        if self.judge:
            for arm in self.judge.arms:
                if arm not in self.arms:
                    raise ConfigError(f"judge.arms has {arm!r}: expected some of {list(self.arms)}")
        for name in ("num_dialogues", "num_plain"):
            if not 0 <= getattr(self, name) <= _MOST_CASES:
                raise ConfigError(f"{name} is {getattr(self, name)}: expected 0 to {_MOST_CASES}")
        if not self.cases and self.num_dialogues * len(self.splits) + self.num_plain == 0:
            raise ConfigError("no case: raise num_dialogues or num_plain")
        if self.replies_from is not None and self.replies_from == self.output_dir:
            raise ConfigError(
                f"replies_from is {self.replies_from}, the output_dir: expected another folder, so that "
                "nothing is lost"
            )
        if self.batch_cases < 1:
            raise ConfigError(f"batch_cases is {self.batch_cases}: expected at least 1")

    @property
    def compared_with(self) -> str:
        """The arm that all others are compared with, see `baseline`."""
        return self.baseline or (BASE if BASE in self.arms else self.arms[0])

    def _check_length(self) -> None:
        if self.cases:
            if self.num_turns is not None or self.event_turns:
                raise ConfigError(
                    "cases with num_turns or event_turns: expected neither, the file says what happens"
                )
            if self.switch:
                raise ConfigError("cases with switch: expected the changes in the file of cases")
            if self.only_trained:
                raise ConfigError(
                    "cases with only_trained: expected the cases chosen in their file"
                )
            return
        if self.only_trained and ("train" not in self.splits or not self.num_dialogues):
            raise ConfigError(
                "only_trained without cases of split 'train': expected 'train' in splits and num_dialogues "
                "above 0, or only_trained: false"
            )
        if self.only_trained and self.engine.server is not None:
            raise ConfigError(
                "only_trained with engine.server: expected a local adapter, a served one does not say what "
                "it was trained on"
            )
        if self.switch and self.event_turns:
            raise ConfigError(
                "switch with event_turns: expected one of them, an event may ask to drop what has changed"
            )
        longest = max((*self.turns, *self.probe_turns, *self.event_turns))
        key = "source.min_turns" if self.num_turns is None else "num_turns"
        given = self.source.min_turns if self.num_turns is None else self.num_turns
        if given < 1:
            raise ConfigError(f"{key} is {given}: expected at least 1")
        if longest > given:
            raise ConfigError(f"turn {longest} is asked for, but {key} is {given}: raise it")
        if self.switch and (last := self.switch.max_turn or self.switch.min_turn) > given:
            raise ConfigError(
                f"switch at turn {last} is past the last turn, {key} is {given}: lower it, or take "
                "longer dialogues"
            )
        asked = max((*self.turns, *self.probe_turns))
        if self.switch and self.switch.min_turn > asked:
            raise ConfigError(
                f"switch.min_turn is {self.switch.min_turn}, but turn {asked} is the last that turns and "
                "probe_turns ask for: lower it, or ask for later turns"
            )


def used_adapters(config: EvalConfig) -> dict[str, Path]:
    """Return the adapters of the arms that are evaluated."""
    return {name: Path(folder) for name, folder in config.adapters.items() if name in config.arms}
