"""Whether a reply still follows an instruction that was replaced or taken back. No torch here."""

from __future__ import annotations

from collections.abc import Sequence

from gatt.data.catalog.ordinary_replies import is_ordinary
from gatt.data.dialogue import Dialogue
from gatt.data.instruction import Instruction
from gatt.data.switches import Switch, ended, in_force
from gatt.verifiers import Status, check_all, overall
from gatt.verifiers.spec import VerifierSpec

LEAKS_VERSION = 1
"""Raised by one with every change that can change a status; in the fingerprints of runs with changes."""
Rules = Sequence[Sequence[VerifierSpec]]
"""Verifiers, entry by entry."""


def ended_rules(first: Instruction | None, switches: Sequence[Switch], turn: int) -> Rules:
    """Return the rules of what the last `replace` or `cancel` up to a turn has ended.

    Left out are those of an entry that holds again, and those that ordinary
    replies follow, see `gatt.data.catalog.ordinary_replies`. None are left where nothing was ended.

    A change at the turn itself counts.
    """
    old = ended(first, switches, turn)
    now = in_force(first, switches, turn)
    held = now.verifiers if now else ()
    return tuple(
        rules
        for rules in (old.rules if old else ())
        if not (rules and all(rule in held for rule in rules)) and not is_ordinary(rules)
    )


def still_follows(
    first: Instruction | None,
    switches: Sequence[Switch],
    dialogue: Dialogue,
    turn: int,
    reply: str,
) -> bool:
    """Return whether a reply still follows an instruction that was replaced or cancelled before its turn.

    What the dialogue itself says at that turn is its topic, not the old instruction.

    The dialogue has its own replies, but for the last where it is open; `reply` is another one to the same
    message.
    """
    rules = ended_rules(first, switches, turn)
    own = dialogue.replies[turn - 1 : turn]
    return leak_status(rules, reply) == "pass" and not any(
        leak_status(rules, text) == "pass" for text in own
    )


def leak_status(rules: Rules, reply: str) -> Status | None:
    """Return `pass` if a reply follows the rules of any entry, None if there are none.

    A combination whose rules cannot be told apart, see `Instruction.rules`, is one
    entry: only a reply that follows all of it passes.
    """
    statuses = {overall(check_all(some, reply)) for some in rules}
    return next((s for s in ("pass", "undecided", "fail") if s in statuses), None)
