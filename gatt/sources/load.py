"""From the configuration of a source to its dialogues."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from gatt.data.dialogue import Dialogue
from gatt.data.hash_split import SplitName
from gatt.sources import chitchat, conversations, faq, hub, jsonl
from gatt.sources.base import SourceReport, select
from gatt.sources.config import SourceConfig
from gatt.sources.derived import TrainedFacts

log = logging.getLogger(__name__)
READERS: Final[Mapping[str, Callable[[SourceConfig, SourceReport], Iterator[Dialogue]]]] = {
    "chitchat": chitchat.read, "hub": hub.read, "jsonl": jsonl.read,
}  # fmt: skip
"""Name to what yields every usable dialogue and counts the others; a new source is one file, its name here
and in `gatt.sources.config`, one test. `questions`, which needs a model that answers, has another form
(`gatt.sources.questions`)."""


ENDLESS: Final[Mapping[str, Callable[[SourceConfig, SourceReport, SplitName | None], Iterator[Dialogue]]]] = {
    "conversations": conversations.read, "faq": faq.read,
}  # fmt: skip
"""The same for sources that make as many dialogues of a part as are asked for."""


def load_dialogues(
    config: SourceConfig, part: SplitName | None
) -> tuple[list[Dialogue], SourceReport]:
    """Return the dialogues of a part (None: all) and the account of what was dropped; not for `questions`.

    Every dialogue starts with a user message, has no system message and consists of `min_turns` to
    `max_turns` whole exchanges. The order depends on the seed only. What was changed or dropped of
    a user's own data is said in the log, with an example for each reason.

    Raises:
        ConfigError: the source's package is not installed.
        DataError: data that cannot be read, more lost rows than `max_lost`, or nothing left.
    """
    report = SourceReport(config.name)
    if config.name in ENDLESS:
        made = list(ENDLESS[config.name](config, report, part))
        report.num_kept, report.longest_turns = len(made), max(d.num_turns for d in made)
        return made, report
    trained = TrainedFacts()
    read = READERS[config.name](config, report)
    dialogues = select(trained.counted(read) if config.derives else read, config, report, part)
    if config.derives:
        dialogues = list(map(trained.with_expectations, dialogues))
    # What the screen of the bundled chats drops is always the same.
    if config.path is not None and report.examples:
        for line in report.lines():
            log.warning("%s", line)
    return dialogues, report
