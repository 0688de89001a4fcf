"""`repeats_prompt`: the reply repeats a message of the dialogue word for word."""

from __future__ import annotations

import re
from functools import lru_cache

from data_synth.filters.draw import Draw

_WORD = re.compile(r"\w+")


def repeats_prompt(draw: Draw) -> bool:
    """Whether the reply is the question or an earlier message, apart from case and punctuation."""
    reply = _plain(draw.text)
    # Much longer messages cannot be equal: skipping them saves the split into words.
    longest = 2 * len(draw.text) + 8
    return any(_plain(message) == reply for message in draw.told if len(message) <= longest)


@lru_cache(maxsize=8192)
def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))
