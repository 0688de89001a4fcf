"""The words with which an instruction is changed in the middle of a dialogue. No torch here."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from gatt.data.instruction import Entry, Instruction, Wording, combine
from gatt.data.switches import SwitchKind

_Texts = Mapping[tuple[SwitchKind, Wording], tuple[str, ...]]


@dataclass(frozen=True)
class Announcements:
    """Wordings for every kind of change, with `{new}` for the new and `{old}` for the short old instruction."""

    texts: _Texts
    has_own: bool
    """Whether the wordings that an entry has for its own cancellation are used too."""

    def change(
        self,
        kind: SwitchKind,
        given: Instruction,
        new: Sequence[Entry] | Instruction,
        terse_probability: float,
        rng: random.Random,
    ) -> tuple[str, Instruction | None]:
        """Return the words of a change, and what holds from it on.

        `new` is what comes, in its own wording; with `cancel` the entries of what held, told in short with
        `terse_probability`.
        """
        if not isinstance(new, Instruction):
            wording: Wording = "terse" if rng.random() < terse_probability else "verbose"
            return self.of_end(new, wording, rng), None
        return self.of_new(kind, new, rng), combine(given, new) if kind == "add" else new

    def of_new(self, kind: SwitchKind, new: Instruction, rng: random.Random) -> str:
        """Return the words that replace an instruction, or add to it."""
        return rng.choice(self.texts[kind, new.wording]).format(new=new.text)

    def of_end(self, entries: Sequence[Entry], wording: Wording, rng: random.Random) -> str:
        """Return the words that take back an instruction, which is made of some entries."""
        words = self.texts["cancel", wording]
        if wording == "terse":
            return rng.choice(words).format(old=" ".join(e.terse for e in entries))
        has_own = self.has_own and all(e.cancel for e in entries)
        own = [" ".join(rng.choice(e.cancel) for e in entries)] if has_own else []
        return rng.choice([*own, *own, *words])


def _read(name: str, *, has_own: bool) -> Announcements:
    path = Path(__file__).with_name("wordings.yaml")
    wordings = yaml.safe_load(path.read_text(encoding="utf-8"))[name]
    texts: Any = {tuple(key.split()): tuple(words) for key, words in wordings.items()}
    return Announcements(texts, has_own)


TRAINING: Final = _read("training", has_own=True)
"""What `gatt synth` announces changes with."""
EVALUATION: Final = _read("evaluation", has_own=False)
"""What `gatt eval` announces them with: nothing that `gatt synth` says, so that no phrase is known by heart."""
