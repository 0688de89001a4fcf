"""Cases drawn from a catalogue and a source of dialogues, the same for every arm."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from eval.cases.long_dialogues import LongDialogue
from eval.config import EvalConfig
from eval.records.case import Case, Event
from eval.records.events import EVENT_FILE, TOPIC_JUMP, read_event_kinds, with_events
from gatt.data.catalog.read import Catalog
from gatt.data.dialogue import Dialogue
from gatt.data.instruction import Entry, Probe, compose
from gatt.errors import CatalogError, ConfigError, DataError
from gatt.runs.suggest import did_you_mean


def make_cases(
    config: EvalConfig,
    catalog: Catalog,
    dialogues: Sequence[Dialogue],
    trained: Collection[str] | None = None,
) -> list[Case]:
    """Return the cases of a configuration: per split, then the plain ones.

    Families take turns, so that each has the same share of every split. Within a family
    entries are drawn without repetition until all were used. A split without any chosen entry
    is left out. Dialogues are used in turn, and none gets the same instruction twice, because
    the metrics could not tell such cases apart. `trained` is explained at `only_trained`.

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
        cases += _cases_of_split(
            config, catalog, split, only_trained(pool, trained), dialogues, used
        )
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


def _cases_of_split(
    config: EvalConfig,
    catalog: Catalog,
    split: str,
    pool: Sequence[Entry],
    dialogues: Sequence[Dialogue],
    used: set[tuple[str, str]],
) -> Iterator[Case]:
    """Yield the cases of a split; `used` are pairs of dialogue and instruction, and grows."""
    rng = random.Random(f"{config.seed}/{split}")
    for index, entries in enumerate(_draws(config, catalog, pool, rng)):
        instruction = compose(entries, rng, config.instructions.terse_probability)
        probe = draw_probe(config, instruction.probes, rng)
        turn = [*dialogues[index % len(dialogues) :], *dialogues[: index % len(dialogues)]]
        dialogue = next((d for d in turn if (d.id, instruction.id) not in used), None)
        if dialogue is None:
            raise DataError(
                f"split {split!r}: {config.num_dialogues} cases from {len(dialogues)} dialogues and "
                f"{len(pool)} catalogue entries repeat {instruction.id!r} on a dialogue: lower "
                "num_dialogues, or allow more of either"
            )
        used.add((dialogue.id, instruction.id))
        yield Case(f"{split}-{index:04d}", dialogue, instruction, probe)


def draw_probe(config: EvalConfig, probes: Sequence[Probe], rng: random.Random) -> Probe | None:
    """Return the probe to ask, None without any; the same draws follow whatever the choice."""
    drawn = rng.choice(probes) if probes else None
    return probes[0] if probes and config.probe_choice == "first" else drawn


def only_trained(pool: Sequence[Entry], trained: Collection[str] | None) -> tuple[Entry, ...]:
    """Return the entries of a split that may be drawn: of `train` those of these ids; None for all.

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


def add_events(
    config: EvalConfig, cases: Sequence[Case], joined: Mapping[str, LongDialogue]
) -> list[Case]:
    """Return the cases with their events: a topic jump at each seam, then those of the configuration.

    Raises:
        ConfigError: a kind that is not in the file of events.
    """
    found = [
        replace(case, events=dict.fromkeys(joined[case.dialogue.id].seams, Event(TOPIC_JUMP)))
        if case.instruction and case.dialogue.id in joined
        else case
        for case in cases
    ]
    if not config.event_turns:
        return found
    path = config.event_file or EVENT_FILE
    known = read_event_kinds(path)
    if unknown := [name for name in config.event_kinds if name not in known]:
        raise ConfigError(
            f"event_kinds: {unknown[0]!r} is not in {path}{did_you_mean(unknown[0], known)} (known: "
            f"{', '.join(known)})"
        )
    kinds = {name: known[name] for name in config.event_kinds or known}
    return with_events(found, kinds, config.event_turns, random.Random(f"{config.seed}/events"))


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
        found = (
            _together(catalog, [*turns[n:], *turns[:n]], decks, size) for n in range(len(turns))
        )
        chosen = max(found, key=len) if size > 1 else next(found)
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
