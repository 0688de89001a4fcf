"""Checks what adapters were trained on: no dialogue of an evaluation, and which instructions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from gatt.data.dialogue import Dialogue
from gatt.data.training_marks import read_marks
from gatt.errors import ConfigError, DataError


def refuse_overlap(adapters: Mapping[str, Path], dialogues: Sequence[Dialogue]) -> tuple[str, ...]:
    """Refuse dialogues that an adapter was trained on.

    Args:
        adapters: arm to folder.
        dialogues: of the cases; joined dialogues in their parts.

    Returns:
        The arms whose folder does not say what they were trained on.

    Raises:
        DataError: an adapter was trained on one of the dialogues; with their number.
    """
    named = {dialogue.id: dialogue for dialogue in dialogues}
    found = {arm: read_marks(folder) for arm, folder in adapters.items()}
    for arm, marks in found.items():
        if shared := [name for name, d in named.items() if marks and d in marks]:
            raise DataError(
                f"arm {arm!r}: {len(shared)} of {len(named)} dialogues of the evaluation are among "
                f"those that {adapters[arm]} was trained on, the first is {shared[0]!r}: expected none, choose "
                "part: eval or another source"
            )
    return tuple(arm for arm, marks in found.items() if marks is None)


def trained_entries(adapters: Mapping[str, Path]) -> frozenset[str]:
    """Return the ids of the catalogue entries that every adapter was trained on.

    Raises:
        ConfigError: no adapter, or one whose folder does not say what it was trained on.
    """
    found = {arm: read_marks(folder) for arm, folder in adapters.items()}
    silent = [arm for arm, marks in found.items() if marks is None or marks.entries is None]
    if silent or not found:
        raise ConfigError(
            f"only_trained: {f'the adapter of {silent[0]!r}' if silent else 'an evaluation without adapter'} "
            "does not say which catalogue entries it was trained on: expected 'entries' in its "
            "trained_on.json, which `gatt train` writes unless it went on from an adapter without; or set "
            "only_trained: false"
        )
    known = [marks.entries for marks in found.values() if marks and marks.entries is not None]
    return frozenset.intersection(*known)
