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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from data_synth.card import SampleCounts, render_card
from data_synth.filters.config import QualityConfig
from data_synth.filters.near_duplicates import SampleTargets, own_words
from data_synth.plan import sample_id
from data_synth.run_folder import CARD_FILE, CONFIG_FILE, SAMPLES_FILE, SynthResult
from data_synth.splice.config import SpliceConfig
from gatt.config.load import to_yaml
from gatt.data.catalog.read import Catalog, load_catalog
from gatt.data.catalog.switch_leakage import still_follows
from gatt.data.catalog.switch_wording import TRAINING
from gatt.data.instruction import Instruction, compose
from gatt.data.sample import GattSample
from gatt.data.switches import SWITCH_KINDS, Switch, SwitchKind, SwitchPlace
from gatt.errors import CatalogError, DataError, StoreError
from gatt.runs.atomic_file import whole_folder
from gatt.train.data.samples import samples_by_file

_NEEDED: Final[dict[SwitchKind, str]] = {
    "replace": "under two instructions without a common entry",
    "add": "under an instruction and under the same with an entry more",
    "cancel": "under an instruction and without any (plain_fraction=1 makes those)",
}


@dataclass(frozen=True)
class _Pair:
    """Two samples of one dialogue: the targets of the first may be followed by those of the second."""

    before: GattSample
    after: GattSample
    kind: SwitchKind
    turns: range
    """Turns at which the instruction may change."""


def splice(config: SpliceConfig) -> SynthResult:
    """Write the samples of a configuration with their card, all of them or none.

    Raises:
        DataError: broken samples, with file and line; no dialogue under two instructions of
            a kind that is asked for, or fewer samples than asked for; turns that none has.
        CatalogError: an entry that the catalogue lacks, or has with other verifiers.
        StoreError: the folder holds something else, or cannot be written.
    """
    catalog = load_catalog(*(Path(folder).expanduser() for folder in config.catalog))
    # The id of each sample begins with its file.
    samples = [
        replace(s, id=f"{config.samples[number - 1]}/{s.id}")
        for number, s in samples_by_file(config.samples)
    ]
    left_out = Counter(leaks=0, repeats_target=0)
    counts = SampleCounts()
    lines, teachers = [], set()
    for made in _spliced(samples, config, catalog, left_out):
        counts.add(made)
        lines.append(json.dumps(made.as_dict(), ensure_ascii=False) + "\n")
        teachers.add(f"`{made.provenance.get('teacher')}`")
    card = render_card(
        "splice/card.md.j2",
        config,
        num_samples=counts.num_samples,
        teachers=sorted(teachers - {"`None`"}),
        counts=counts,
        left_out=left_out,
    )
    files = {SAMPLES_FILE: "".join(lines), CARD_FILE: card, CONFIG_FILE: to_yaml(config)}
    is_new = not (config.output_dir / SAMPLES_FILE).exists()
    if is_new:
        with whole_folder(config.output_dir) as folder:
            for name, text in files.items():
                (folder / name).write_text(text, encoding="utf-8")
    for path, text in ((config.output_dir / name, text) for name, text in files.items()):
        if not path.is_file() or path.read_bytes() != text.encode():
            raise StoreError(
                f"{path}: differs from what this configuration makes of these samples: choose another "
                "output_dir, or delete the folder to make it anew"
            )
    return SynthResult(
        config.output_dir / SAMPLES_FILE,
        counts.num_samples,
        counts.num_targets,
        counts.num_turns,
        counts.num_samples * is_new,
    )


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
                # With a target before the change, and one at or after it.
                last = before.dialogue.num_turns
                turns = [t.turn for t in before.targets if t.reply is not None] or [last]
                later = [t.turn for t in after.targets if t.reply is not None] or [0]
                first = max(config.switch.min_turn, turns[0] + 1)
                last = min(later[-1], config.switch.max_turn or last)
                if first <= last:
                    pair = _Pair(before, after, kind, range(first, last + 1))
                    _refuse_unknown(pair, catalog)
                    found[kind].append(pair)
    for kind, pairs in found.items():
        if not pairs:
            last_turn = config.switch.max_turn or "the last"
            raise DataError(
                f"{where}: none of {len(of_dialogue)} dialogues has targets {_NEEDED[kind]}, before and after "
                f"a turn from {config.switch.min_turn} to {last_turn}: give more samples of the same "
                f"dialogues, or set switch.{kind} to 0"
            )
    return found


def _kind(before: Instruction | None, after: Instruction | None) -> SwitchKind | None:
    """Return the kind of change from one instruction to another, None if there is none."""
    if before is None:
        return None
    if after is None:
        return "cancel"
    if not set(before.entries) & set(after.entries):
        return "replace"
    return "add" if before.entries == after.entries[:-1] else None


def _refuse_unknown(pair: _Pair, catalog: Catalog) -> None:
    """Refuse a pair whose change the catalogue has no words for.

    Raises:
        CatalogError: names the sample.
    """
    given, held = pair.before.instruction, pair.after.instruction
    if given is None or pair.kind == "replace":
        return
    try:
        used = [catalog.entry(name) for name in (held.entries[-1:] if held else given.entries)]
    except CatalogError as error:
        raise CatalogError(
            f"sample {pair.before.id}: {error}: set catalog to the one that the sample was made with"
        ) from None
    if held and (*given.verifiers, *used[0].verifiers) != held.verifiers:
        raise CatalogError(
            f"sample {pair.after.id}: entry {used[0].id!r} has other verifiers in the catalogue now: "
            "set catalog to the one that it was made with"
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
        reply, reason = target.reply, None
        if reply is not None:
            if still_follows(before.instruction, (switch,), before.dialogue, target.turn, reply):
                reason = "leaks"
            elif not taken.take(reply):
                reason = "repeats_target"
        if reason is not None:
            refused = (*target.refused, reason)
            target = replace(target, reply=None, kind=None, reason=reason, refused=refused)
        targets.append(target)
    # Both teachers and commits are named; of the rest the second run counts.
    told = {
        key: f"{before.provenance[key]} + {value}"
        for key, value in after.provenance.items()
        if isinstance(value, str) and before.provenance.get(key, value) != value
    }
    spliced = {"spliced": [before.id, after.id]}
    provenance = {**before.provenance, **after.provenance, **told, **spliced}
    return replace(
        before, id=name, targets=tuple(targets), switches=(switch,), provenance=provenance
    )


def _switch(
    pair: _Pair, turn: int, config: SpliceConfig, catalog: Catalog, rng: random.Random
) -> Switch:
    given, new = pair.before.instruction, pair.after.instruction
    assert given is not None  # `_kind`.
    place: SwitchPlace = "system" if rng.random() < config.switch.system else "user"
    if pair.kind == "add" and new is not None:
        new = compose([catalog.entry(new.entries[-1])], rng, config.terse_probability)
    old = [catalog.entry(name) for name in given.entries] if new is None else []
    text, held = TRAINING.change(pair.kind, given, new or old, config.terse_probability, rng)
    return Switch(turn, pair.kind, place, text, held)
