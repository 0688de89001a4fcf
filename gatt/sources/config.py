"""What a configuration says about where dialogues come from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from gatt.data.dialogue import Dialogue
from gatt.data.hash_split import Part
from gatt.errors import ConfigError
from gatt.sources import SOURCES, SourceReport, SourceRequest, load_dialogues

HUB_OPTIONS: Final[Mapping[str, object]] = {
    "config_name": None, "split": "train", "column": None, "streaming": False, "max_rows": None,
}  # fmt: skip
"""What `gatt.sources.hub` takes besides its path, and the value that asks for nothing."""


@dataclass(frozen=True, kw_only=True)
class SourceConfig(SourceRequest):
    """Where dialogues come from.

    Raises:
        ConfigError: a value out of its range, or a source without what it needs.
    """

    name: str = "chitchat"
    """chitchat (bundled human chats), questions (catalogue questions answered by the teacher),
    jsonl (a file in messages form) or hub (a `datasets` id or local folder)."""
    path: str | None = None
    """The file of `jsonl` (or compressed, `.gz` or `.xz`); the id or folder of `hub`."""
    config_name: str | None = None
    """Configuration of a `hub` data set that has several (`name` of `datasets.load_dataset`)."""
    split: str = "train"
    """Split of a `hub` data set; a slice such as train[:1000] is fine where `datasets` takes one."""
    column: str | None = None
    """Column of a `hub` data set with the messages; null takes `messages`, else `conversations`."""
    streaming: bool = False
    """Read a `hub` data set without downloading all of it; needs `max_rows`."""
    max_rows: int | None = None
    """Most rows of a `hub` data set to read, before any is dropped; null reads all."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.name not in SOURCES:
            raise ConfigError(
                f"name is {self.name!r}: expected one of {', '.join(sorted(SOURCES))}"
            )
        if self.name in ("jsonl", "hub") and not self.path:
            raise ConfigError(f"source {self.name!r} needs 'path'")
        if self.name in ("chitchat", "questions") and self.path:
            raise ConfigError(f"source {self.name!r} takes no 'path', found {self.path!r}")
        for key, default in HUB_OPTIONS.items():
            value = getattr(self, key)
            if self.name != "hub" and value != default:
                raise ConfigError(
                    f"source {self.name!r} takes no {key!r}, found {value!r}: only 'hub' does"
                )
            if isinstance(value, str) and not value.strip():
                raise ConfigError(f"{key} is {value!r}: expected a name")
        if self.max_rows is not None and self.max_rows < 1:
            raise ConfigError(f"max_rows is {self.max_rows}: expected at least 1, or null for all")
        if self.streaming and self.max_rows is None:
            raise ConfigError("streaming needs 'max_rows', the most rows to read")

    def load(self, part: Part | None) -> tuple[list[Dialogue], SourceReport]:
        """Return the dialogues of a part (None: all) and the account of what was dropped.

        Raises:
            ConfigError: an option the source does not take.
            DataError: data that cannot be read, or nothing left of it.
        """
        options: dict[str, Any] = {}
        if self.name in ("jsonl", "hub"):
            options["path"] = os.path.expanduser(self.path or "")
        if self.name == "hub":
            options |= {key: getattr(self, key) for key in HUB_OPTIONS}
        return load_dialogues(self.name, self, part, **options)
