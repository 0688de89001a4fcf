"""The hint after "unknown …": the known word that was probably meant. No torch here."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: object, words: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the most similar known word, whatever its case; None where none reaches `cutoff` (0 to 1)."""
    spelled = {name.casefold(): name for name in words}
    close = difflib.get_close_matches(str(word).casefold(), spelled, n=1, cutoff=cutoff)
    return spelled[close[0]] if close else None


def did_you_mean(word: object, words: Iterable[str], otherwise: str = "") -> str:
    """Return `, did you mean '…'?`, to be written after the unknown word; else `otherwise`."""
    near = nearest(word, words)
    return f", did you mean {near!r}?" if near is not None else otherwise
