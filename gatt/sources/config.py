"""The configuration of a source of dialogues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from gatt.errors import ConfigError

NAMES: Final = ("chitchat", "conversations", "faq", "hub", "jsonl", "questions")
HUB_OPTIONS: Final = ("config_name", "split", "streaming", "max_rows")
"""What `gatt.sources.hub` alone takes."""
ROW_OPTIONS: Final = ("column", "max_lost", "derive_expect")
"""What sources of rows take, `jsonl` and `hub`."""
ASKING: Final = ("conversations", "faq")
"""Sources that make dialogues of questions, without end."""
OWN_REPLIES: Final = ("faq", "hub", "jsonl")
"""Sources whose replies are the user's own, and not strangers' talk."""
DEFAULT_NUM: Final = 256
"""Dialogues of a source without end, where `num` is null."""


@dataclass(frozen=True, kw_only=True)
class SourceConfig:
    """Where dialogues come from.

    Raises:
        ConfigError: a value out of its range, or a source without what it needs.
    """

    min_turns: int = 8
    """Dialogues with fewer exchanges are left out."""
    max_turns: int = 8
    """Longer dialogues are cut after this many exchanges."""
    num: int | None = None
    """Most dialogues; null takes all, or 256 of `conversations` and `faq`."""
    seed: int = 0
    """Fixes the order of the dialogues. A smaller `num` gives the first ones of the same order."""
    name: str = "chitchat"
    """conversations (questions with known answers between small talk), faq (your own questions and answers
    between small talk), chitchat (bundled human chats), questions (everyday questions answered by the teacher),
    jsonl (a file of your dialogues) or hub (a `datasets` id or local folder)."""
    path: str | None = None
    """The file of `jsonl` (JSON lines or a JSON array, CSV, Parquet; also compressed); the CSV or JSONL file
    of `faq`; the id, folder or file of `hub`."""
    asked: Literal["every"] | tuple[int, ...] | None = None
    """Turns of `conversations` and `faq` that ask for something: `every`, a list of turns counted from 1, or
    null for about half of them."""
    small_talk: Literal["written", "people"] = "written"
    """What stands between the questions of `conversations`: `written` is the bank's small talk, `people` is
    taken from the bundled human chats."""
    config_name: str | None = None
    """Configuration of a `hub` data set that has several (`name` of `datasets.load_dataset`)."""
    split: str = "train"
    """Split of a `hub` data set, or a slice such as train[:1000] if `datasets` takes one."""
    column: str | None = None
    """Field of a row with the messages; null takes the first of `messages`, `conversations`, `conversation`,
    `dialogue` and `dialog` that is not empty."""
    max_lost: int | None = None
    """Most rows that may be lost because no dialogue can be made of them. null: none for `jsonl`, any number
    for `hub`."""
    derive_expect: bool | None = None
    """Whether a message without `expect` expects the numbers, names, links and codes of its reply, if another
    dialogue for training has them too. null: yes for `jsonl` and `hub`, whose replies are the user's own; no
    for others."""
    streaming: bool = False
    """Read a `hub` data set without downloading all of it; needs `max_rows`."""
    max_rows: int | None = None
    """Most rows of a `hub` data set that are read; null reads all."""

    def __post_init__(self) -> None:
        if self.min_turns < 1:
            raise ConfigError(f"min_turns is {self.min_turns}: expected at least 1")
        if self.max_turns < self.min_turns:
            raise ConfigError(
                f"max_turns is {self.max_turns}: expected at least min_turns ({self.min_turns})"
            )
        if self.num is not None and self.num < 1:
            raise ConfigError(f"num is {self.num}: expected at least 1, or null for all")
        if self.name not in NAMES:
            raise ConfigError(f"name is {self.name!r}: expected one of {', '.join(NAMES)}")
        if self.name in ("faq", "jsonl", "hub") and not self.path:
            raise ConfigError(f"source {self.name!r} needs 'path'")
        if self.name in ("chitchat", "conversations", "questions") and self.path:
            raise ConfigError(f"source {self.name!r} takes no 'path', found {self.path!r}")
        if isinstance(self.asked, tuple) and (not self.asked or min(self.asked) < 1):
            raise ConfigError(
                f"asked is {list(self.asked)}: expected turns counted from 1, or 'every'"
            )
        if self.asked is not None and self.name not in ASKING:
            raise ConfigError(
                f"source {self.name!r} takes no 'asked': only {' and '.join(ASKING)} do"
            )
        if self.small_talk != "written" and self.name != "conversations":
            raise ConfigError(
                f"source {self.name!r} takes no 'small_talk': only 'conversations' does"
            )
        for key in (*HUB_OPTIONS, *ROW_OPTIONS):
            value = getattr(self, key)
            takers = ("hub",) if key in HUB_OPTIONS else ("hub", "jsonl")
            if self.name not in takers and value != getattr(SourceConfig, key):
                raise ConfigError(
                    f"source {self.name!r} takes no {key!r}, found {value!r}: only "
                    f"{' and '.join(map(repr, takers))} {'does' if len(takers) == 1 else 'do'}"
                )
        if self.max_lost is not None and self.max_lost < 0:
            raise ConfigError(f"max_lost is {self.max_lost}: expected at least 0, or null")
        if self.max_rows is not None and self.max_rows < 1:
            raise ConfigError(f"max_rows is {self.max_rows}: expected at least 1, or null for all")
        if self.streaming and self.max_rows is None:
            raise ConfigError("streaming needs 'max_rows', the most rows to read")

    @property
    def derives(self) -> bool:
        """Whether expectations are derived from the replies."""
        has_rows = self.name in ("jsonl", "hub")
        return has_rows if self.derive_expect is None else self.derive_expect

    @property
    def has_own_replies(self) -> bool:
        """Whether the replies are the user's own, which are worth keeping."""
        return self.name in OWN_REPLIES

    @property
    def most_lost(self) -> int | None:
        """Most rows that may be lost; None is any number."""
        return 0 if self.max_lost is None and self.name == "jsonl" else self.max_lost
