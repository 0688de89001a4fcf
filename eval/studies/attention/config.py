"""Configuration of `gatt attend`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from eval.config import BASE, REMINDER
from eval.records.samples import History
from gatt.data.hash_split import Part
from gatt.data.views import Placement
from gatt.errors import ConfigError
from gatt.generation.base import SamplingConfig
from gatt.generation.config import EngineConfig
from gatt.sources.config import SourceConfig

PICTURES = (".png", ".svg", ".pdf")
"""As `eval.report.charts.drawing.PICTURES`, which would load matplotlib for the help."""


@dataclass(frozen=True, kw_only=True)
class AttendConfig:
    """Which adapter is held against its base model, on which dialogues, under which instruction.

    Raises:
        ConfigError: a value out of its range, or keys that do not go together.
    """

    adapter: Path | None = None
    """Folder of the LoRA adapter that is held against the base model; with `samples`, null takes that of
    the evaluation."""
    dialogue: str | None = None
    """A JSONL file in messages form, all of it or FILE/ID for one dialogue; null takes `source`."""
    source: SourceConfig = field(default_factory=lambda: SourceConfig(min_turns=8, max_turns=8))
    """Where dialogues come from if no file is given."""
    part: Part | None = "eval"
    """Part of the source's dialogues; training takes another. Null takes all."""
    entry: str | None = None
    """Catalogue entry whose instruction is told in turn 1, such as language.fr; it judges the replies."""
    instruction: str | None = None
    """The same as free text, which no rule can judge. With neither, a dialogue's own system message is
    its instruction, as `gatt chat` saves it."""
    catalog: tuple[str, ...] = ()
    """Folders of catalogue files for `entry`; empty takes the one that is shipped."""
    samples: Path | None = None
    """output_dir of `gatt eval`, in place of all of the above: its dialogues, instructions, replies and
    verdicts."""
    arm: str = "gatt"
    """What the adapter is called; with `samples`, which of its arms."""
    history: History | None = None
    """What the model reads: `reference`, the dialogue's own replies, or `own`, its own ones. Null is
    reference, or the first of the evaluation."""
    turns: tuple[int, ...] = ()
    """Turns whose replies are looked at; empty takes all that there are."""
    num_dialogues: int = 16
    """Most dialogues: the first ones. With `samples` so many cases of the evaluation, on as many dialogues
    as there are, and of all families and splits about as often."""
    mask_last: bool = True
    """Whether the last turn at which the instruction holds is answered anew without sight of it, to see
    what falls."""
    bin_tokens: int = 8
    """Neighbouring tokens that share a bin of the map; more in long dialogues."""
    output_dir: Path | None = None
    """Folder of `attention.json` and `attention.html`; null is that of `samples`, whose report then has
    them too."""
    overwrite: bool = False
    """Whether an `attention.json` that is there already may be replaced."""
    chart: Path | None = None
    """Pictures too: the map as FILE (.png, .svg or .pdf), turns and heads beside it as FILE-turns and
    FILE-heads."""
    seed: int = 0
    """Of draws and of the bootstrap."""
    engine: EngineConfig = field(default_factory=EngineConfig)
    """The base model; a local one. Left as it is, `model` is the one that the adapter was trained on. With
    `samples`, model and dtype are those of the evaluation."""
    sampling: SamplingConfig = field(
        default_factory=lambda: SamplingConfig(max_new_tokens=32, temperature=0.0)
    )
    """How replies are drawn; with `samples` they are there."""
    placement: Placement = "system"
    """Where the instruction stands, once; with `samples` as in the evaluation."""

    def __post_init__(self) -> None:
        self._check_input()
        if self.arm in (BASE, REMINDER) or not self.arm.strip() or "/" in self.arm:
            raise ConfigError(
                f"arm is {self.arm!r}: expected a name of the adapter's own, without '/', not "
                f"{BASE!r} or {REMINDER!r}"
            )
        if self.turns != tuple(sorted(set(self.turns))) or (self.turns and self.turns[0] < 1):
            raise ConfigError(f"turns is {list(self.turns)}: expected rising turns from 1 on")
        for name in ("num_dialogues", "bin_tokens"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}: expected at least 1")
        if self.chart and self.chart.suffix not in PICTURES:
            raise ConfigError(
                f"chart is {str(self.chart)!r}: expected a name that ends in one of {', '.join(PICTURES)}"
            )
        if self.engine.server is not None:
            raise ConfigError(
                "engine.server is given: expected a local model, servers tell no attention weights"
            )

    def _check_input(self) -> None:
        if self.samples:
            given = [
                k for k in ("dialogue", "entry", "instruction") if getattr(self, k) is not None
            ]
            if given:
                raise ConfigError(
                    f"samples with {given[0]}: expected one of them, an evaluation has both dialogues "
                    "and instructions"
                )
            return
        if self.adapter is None:
            raise ConfigError("adapter is missing: expected the folder of a trained adapter")
        if self.output_dir is None:
            raise ConfigError("output_dir is missing: expected a folder for attention.json")
        if self.entry is not None and self.instruction is not None:
            raise ConfigError("entry and instruction: expected one of them")
        if self.dialogue is None and self.entry is None and self.instruction is None:
            raise ConfigError(
                "no instruction: expected entry (such as language.fr) or instruction (free text)"
            )
        if self.dialogue is None and self.source.name == "questions":
            raise ConfigError(
                "source.name is 'questions', which a model has to answer first: expected chitchat, "
                "jsonl or hub"
            )

    @property
    def folder(self) -> Path:
        """Where the results go."""
        found = self.output_dir or self.samples
        assert found is not None
        return found
