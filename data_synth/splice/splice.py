"""`gatt synth splice`: of samples of one dialogue, ones in which the instruction changes.

Where a dialogue stands under several instructions, its targets under the first are followed
from some turn on by those under another. With a teacher that reads no earlier exchange
(`teacher.context_turns` 0) that is what sampling under a change gives, without any sampling.
"""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from data_synth.card import METADATA, RIGHTS, count_switches, switch_table
from data_synth.filters.config import QualityConfig
from data_synth.filters.near_duplicates import SampleTargets, own_words
from data_synth.plan.plan import sample_id
from data_synth.run_folder import CARD_FILE, CONFIG_FILE, SAMPLES_FILE
from data_synth.splice.config import SpliceConfig, SpliceSwitch
from gatt.config.load import to_yaml
from gatt.data.catalog.read import Catalog, load_catalog
from gatt.data.catalog.switch_leakage import still_follows
from gatt.data.catalog.switch_wording import TRAINING
from gatt.data.instruction import Instruction, combine, compose
from gatt.data.sample import GattSample, TurnTarget
from gatt.data.switches import SWITCH_KINDS, Switch, SwitchKind, SwitchPlace
from gatt.errors import CatalogError, DataError, StoreError
from gatt.runs.atomic_folder import whole_folder
from gatt.train.data.samples import samples_by_file


@dataclass(frozen=True)
class SpliceResult:
    """The samples of a splice and their counts."""

    samples: Path
    num_samples: int
    num_targets: int
    num_turns: int
    is_new: bool
    """False if all of them were stored already."""


@dataclass(frozen=True)
class _Pair:
    """Two samples of one dialogue: the targets of the first may be followed by those of the second."""

    before: GattSample
    after: GattSample
    kind: SwitchKind
    turns: range
    """Turns at which the instruction may change."""


def splice(config: SpliceConfig) -> SpliceResult:
    """Write the samples of a configuration with their card, all of them or none.

    Raises:
        DataError: broken samples, with file and line; no dialogue under two instructions of
            a kind that is asked for, or fewer samples than asked for; turns that none has.
        CatalogError: an entry that the catalogue lacks, or has with other verifiers.
        StoreError: the folder holds something else, or cannot be written.
    """
    catalog = load_catalog(*(Path(folder).expanduser() for folder in config.catalog))
    left_out: Counter[str] = Counter()
    made = list(_spliced(_read(config.samples), config, catalog, left_out))
    lines = [json.dumps(sample.as_dict(), ensure_ascii=False) + "\n" for sample in made]
    files = {
        SAMPLES_FILE: "".join(lines),
        CARD_FILE: _card(config, made, left_out),
        CONFIG_FILE: to_yaml(config),
    }
    is_new = not _stands(config.output_dir, files)
    if is_new:
        with whole_folder(config.output_dir) as folder:
            for name, text in files.items():
                (folder / name).write_text(text, encoding="utf-8")
    num_targets = sum(sample.num_targets for sample in made)
    num_turns = sum(sample.dialogue.num_turns for sample in made)
    path = config.output_dir / SAMPLES_FILE
    return SpliceResult(path, len(made), num_targets, num_turns, is_new)


def _read(paths: Sequence[Path]) -> list[GattSample]:
    """Return all samples; the id of each begins with its file."""
    return [replace(s, id=f"{paths[number - 1]}/{s.id}") for number, s in samples_by_file(paths)]


def _stands(folder: Path, files: Mapping[str, str]) -> bool:
    """Return whether all files stand in the folder already, byte for byte.

    Raises:
        StoreError: a file differs or cannot be read.
    """
    if not (folder / SAMPLES_FILE).exists():
        return False
    for name, text in files.items():
        path = folder / name
        try:
            is_same = path.exists() and path.read_bytes() == text.encode()
        except OSError as error:
            raise StoreError(f"{path}: cannot read: {error.strerror}: check the path") from None
        if not is_same:
            raise StoreError(
                f"{path}: differs from what this configuration makes of these samples: choose another "
                "output_dir, or delete the folder to make it anew"
            )
    return True


def _spliced(
    samples: Sequence[GattSample],
    config: SpliceConfig,
    catalog: Catalog,
    left_out: Counter[str],
) -> Iterator[GattSample]:
    """Yield the samples with changes; sample i depends only on the seed and the samples before it.

    Args:
        samples: without changes; others are passed over.
        config: of the run.
        catalog: has the wording of entries.
        left_out: counts the targets that are left out, by reason.
    """
    decks = {
        kind: _Deck(pairs, f"{config.seed}/{kind}")
        for kind, pairs in _pairs(samples, config, catalog).items()
    }
    rng = random.Random(f"{config.seed}/kinds")
    kinds = list(decks)
    weights = [getattr(config.switch, kind) for kind in kinds]
    for index in range(config.num_samples):
        (kind,) = rng.choices(kinds, weights=weights)
        own = random.Random(f"{config.seed}/{index}")
        while (found := decks[kind].take()) is not None:
            pair, turn = found
            made = _joined(sample_id(index), pair, turn, config, catalog, own)
            # Every target after the change may have followed the ended instruction.
            if any(t.reply is not None for t in made.targets[turn - 1 :]):
                pairs = zip(made.targets[turn - 1 :], pair.after.targets[turn - 1 :], strict=True)
                left_out.update(t.reason for t, had in pairs if t != had and t.reason)
                yield made
                break
        else:
            raise DataError(
                f"num_samples is {config.num_samples}, but the pairs for {kind!r} are used up at every turn "
                f"after {index}: set num_samples to {index} or less, lower switch.{kind}, or give more samples"
            )


def _pairs(
    samples: Sequence[GattSample], config: SpliceConfig, catalog: Catalog
) -> dict[SwitchKind, list[_Pair]]:
    """Return the pairs of every kind with a weight above 0, in the order of the samples.

    Raises:
        DataError: a kind has none.
        CatalogError: an entry that the catalogue lacks, or has with other verifiers.
    """
    steady = [sample for sample in samples if not sample.switches]
    where = ", ".join(map(str, config.samples))
    if not steady:
        raise DataError(f"{where}: every sample has a change of its own: give samples without any")
    config.switch.refuse_past(max(sample.dialogue.num_turns for sample in steady))
    of_dialogue: dict[str, list[GattSample]] = {}
    for sample in steady:
        key = json.dumps(sample.dialogue.as_dict()["messages"])
        of_dialogue.setdefault(key, []).append(sample)
    found: dict[SwitchKind, list[_Pair]] = {
        kind: [] for kind in SWITCH_KINDS if getattr(config.switch, kind)
    }
    for group in of_dialogue.values():
        for before, after in itertools.permutations(group, 2):
            kind = _kind(before.instruction, after.instruction)
            if kind in found:
                pair = _Pair(before, after, kind, _turns(before, after, config.switch))
                if pair.turns:
                    _refuse_unknown(pair, catalog)
                    found[kind].append(pair)
    for kind, pairs in found.items():
        if not pairs:
            turns = (
                f"a turn from {config.switch.min_turn} to {config.switch.max_turn or 'the last'}"
            )
            raise DataError(
                f"{where}: none of {len(of_dialogue)} dialogues has targets {_NEEDED[kind]}, before and after "
                f"{turns}: give more samples of the same dialogues, or set switch.{kind} to 0"
            )
    return found


_NEEDED: Final[dict[SwitchKind, str]] = {
    "replace": "under two instructions without a common entry",
    "add": "under an instruction and under the same with an entry more",
    "cancel": "under an instruction and without any (plain_fraction=1 makes those)",
}


def _kind(before: Instruction | None, after: Instruction | None) -> SwitchKind | None:
    """Return the kind of change from one instruction to another, None if there is none."""
    if before is None:
        return None
    if after is None:
        return "cancel"
    if not set(before.entries) & set(after.entries):
        return "replace"
    return "add" if before.entries == after.entries[:-1] else None


def _turns(before: GattSample, after: GattSample, switch: SpliceSwitch) -> range:
    """Return the turns of change that have a target before them, and one at or after them."""
    num_turns = before.dialogue.num_turns
    first = next((t.turn for t in before.targets if t.reply is not None), num_turns)
    last = max((t.turn for t in after.targets if t.reply is not None), default=0)
    return range(max(switch.min_turn, first + 1), min(last, switch.max_turn or num_turns) + 1)


def _refuse_unknown(pair: _Pair, catalog: Catalog) -> None:
    """Refuse a pair whose change the catalogue has no words for.

    Raises:
        CatalogError: names the sample.
    """
    given, held = pair.before.instruction, pair.after.instruction
    if given is None or pair.kind == "replace":
        return
    try:
        if held is None:
            for name in given.entries:
                catalog.entry(name)
            return
        new = catalog.entry(held.entries[-1])
    except CatalogError as error:
        raise CatalogError(
            f"sample {pair.before.id}: {error}: set catalog to the one that the sample was made with"
        ) from None
    if (*given.verifiers, *new.verifiers) != held.verifiers:
        raise CatalogError(
            f"sample {pair.after.id}: entry {new.id!r} has other verifiers in the catalogue now: set "
            "catalog to the one that it was made with"
        )


class _Deck:
    """Gives each pair once before any pair again, and never twice at the same turn."""

    def __init__(self, pairs: Sequence[_Pair], seed: str) -> None:
        rng = random.Random(seed)
        order = rng.sample(pairs, len(pairs))
        self._left = deque((pair, rng.sample(pair.turns, len(pair.turns))) for pair in order)

    def take(self) -> tuple[_Pair, int] | None:
        """Return the next pair and its turn of change; None if none is left."""
        if not self._left:
            return None
        pair, turns = self._left.popleft()
        turn = turns.pop()
        if turns:
            self._left.append((pair, turns))
        return pair, turn


def _joined(
    name: str, pair: _Pair, turn: int, config: SpliceConfig, catalog: Catalog, rng: random.Random
) -> GattSample:
    """Return a pair as one sample; targets that `gatt synth` would refuse after the change are left out."""
    before, after = pair.before, pair.after
    switch = _switch(pair, turn, config, catalog, rng)
    taken = SampleTargets(QualityConfig(), own_words((before.instruction, switch.instruction)))
    targets = [*before.targets[: turn - 1]]
    for target in targets:
        if target.reply is not None:
            taken.take(target.reply)
    for target in after.targets[turn - 1 :]:
        reason = None
        if target.reply is not None:
            if still_follows(
                before.instruction, (switch,), before.dialogue, target.turn, target.reply
            ):
                reason = "leaks"
            elif not taken.take(target.reply):
                reason = "repeats_target"
        targets.append(target if reason is None else _refused(target, reason))
    return replace(
        before,
        id=name,
        targets=tuple(targets),
        switches=(switch,),
        provenance={
            **_of_both(before.provenance, after.provenance),
            "spliced": [before.id, after.id],
        },
    )


def _refused(target: TurnTarget, reason: str) -> TurnTarget:
    return replace(target, reply=None, kind=None, reason=reason, refused=(*target.refused, reason))


def _of_both(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return the provenance of both: differing texts are joined by `+`, else the second value counts."""
    found: dict[str, Any] = {**one, **other}
    for key in one.keys() & other.keys():
        mine, its = one[key], other[key]
        if isinstance(mine, Mapping) and isinstance(its, Mapping):
            found[key] = _of_both(mine, its)
        elif isinstance(mine, str) and isinstance(its, str) and mine != its:
            found[key] = f"{mine} + {its}"
    return found


def _switch(
    pair: _Pair, turn: int, config: SpliceConfig, catalog: Catalog, rng: random.Random
) -> Switch:
    given, held = pair.before.instruction, pair.after.instruction
    assert given is not None  # `_kind`.
    place: SwitchPlace = "system" if rng.random() < config.switch.system else "user"
    if held is None:
        is_terse = rng.random() < config.terse_probability
        entries = [catalog.entry(name) for name in given.entries]
        text = TRAINING.of_end(entries, "terse" if is_terse else "verbose", rng)
    elif pair.kind == "replace":
        text = TRAINING.of_new("replace", held, rng)
    else:
        new = compose([catalog.entry(held.entries[-1])], rng, config.terse_probability)
        text, held = TRAINING.of_new("add", new, rng), combine(given, new)
    return Switch(turn, pair.kind, place, text, held)


def _card(config: SpliceConfig, samples: Sequence[GattSample], left_out: Mapping[str, int]) -> str:
    counts: Counter[tuple[str, str]] = Counter()
    for sample in samples:
        count_switches(counts, sample)
    teachers = {str(s.provenance["teacher"]) for s in samples if s.provenance.get("teacher")}
    told = f"Teacher: {', '.join(f'`{name}`' for name in sorted(teachers))}. " if teachers else ""
    parts = (
        METADATA,
        "# GAtt samples with changes",
        f"{len(samples)} dialogues whose instruction changes once, each spliced of two samples of that "
        "dialogue (`gatt synth splice`): the targets under the first instruction, and from the change on "
        f"those under the other. {told}{RIGHTS}",
        f"## Changes of the instruction\n\n{switch_table(counts)}",
        f"Left out behind a change: {left_out['leaks']} targets that still follow what was ended, and "
        f"{left_out['repeats_target']} that repeat another of their sample.",
        "## Configuration\n\n```yaml\n" + to_yaml(config) + "```\n",
    )
    return "\n\n".join(parts)
