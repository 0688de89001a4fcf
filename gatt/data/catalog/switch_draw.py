"""The configuration of changes of the instruction, and how a change is drawn."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from gatt.data.catalog.read import Catalog
from gatt.data.catalog.switch_wording import TRAINING, Announcements
from gatt.data.instruction import Entry, Instruction, compose, draw_entries
from gatt.data.switches import SWITCH_KINDS, Switch, SwitchKind, SwitchPlace
from gatt.errors import CatalogError, ConfigError, DataError


@dataclass(frozen=True, kw_only=True)
class SwitchConfig:
    """Chances that the instruction of a dialogue changes once, and at which turns.

    If a kind of change is impossible (every entry of the catalogue conflicts with the instruction), the
    other kinds share its chance. If all are impossible, the instruction does not change.

    Raises:
        ConfigError: a value out of its range.
    """

    replace: float = 0.0
    """Chance that the instruction is replaced by another one, of as many entries if that is possible."""
    add: float = 0.0
    """Chance that an entry without conflict is added to the instruction."""
    cancel: float = 0.0
    """Chance that the instruction is cancelled."""
    min_turn: int = 2
    """First turn at which the instruction may change, at least 2. Shorter dialogues have no change."""
    max_turn: int | None = None
    """Last turn at which the instruction may change; null: the last of the dialogue. All turns are equally
    likely."""
    system: float = 0.0
    """Share of changes that a later system message announces; the others are announced in front of the user's
    message. If the chat template takes no later system message, all are."""

    def __post_init__(self) -> None:
        for name in (*SWITCH_KINDS, "system"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name} is {getattr(self, name)}: expected a share from 0 to 1")
        # 0.7 + 0.2 + 0.1 is a little more than 1 in floating point.
        if not 0 < self.total <= 1 + 1e-9:
            raise ConfigError(
                f"replace, add and cancel sum to {self.total:g}: expected more than 0 and at most 1"
            )
        if self.min_turn < 2:
            raise ConfigError(
                f"min_turn is {self.min_turn}: expected 2 or more, turn 1 holds the first instruction"
            )
        if self.max_turn is not None and self.max_turn < self.min_turn:
            raise ConfigError(
                f"max_turn is {self.max_turn}: expected min_turn ({self.min_turn}) or more, or null"
            )

    @property
    def total(self) -> float:
        """Chance of any change."""
        return self.replace + self.add + self.cancel

    def refuse_past(self, longest: int) -> None:
        """Refuse turns that no dialogue has: the longest has `longest`.

        Raises:
            DataError: names the key.
        """
        for name in ("min_turn", "max_turn"):
            turn = getattr(self, name)
            if turn is not None and turn > longest:
                raise DataError(
                    f"switch.{name} is {turn}, but the longest dialogue has {longest} turns: "
                    f"lower it to {longest} or less, or take longer dialogues"
                )


@dataclass(frozen=True)
class SwitchDraw:
    """Draws changes from a configuration and a pool of entries."""

    config: SwitchConfig
    catalog: Catalog
    pool: Sequence[Entry]
    """What a new instruction may be made of."""
    terse_probability: float
    """Chance of the shortened wording."""
    announcements: Announcements = TRAINING

    def draw(
        self,
        given: Instruction,
        num_turns: int,
        rng: random.Random,
        kinds: Collection[SwitchKind] = SWITCH_KINDS,
    ) -> Switch | None:
        """Return the change of one dialogue, None where it has none.

        `given`, made of entries of the catalogue, holds before. The same state of `rng` gives the same change.

        Raises:
            CatalogError: no new instruction can be put together.
        """
        config = self.config
        is_wanted = rng.random() < config.total
        last = min(num_turns, config.max_turn or num_turns)
        others = [e for e in self.pool if e.id not in given.entries]
        fitting = self._fitting(given)
        can_be = {"replace": bool(others), "add": bool(fitting), "cancel": True}
        open_kinds: list[SwitchKind] = [
            k for k in SWITCH_KINDS if k in kinds and can_be[k] and getattr(config, k)
        ]
        if not is_wanted or not open_kinds or last < config.min_turn:
            return None
        kind = rng.choices(open_kinds, weights=[getattr(config, k) for k in open_kinds])[0]
        turn = rng.randint(config.min_turn, last)
        place: SwitchPlace = "system" if rng.random() < config.system else "user"
        new: Sequence[Entry] | Instruction
        if kind == "cancel":
            new = self.catalog.entries_of(given)
        elif kind == "replace":
            new = compose(self._instead(given, others, rng), rng, self.terse_probability)
        else:
            entries = draw_entries(fitting, 1, self.catalog.conflicts, rng)
            new = compose(entries, rng, self.terse_probability)
        text, held = self.announcements.change(kind, given, new, self.terse_probability, rng)
        return Switch(turn, kind, place, text, held)

    def _instead(
        self, given: Instruction, others: Sequence[Entry], rng: random.Random
    ) -> tuple[Entry, ...]:
        """Return as many entries as an instruction has, or as many as go together in the pool."""
        for size in range(len(given.entries), 1, -1):
            try:
                return draw_entries(others, size, self.catalog.conflicts, rng)
            except CatalogError:
                continue
        return draw_entries(others, 1, self.catalog.conflicts, rng)

    def _fitting(self, given: Instruction) -> list[Entry]:
        """Return the entries that go together with all of an instruction's own."""
        if not self.config.add:
            return []
        own = self.catalog.entries_of(given)
        between = self.catalog.conflicts.between
        return [e for e in self.pool if not any(between(e, own_entry) for own_entry in own)]
