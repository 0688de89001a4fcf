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
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from data_synth.card import CARD_FILE, count_switches, switch_part
from data_synth.plan import sample_id
from data_synth.shards import SAMPLES_FILE
from gatt.announcement import TRAINING
from gatt.catalog import Catalog, load_catalog
from gatt.config import save_config, to_yaml
from gatt.errors import ConfigError, DataError, StoreError
from gatt.instruction import Instruction, combine, compose
from gatt.leaks import still_follows
from gatt.sample import GattSample, TurnTarget
from gatt.schedule import SWITCH_KINDS, Switch, SwitchKind, SwitchPlace
from gatt.switch_config import SwitchConfig
from gatt.train_samples import read_all_samples
from gatt.whole_file import atomic_write_text
from gatt.whole_folder import whole_folder

CONFIG_FILE: Final = "config.yaml"


@dataclass(frozen=True, kw_only=True)
class SpliceConfig:
    """Samples with changes, made of samples without.

    Raises:
        ConfigError: a value out of its range.
    """

    samples: tuple[Path, ...]
    """Files of samples, as `gatt synth` writes them; those with changes of their own are passed over."""
    output_dir: Path
    """Folder of `samples.jsonl`, its card and its resolved configuration."""
    num_samples: int = 200
    """Samples to make: every pair comes once before any comes again, at another turn."""
    seed: int = 0
    """Fixes the pairs, the turns of change and the words that announce them."""
    switch: SwitchConfig = field(default_factory=lambda: SwitchConfig(replace=0.7, cancel=0.3))
    """Kinds of change in proportion, their turns, and the share told in a later system message.
    `add` takes a sample under one instruction and one under that and more."""
    catalog: tuple[str, ...] = ()
    """Folders of catalogue files; empty takes the one that is shipped."""
    terse_probability: float = 0.5
    """Chance of the shortened wording, of what is added or taken back."""

    def __post_init__(self) -> None:
        if not self.samples:
            raise ConfigError("samples is empty: expected files that `gatt synth` wrote")
        if self.num_samples < 1:
            raise ConfigError(f"num_samples is {self.num_samples}: expected at least 1")
        if not 0 <= self.terse_probability <= 1:
            raise ConfigError(
                f"terse_probability is {self.terse_probability}: expected a share from 0 to 1"
            )


@dataclass(frozen=True)
class SpliceResult:
    """What a run left behind."""

    samples: Path
    num_samples: int
    num_targets: int
    num_turns: int
    is_new: bool
    """False where all of it stood there already."""


@dataclass(frozen=True)
class _Pair:
    """Two samples of one dialogue, the first of which may turn into the second."""

    before: GattSample
    after: GattSample
    kind: SwitchKind

    def turns(self, config: SwitchConfig) -> list[int]:
        """Return the turns at which it may change: a target stands on both sides of them."""
        num_turns = self.before.dialogue.num_turns
        first = next((t.turn for t in self.before.targets if t.reply is not None), num_turns)
        last = max((t.turn for t in self.after.targets if t.reply is not None), default=0)
        most = min(last, config.max_turn or num_turns)
        return list(range(max(config.min_turn, first + 1), most + 1))


def splice(config: SpliceConfig) -> SpliceResult:
    """Write the samples of a configuration with their card; seconds, and all or nothing.

    Raises:
        DataError: broken samples, with file and line; no dialogue under two instructions of
            a kind that is asked for, or fewer samples than asked for.
        CatalogError: an entry that the catalogue does not know.
        StoreError: the folder holds other samples, or cannot be written.
    """
    catalog = load_catalog(*(Path(folder).expanduser() for folder in config.catalog))
    made = list(_spliced(list(read_all_samples(config.samples)), config, catalog))
    path = config.output_dir / SAMPLES_FILE
    lines = [json.dumps(sample.as_dict(), ensure_ascii=False).encode() + b"\n" for sample in made]
    is_new = not _stands(path, b"".join(lines))
    if is_new:
        with whole_folder(config.output_dir) as folder:
            (folder / SAMPLES_FILE).write_bytes(b"".join(lines))
            atomic_write_text(folder / CARD_FILE, _card(config, made))
            save_config(config, folder / CONFIG_FILE)
    num_targets = sum(sample.num_targets for sample in made)
    num_turns = sum(sample.dialogue.num_turns for sample in made)
    return SpliceResult(path, len(made), num_targets, num_turns, is_new)


def _stands(path: Path, content: bytes) -> bool:
    """Return whether the samples are there already.

    Raises:
        StoreError: other ones are, or they cannot be read.
    """
    try:
        found = path.read_bytes()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StoreError(f"{path}: cannot read: {error.strerror}: check the path") from None
    if found != content:
        raise StoreError(
            f"{path}: holds other samples than these: choose another output_dir or delete it"
        )
    return True


def _spliced(
    samples: Sequence[GattSample], config: SpliceConfig, catalog: Catalog
) -> Iterator[GattSample]:
    """Yield the samples with changes; sample i depends on the seed and those before it alone."""
    decks = {
        kind: _Deck(pairs, config.switch, f"{config.seed}/{kind}")
        for kind, pairs in _pairs(samples, config).items()
    }
    rng = random.Random(f"{config.seed}/kinds")
    kinds = list(decks)
    weights = [getattr(config.switch, kind) for kind in kinds]
    for index in range(config.num_samples):
        (kind,) = rng.choices(kinds, weights=weights)
        found = decks[kind].take()
        if found is None:
            raise DataError(
                f"num_samples is {config.num_samples}, but the pairs for {kind!r} are used up at every turn "
                f"after {index}: set num_samples to {index} or less, lower switch.{kind}, or give more samples"
            )
        pair, turn = found
        own = random.Random(f"{config.seed}/{index}")
        yield _joined(sample_id(index), pair, turn, config, catalog, own)


def _pairs(samples: Sequence[GattSample], config: SpliceConfig) -> dict[SwitchKind, list[_Pair]]:
    """Return the pairs of every kind that is asked for, in the order of the samples.

    Raises:
        DataError: a kind has none.
    """
    of_dialogue: dict[str, list[GattSample]] = {}
    for sample in samples:
        if not sample.switches:
            key = json.dumps(sample.dialogue.as_dict()["messages"])
            of_dialogue.setdefault(key, []).append(sample)
    found: dict[SwitchKind, list[_Pair]] = {
        kind: [] for kind in SWITCH_KINDS if getattr(config.switch, kind)
    }
    for group in of_dialogue.values():
        for before, after in itertools.permutations(group, 2):
            kind = _kind(before.instruction, after.instruction)
            if kind in found:
                pair = _Pair(before, after, kind)
                if pair.turns(config.switch):
                    found[kind].append(pair)
    for kind, pairs in found.items():
        if not pairs:
            raise DataError(
                f"{_files(config)}: no dialogue of {len(of_dialogue)} has targets {_NEEDED[kind]}, before and "
                f"after a turn from {config.switch.min_turn} to {config.switch.max_turn or 'the last'}: give "
                f"samples of the same dialogues, or set switch.{kind} to 0"
            )
    return found


_NEEDED: Final[dict[SwitchKind, str]] = {
    "replace": "under two instructions without a common entry",
    "add": "under an instruction and under that with a further entry",
    "cancel": "under an instruction and without any",
}


def _files(config: SpliceConfig) -> str:
    return ", ".join(map(str, config.samples))


def _kind(before: Instruction | None, after: Instruction | None) -> SwitchKind | None:
    """Return the change that leads from one instruction to another, None if there is none."""
    if before is None:
        return None
    if after is None:
        return "cancel"
    old, new = set(before.entries), set(after.entries)
    if not old & new:
        return "replace"
    return "add" if old < new else None


class _Deck:
    """Hands out pairs, each once before any comes again, and never twice at one turn."""

    def __init__(self, pairs: Sequence[_Pair], config: SwitchConfig, seed: str) -> None:
        rng = random.Random(seed)
        order = rng.sample(pairs, len(pairs))
        turns = (pair.turns(config) for pair in order)
        self._left = deque((p, rng.sample(t, len(t))) for p, t in zip(order, turns, strict=True))

    def take(self) -> tuple[_Pair, int] | None:
        """Return the next pair and its turn of change, None if all were had."""
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
    """Return a pair as one sample; a target that follows what was ended is none.

    Raises:
        CatalogError: an entry that the catalogue does not know.
    """
    before, after = pair.before, pair.after
    switch = _switch(pair, turn, config, catalog, rng)
    targets = (*before.targets[: turn - 1], *after.targets[turn - 1 :])
    return replace(
        before,
        id=name,
        targets=tuple(_without_leak(before, switch, target) for target in targets),
        switches=(switch,),
        provenance={
            **{key: after.provenance[key] for key in sorted(after.provenance)},
            "spliced": [before.id, after.id],
        },
    )


def _without_leak(before: GattSample, switch: Switch, target: TurnTarget) -> TurnTarget:
    if target.reply is None or not still_follows(
        before.instruction, (switch,), before.dialogue, target.turn, target.reply
    ):
        return target
    return replace(target, reply=None, kind=None, reason="leaks")


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
        names = [name for name in held.entries if name not in given.entries]
        new = compose([catalog.entry(n) for n in names], rng, config.terse_probability)
        text, held = TRAINING.of_new("add", new, rng), combine(given, new)
    return Switch(turn, pair.kind, place, text, held)


def _card(config: SpliceConfig, samples: Sequence[GattSample]) -> str:
    counts: Counter[tuple[str, str]] = Counter()
    for sample in samples:
        count_switches(counts, sample)
    num_leaks = sum(target.reason == "leaks" for s in samples for target in s.targets)
    parts = (
        "---\nconfigs:\n- config_name: default\n  data_files: samples.jsonl\n"
        "tags:\n- ghost-attention\n- gatt\n- synthetic\n---\n\n# GAtt samples with changes\n\n"
        f"{len(samples)} dialogues whose instruction changes once, each spliced of two samples of that "
        "dialogue: the targets under the first instruction, and from the change on those under the other "
        "(`gatt synth splice`).",
        switch_part(counts),
        f"{num_leaks} targets that still follow what was ended were left out.",
        "## Configuration\n\n```yaml\n" + to_yaml(config) + "```\n",
    )
    return "\n\n".join(parts)
