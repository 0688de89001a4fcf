"""No dialogue of an evaluation was trained on: refused where an adapter's folder says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from gatt.dialogue import Dialogue
from gatt.errors import DataError
from gatt.trained_on import read_marks


def refuse_overlap(adapters: Mapping[str, Path], dialogues: Sequence[Dialogue]) -> tuple[str, ...]:
    """Refuse dialogues that an adapter was trained on.

    Args:
        adapters: arm to folder.
        dialogues: of the cases; of joined ones each that they consist of.

    Returns:
        The arms whose folder does not say what they were trained on.

    Raises:
        DataError: a dialogue in both; says how many.
    """
    named = {dialogue.id: dialogue for dialogue in dialogues}
    unknown = []
    for arm, folder in adapters.items():
        marks = read_marks(folder)
        if marks is None:
            unknown.append(arm)
            continue
        shared = [name for name, d in named.items() if d in marks]
        if shared:
            raise DataError(
                f"arm {arm!r}: {len(shared)} of {len(named)} dialogues of the evaluation are among "
                f"those that {folder} was trained on, the first is {shared[0]!r}: expected none, choose "
                "part: eval or another source"
            )
    return tuple(unknown)
