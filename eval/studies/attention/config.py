"""Configuration of `gatt attend`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gatt.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class AttendConfig:
    """Which replies of an evaluation are measured.

    Raises:
        ConfigError: a value out of its range.
    """

    results: Path
    """output_dir of `gatt eval`: its model, adapter, cases, and replies with the history `reference`."""
    arm: str = "gatt"
    """The adapter's arm that is compared with the base model; the only adapter needs no name."""
    turns: tuple[int, ...] = ()
    """Turns whose replies are measured; empty takes all judged ones."""
    num_dialogues: int = 16
    """Most cases, on as many dialogues as there are, and of all families and splits about as often."""
    output_dir: Path | None = None
    """Folder of `attention.json` and `attention.html`; null is that of `results`, whose report then gets a
    section on attention."""
    overwrite: bool = False
    """Whether an existing `attention.json` may be replaced."""
    chart: Path | None = None
    """Pictures too: the map as FILE (.png, .svg or .pdf), and the turns beside it as FILE-turns."""

    def __post_init__(self) -> None:
        if self.num_dialogues < 1 or any(turn < 1 for turn in self.turns):
            raise ConfigError(
                f"num_dialogues is {self.num_dialogues}, turns is {list(self.turns)}: expected numbers from 1"
            )

    @property
    def folder(self) -> Path:
        """The folder of the results."""
        return self.output_dir or self.results
