"""Replies that no rule may accept: junk, words about a role from outside, talk about an instruction.

Talk is made of every wording of an entry: the instruction itself, refusals that quote it, promises to
follow it and questions back. The texts stand in `gauntlet.yaml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from gatt.data.instruction import Entry

_TEXTS = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
JUNK: tuple[str, ...] = tuple(_TEXTS["junk"])
NAME_JUNK: tuple[str, ...] = tuple(_TEXTS["name_junk"])
TERM_JUNK: tuple[str, ...] = tuple(_TEXTS["term_junk"])
DENIAL_JUNK: tuple[str, ...] = tuple(_TEXTS["denial_junk"])
QUOTING: tuple[tuple[str, ...], ...] = tuple(map(tuple, _TEXTS["quoting"]))
DOING: tuple[str, ...] = tuple(_TEXTS["doing"])
_VERBS = frozenset(_TEXTS["verbs"].split())
_LABEL = re.compile(r"^[\w -]{1,30}: (?P<asked>.+?)[.!]?$", re.DOTALL)


def talk_about(entry: Entry) -> Iterator[str]:
    """Yield the replies that only talk about the instruction of an entry, in all its wordings."""
    for number, wording in enumerate(dict.fromkeys((*entry.verbose, entry.terse))):
        yield wording
        for frames in QUOTING:
            for offset in range(2):
                yield frames[(2 * number + offset) % len(frames)].format(wording=wording)
    asked = _LABEL.match(entry.terse)
    if asked is None:
        return
    deed = asked["asked"]
    if deed.split()[0].lower() not in _VERBS:
        deed = f"mention {deed}"
    for frame in DOING:
        yield frame.format(deed=deed)
