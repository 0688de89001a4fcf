"""What a configuration says about where dialogues come from."""

from __future__ import annotations

from dataclasses import dataclass

from gatt.dialogue import Dialogue
from gatt.errors import ConfigError
from gatt.partition import Part
from gatt.sources import SOURCES, SourceReport, SourceRequest, load_dialogues


@dataclass(frozen=True, kw_only=True)
class SourceConfig:
    """Where dialogues come from.

    Raises:
        ConfigError: a value out of its range, or a source without what it needs.
    """

    name: str = "chitchat"
    """chitchat (bundled human chats), questions (catalogue questions answered by the teacher),
    jsonl (a file in messages form) or hub (a `datasets` id or local folder)."""
    path: str | None = None
    """The file of `jsonl`; the id or folder of `hub`."""
    split: str = "train"
    """Split of a `hub` data set."""
    min_turns: int = 8
    """Dialogues with fewer exchanges are passed over."""
    max_turns: int = 8
    """Longer ones are cut after this many exchanges."""
    num: int | None = None
    """Most dialogues; null takes all there are."""
    seed: int = 0
    """Fixes their order."""

    def __post_init__(self) -> None:
        if self.name not in SOURCES:
            raise ConfigError(
                f"name is {self.name!r}: expected one of {', '.join(sorted(SOURCES))}"
            )
        if self.name in ("jsonl", "hub") and not self.path:
            raise ConfigError(f"source {self.name!r} needs 'path'")
        if self.name in ("chitchat", "questions") and self.path:
            raise ConfigError(f"source {self.name!r} takes no 'path', found {self.path!r}")
        self.request()

    def request(self) -> SourceRequest:
        """Return the request for `load_dialogues`."""
        return SourceRequest(self.min_turns, self.max_turns, self.num, self.seed)

    def load(self, part: Part | None) -> tuple[list[Dialogue], SourceReport]:
        """Return the dialogues of a part (None: all) and the account of what was dropped.

        Raises:
            ConfigError: an option the source does not take.
            DataError: data that cannot be read, or nothing left of it.
        """
        options: dict[str, str] = {}
        if self.name == "jsonl" and self.path:
            options = {"path": self.path}
        elif self.name == "hub" and self.path:
            options = {"path": self.path, "split": self.split}
        return load_dialogues(self.name, self.request(), part, **options)
