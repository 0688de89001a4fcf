"""Cases drawn from a catalogue and a source of dialogues, the same for every arm.

Dialogues may be joined to long ones, and changes of the instruction added.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice
from typing import Any

from eval.config import EvalConfig
from eval.records.case import Case
from gatt.data.catalog.ordinary_replies import is_ordinary
from gatt.data.catalog.read import Catalog
from gatt.data.catalog.switch_draw import SwitchDraw
from gatt.data.catalog.switch_wording import EVALUATION
from gatt.data.dialogue import Dialogue
from gatt.data.instruction import Entry, Probe, compose
from gatt.data.switches import SWITCH_KINDS, Switch, SwitchKind, told_by_user
from gatt.data.views import begins_with_system
from gatt.errors import CatalogError, DataError
from gatt.models.template_facts import inspect_template


@dataclass(frozen=True, slots=True)
class LongDialogue:
    """Several dialogues joined end to end."""

    dialogue: Dialogue
    parts: tuple[Dialogue, ...]
    """The dialogues that were joined, complete: the last one may be longer than its part here."""

    @property
    def seams(self) -> tuple[int, ...]:
        """Turns, counted from 1, at which the next dialogue begins."""
        return tuple(1 + num for num in accumulate(part.num_turns for part in self.parts[:-1]))


def join_dialogues(dialogues: Sequence[Dialogue], num_turns: int) -> dict[str, LongDialogue]:
    """Return dialogues of exactly `num_turns` turns, by their ids.

    Dialogues (whole exchanges, without a system message) are joined in order until the result is
    long enough, and the last one is cut. None is used twice, so that the results stay independent.

    Raises:
        DataError: all of them together are shorter than one.
    """
    joined_dialogues: dict[str, LongDialogue] = {}
    parts: list[Dialogue] = []
    for dialogue in dialogues:
        parts.append(dialogue)
        if sum(part.num_turns for part in parts) >= num_turns:
            name = "+".join(part.id for part in parts)
            messages = tuple(message for part in parts for message in part.messages)
            joined = Dialogue(name, messages[: 2 * num_turns])
            joined_dialogues[name] = LongDialogue(joined, tuple(parts))
            parts = []
    if not joined_dialogues:
        total = sum(part.num_turns for part in parts)
        raise DataError(
            f"{len(dialogues)} dialogues with {total} turns together give none of {num_turns} turns: "
            "expected more of them, lower num_turns or allow more of the source"
        )
    return joined_dialogues


def make_cases(
    config: EvalConfig,
    catalog: Catalog,
    dialogues: Sequence[Dialogue],
    trained: Collection[str] | None = None,
) -> list[Case]:
    """Return the cases of a configuration: per split, then the plain ones.

    Families take turns, so that each has the same share of every split. Within a family entries are drawn
    without repetition until all were used. A split without any chosen entry is left out. Dialogues are used
    in turn, and none gets the same instruction twice, because the metrics could not tell such cases apart.

    Raises:
        CatalogError: unknown family or value, or no entry in any split.
        DataError: no dialogue, or too few of them.
    """
    if not dialogues:
        raise DataError("no dialogue to evaluate on: see the source's min_turns")
    cases: list[Case] = []
    empty: list[str] = []
    used: set[tuple[str, str]] = set()
    for split in config.splits:
        try:
            pool = config.instructions.select(catalog, (split,))
        except CatalogError:
            config.instructions.select(catalog, ())
            empty.append(split)
            continue
        pool = only_trained(pool, trained)
        rng = random.Random(f"{config.seed}/{split}")
        for index, entries in enumerate(_draws(config, catalog, pool, rng)):
            instruction = compose(entries, rng, config.instructions.terse_probability)
            probe = draw_probe(config, instruction.probes, rng)
            start = index % len(dialogues)
            turn = (*dialogues[start:], *dialogues[:start])
            dialogue = next((d for d in turn if (d.id, instruction.id) not in used), None)
            if dialogue is None:
                raise DataError(
                    f"split {split!r}: {config.num_dialogues} cases from {len(dialogues)} dialogues and "
                    f"{len(pool)} catalogue entries repeat {instruction.id!r} on a dialogue: lower "
                    "num_dialogues, or allow more of either"
                )
            used.add((dialogue.id, instruction.id))
            cases.append(Case(f"{split}-{index:04d}", dialogue, instruction, probe))
    if not cases and config.num_dialogues:
        raise CatalogError(
            f"no catalogue entry in splits {', '.join(empty)} with the chosen families and values: "
            "choose others"
        )
    if config.num_plain > len(dialogues):
        raise DataError(
            f"num_plain is {config.num_plain}, but the source gives {len(dialogues)} dialogues: lower it"
        )
    plain = enumerate(dialogues[: config.num_plain])
    return [*cases, *(Case(f"plain-{n:04d}", d, None, None) for n, d in plain)]


def draw_probe(config: EvalConfig, probes: Sequence[Probe], rng: random.Random) -> Probe | None:
    """Return the probe to ask, None without any; the same draws follow whatever the choice."""
    drawn = rng.choice(probes) if probes else None
    return probes[0] if probes and config.probe_choice == "first" else drawn


def only_trained(pool: Sequence[Entry], trained: Collection[str] | None) -> tuple[Entry, ...]:
    """Return the entries of a split that may be drawn: of `train` those in `trained`, if it is given.

    Raises:
        CatalogError: none is left.
    """
    left = tuple(e for e in pool if trained is None or e.split != "train" or e.id in trained)
    if not left:
        raise CatalogError(
            "only_trained: the adapters were trained on no entry of split 'train' with the chosen "
            "families and values: choose others"
        )
    return left


def _draws(
    config: EvalConfig, catalog: Catalog, pool: Sequence[Entry], rng: random.Random
) -> list[tuple[Entry, ...]]:
    weights = config.instructions.num_entries
    families = sorted({e.family for e in pool})
    decks: dict[str, list[Entry]] = {}
    drawn: list[tuple[Entry, ...]] = []
    for index in range(config.num_dialogues):
        size = rng.choices(range(1, len(weights) + 1), weights=weights)[0]
        for family in families:
            if not decks.get(family):
                decks[family] = [e for e in pool if e.family == family]
                rng.shuffle(decks[family])
        first = index % len(families)
        turns = [families[(first + n) % len(families)] for n in range(len(families))]
        # A family whose entry conflicts with all others is moved behind the next one.
        draws = (
            _together(catalog, [*turns[n:], *turns[:n]], decks, size) for n in range(len(turns))
        )
        chosen = max(draws, key=len) if size > 1 else next(draws)
        for entry in chosen:
            decks[entry.family].remove(entry)
        drawn.append(tuple(chosen))
    return drawn


def _together(
    catalog: Catalog, families: Sequence[str], decks: Mapping[str, Sequence[Entry]], size: int
) -> list[Entry]:
    """Return up to `size` entries without a conflict, the first of each family's deck in turn."""
    chosen: list[Entry] = []
    for family in families:
        if len(chosen) == size:
            break
        fitting = (
            e for e in decks[family] if not any(catalog.conflicts.between(e, c) for c in chosen)
        )
        chosen += list(islice(fitting, 1))
    return chosen


log = logging.getLogger(__name__)


def add_switches(
    config: EvalConfig,
    catalog: Catalog,
    cases: Sequence[Case],
    trained: Collection[str] | None = None,
) -> list[Case]:
    """Return the cases with the changes of the configuration; plain ones stay as they are.

    A new instruction is drawn from the split of the old one, and announced in words that no training data
    of `gatt synth` has. An instruction that ordinary replies keep ("use no digits") is neither replaced nor
    taken back: a reply that ignores the change would keep it too.

    Raises:
        CatalogError: no new instruction can be drawn.
        DataError: a change at a turn that no case has.
    """
    switch = config.switch
    if switch is None or not cases:
        return list(cases)
    switch.refuse_past(max(case.num_turns for case in cases))
    draws = {
        split: SwitchDraw(
            switch,
            catalog,
            only_trained(config.instructions.select(catalog, (split,)), trained),
            config.instructions.terse_probability,
            EVALUATION,
        )
        for split in dict.fromkeys(c.instruction.split for c in cases if c.instruction)
    }
    changed = []
    for case in cases:
        drawn: Switch | None = None
        if case.instruction is not None:
            rng = random.Random(f"{config.seed}/switch/{case.id}")
            is_told_apart = not is_ordinary(case.instruction.verifiers)
            kinds: tuple[SwitchKind, ...] = SWITCH_KINDS if is_told_apart else ("add",)
            drawn = draws[case.instruction.split].draw(case.instruction, case.num_turns, rng, kinds)
            if drawn is not None and drawn.instruction is not None:
                # After `add`, the probe asks for the new part.
                num_before = len(case.instruction.probes) if drawn.kind == "add" else 0
                asked = draw_probe(config, drawn.instruction.probes[num_before:], rng)
                held = replace(drawn.instruction, probes=(asked,) if asked else ())
                drawn = replace(drawn, instruction=held)
        changed.append(replace(case, switches=(drawn,)) if drawn else case)
    return changed


def told_where_shown(cases: Sequence[Case], tokenizer: Any, config: EvalConfig) -> list[Case]:
    """Return the cases with every change where the chat template shows it, the same in all arms.

    If a later system message has to become part of the user's message, the log says so.

    The tokenizer is None where a server renders the messages; the configuration has a placement that
    the template takes.
    """
    later = [case for case in cases if any(s.place == "system" for s in case.switches)]
    if tokenizer is None or not later:
        return list(cases)
    facts = inspect_template(tokenizer)

    def is_shown(case: Case) -> bool:
        is_behind_system = begins_with_system(
            case.dialogue, config.placement, has_instruction=case.instruction is not None
        )
        return facts.shows_later_system(is_behind_system=is_behind_system)

    if num_moved := sum(not is_shown(case) for case in later):
        log.warning(
            "%d cases: a change of the instruction stands in front of the user's message, because the chat "
            "template does not take a later system message",
            num_moved,
        )
    return [
        case if is_shown(case) else replace(case, switches=told_by_user(case.switches))
        for case in cases
    ]
