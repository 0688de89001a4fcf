"""Changes of the instruction in cases: drawn as in training data, announced where the template shows them."""

from __future__ import annotations

import logging
import random
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from eval.cases.draw import draw_probe, only_trained
from eval.config import REMINDER, EvalConfig
from eval.records.case import Case
from gatt.data.catalog.ordinary_replies import is_ordinary
from gatt.data.catalog.read import Catalog
from gatt.data.catalog.switch_draw import SwitchDraw
from gatt.data.catalog.switch_wording import EVALUATION
from gatt.data.switches import SWITCH_KINDS, Switch, SwitchKind, told_by_user
from gatt.models.template_facts import inspect_template

log = logging.getLogger(__name__)


def add_switches(
    config: EvalConfig,
    catalog: Catalog,
    cases: Sequence[Case],
    trained: Collection[str] | None = None,
) -> list[Case]:
    """Return the cases with the changes of the configuration; plain ones stay as they are.

    A new instruction is drawn from the split of the old one, and announced in words that no
    training data of `gatt synth` has. An instruction that ordinary replies satisfy ("use no
    digits") is neither replaced nor taken back, because a reply that ignores it satisfies it
    too.

    `trained` is explained at `only_trained`.

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
    found = []
    for case in cases:
        drawn: Switch | None = None
        if case.instruction is not None:
            rng = random.Random(f"{config.seed}/switch/{case.id}")
            is_told_apart = not is_ordinary(case.instruction.verifiers)
            kinds: tuple[SwitchKind, ...] = SWITCH_KINDS if is_told_apart else ("add",)
            drawn = draws[case.instruction.split].draw(case.instruction, case.num_turns, rng, kinds)
            if drawn is not None and drawn.instruction is not None:
                # After `add`, the probe asks for the new part.
                known = len(case.instruction.probes) if drawn.kind == "add" else 0
                asked = draw_probe(config, drawn.instruction.probes[known:], rng)
                held = replace(drawn.instruction, probes=(asked,) if asked else ())
                drawn = replace(drawn, instruction=held)
        found.append(replace(case, switches=(drawn,)) if drawn else case)
    return found


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
    is_told_first = config.placement == "system" and REMINDER not in config.arms

    def is_shown(case: Case) -> bool:
        told_first = is_told_first and case.instruction is not None
        return facts.shows_later_system(is_behind_system=case.dialogue.has_system or told_first)

    num_moved = sum(not is_shown(case) for case in later)
    if not num_moved:
        return list(cases)
    log.warning(
        "%d cases: a change of the instruction stands in front of the user's message, because the chat "
        "template does not take a later system message",
        num_moved,
    )
    return [
        case if is_shown(case) else replace(case, switches=told_by_user(case.switches))
        for case in cases
    ]
