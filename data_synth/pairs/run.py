"""`gatt pairs`: samples and an adapter in, a resumable file of samples with a rejected reply out."""

from __future__ import annotations

import hashlib
import json
import logging
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from data_synth.filters import FILTERS_VERSION
from data_synth.pairs.choose import NO_PAIR, chosen_pairs, num_by_reason, why_no_pair
from data_synth.pairs.config import PairsConfig
from data_synth.pairs.draw import ADAPTER, DrawTask, draw_replies
from data_synth.run_folder import CONFIG_FILE, SAMPLES_FILE, made_with, num_stored
from gatt.config.load import config_dict, save_config
from gatt.data.answers import VERSION as ANSWERS_VERSION
from gatt.data.sample import GattSample, read_samples
from gatt.data.views import begins_with_system
from gatt.errors import DataError
from gatt.generation.base import Engine
from gatt.generation.config import make_engine
from gatt.models.template_facts import TemplateFacts, inspect_template, usable_placement
from gatt.runs.atomic_file import atomic_write_json
from gatt.runs.progress import progress_bar
from gatt.runs.provenance import fingerprint
from gatt.runs.store import RecordStore
from gatt.verifiers import verifier_versions

log = logging.getLogger(__name__)

COUNTS_FILE: Final = "pairs.json"


@dataclass
class PairCounts:
    """What became of the turns of a run; `pairs.json` holds it."""

    num_samples: int = 0
    """Dialogues under an instruction, once for each history."""
    num_plain: int = 0
    num_turns: int = 0
    num_targets: int = 0
    num_pairs: int = 0
    no_pair: Counter[str] = field(default_factory=Counter)
    """Turns, by a reason of `NO_PAIR`."""
    rejected: Counter[str] = field(default_factory=Counter)
    """Pairs, by what the rejected reply did."""
    refused: Counter[str] = field(default_factory=Counter)
    """Draws that fail or are on no side, by reason."""
    num_draws: int = 0
    by_history: dict[str, Counter[str]] = field(default_factory=dict)
    """History -> its turns, targets and pairs."""

    def add(self, sample: GattSample) -> None:
        """Count one sample."""
        if sample.is_plain:
            self.num_plain += 1
            return
        counts: Counter[str] = Counter(
            turns=len(sample.targets), targets=sample.num_targets, pairs=sample.num_pairs
        )
        self.by_history.setdefault(str(sample.provenance["history"]), Counter()).update(counts)
        self.num_samples += 1
        self.num_turns += counts["turns"]
        self.num_targets += counts["targets"]
        self.num_pairs += counts["pairs"]
        self.num_draws += sum(target.attempts for target in sample.targets)
        self.rejected += num_by_reason(sample)
        for target in sample.targets:
            self.refused.update(target.refused)
            if why := why_no_pair(target):
                self.no_pair[why] += 1


@dataclass(frozen=True)
class PairsResult:
    """What a run left behind."""

    samples: Path
    counts: PairCounts
    num_new: int
    """Samples made by this call; 0 if all were stored already."""

    def __str__(self) -> str:
        """Return one line, as the command prints it."""
        counts = self.counts
        state = f"{self.num_new} new samples" if self.num_new else "all of it stood there already"
        left = ", ".join(f"{num} {NO_PAIR[why]}" for why, num in counts.no_pair.most_common())
        return (
            f"{self.samples}: {counts.num_pairs} pairs and {counts.num_targets} accepted replies for "
            f"{counts.num_turns} turns ({state}); without a pair: {left or 'none'}"
        )


def run_pairs(config: PairsConfig, engine: Callable[[], Engine] | None = None) -> PairsResult:
    """Make the pairs of a configuration, going on where an earlier call stopped.

    Args:
        config: the whole of it.
        engine: makes the model when it is needed; default: the configured one.

    Raises:
        DataError: broken samples, none under an instruction, or no draw of any turn was accepted.
        GenerationError: the model gave no reply.
        ModelError: model or adapter cannot be loaded.
        StoreError: the folder belongs to another configuration or is in use.
    """
    samples = used_samples(config)
    items = items_of(samples, config)
    # With the keys that all samples of the file have: `datasets` wants one type of each column.
    nothing = {"history": "", "rejected_for": ""}
    plain = [
        replace(sample, provenance={**sample.provenance, **nothing})
        for sample in samples
        if sample.is_plain
    ]
    settings = _decisive(config, samples, "" if engine else config.engine.weights_digest())
    adapters = {} if config.adapter is None else {ADAPTER: config.adapter}
    make = cache(engine or partial(make_engine, config.engine, adapters))
    path = config.output_dir / SAMPLES_FILE
    with RecordStore(
        path, fingerprint=fingerprint(settings), kind="sample", describe=settings
    ) as store:
        save_config(config, config.output_dir / CONFIG_FILE)
        num_new = _append_missing(store, items, plain, config, make)
    counts = PairCounts()
    for sample in read_samples(path):
        counts.add(sample)
    atomic_write_json(config.output_dir / COUNTS_FILE, config_dict(counts))
    if not counts.num_targets:
        often = ", ".join(f"{why} ({num})" for why, num in counts.refused.most_common(2))
        raise DataError(
            f"{path}: none of {counts.num_draws} draws keeps and answers, most often {often}: train "
            "longer before a round, or draw more replies"
        )
    return PairsResult(path, counts, num_new)


def used_samples(config: PairsConfig) -> list[GattSample]:
    """Return the samples of a run, in the order of the files, each under an id of its own.

    Raises:
        DataError: broken samples, one id twice, or none under an instruction.
    """
    # Every run of `gatt synth` counts its samples from 0.
    samples = [
        replace(sample, id=f"{sample.id}.{number}") if number > 1 else sample
        for number, path in enumerate(config.samples, start=1)
        for sample in read_samples(path)
    ]
    twice = [name for name, num in Counter(sample.id for sample in samples).items() if num > 1]
    if twice:
        raise DataError(
            f"{config.samples[0]}: {twice[0]!r} is the id of several samples: expected each once"
        )
    if config.num_samples is not None and config.num_samples < len(samples):
        drawn = random.Random(config.seed).sample(range(len(samples)), config.num_samples)
        samples = [samples[place] for place in sorted(drawn)]
    if all(sample.is_plain for sample in samples):
        raise DataError(
            f"{config.samples[0]}: none of {len(samples)} samples has an instruction: expected at least one"
        )
    if config.max_turns is not None:
        samples = [sample.first_turns(config.max_turns) for sample in samples]
    return samples


def items_of(samples: Sequence[GattSample], config: PairsConfig) -> list[DrawTask]:
    """Return what is drawn: each sample under an instruction, once for each history."""
    instructed = [sample for sample in samples if not sample.is_plain]
    return [DrawTask(sample, history) for sample in instructed for history in config.histories]


def _decisive(config: PairsConfig, samples: Sequence[GattSample], weights: str) -> dict[str, Any]:
    """Return what decides the samples that are made."""
    settings = config_dict(config)
    for name in ("output_dir", "samples", "adapter"):
        del settings[name]
    content = hashlib.sha256()
    for sample in samples:
        content.update(json.dumps(sample.as_dict(), sort_keys=True).encode())
    adapter = config.adapter
    return settings | {
        "engine": config_dict(config.engine.decisive()),
        "weights": weights,
        "adapter_weights": "" if adapter is None else config.engine.adapter_digest(adapter),
        "content_of_samples": content.hexdigest(),
        "verifiers": verifier_versions(),
        "filters": FILTERS_VERSION,
        "answers": ANSWERS_VERSION,
    }


def _append_missing(
    store: RecordStore,
    items: Sequence[DrawTask],
    plain: Sequence[GattSample],
    config: PairsConfig,
    make: Callable[[], Engine],
) -> int:
    """Append the samples that the store lacks, as they are made, and return their number."""
    ids = [*(sample.id for sample in plain), *(item.id for item in items)]
    stored = num_stored(store, len(ids), ids.__getitem__)
    for sample in plain[stored:]:
        store.append(sample.as_dict())
    num_done = max(stored - len(plain), 0)
    if num_done < len(items):
        if num_done:
            log.info("%s: going on after %d of %d samples", store.path, num_done, len(items))
        _make(store, items, num_done, config, make())
    return len(ids) - stored


def _make(
    store: RecordStore,
    items: Sequence[DrawTask],
    num_done: int,
    config: PairsConfig,
    engine: Engine,
) -> None:
    # An unfinished batch is made again as a whole; its first rows are stored already.
    size = config.batch_samples
    first = num_done - num_done % size
    made_by = made_with(config.engine.model, config.adapter, config.sampling, config.seed)
    if (tokenizer := getattr(engine, "tokenizer", None)) is not None:
        facts = inspect_template(tokenizer)
        config = replace(config, placement=usable_placement(config.placement, facts))
        items = [_where_shown(item, facts, config) for item in items]
    num_turns = [len(item.sample.targets) for item in items]
    with progress_bar("pairs", sum(num_turns), unit="turns", done=sum(num_turns[:first])) as bar:
        for start in range(first, len(items), size):
            batch = items[start : start + size]
            drawn = draw_replies(engine, batch, config)
            for number, draw in enumerate(drawn, start=start):
                if number >= num_done:
                    store.append(chosen_pairs(draw, config.quality, made_by).as_dict())
            bar.advance(sum(num_turns[start : start + size]))


def _where_shown(item: DrawTask, facts: TemplateFacts, config: PairsConfig) -> DrawTask:
    """Return the item with its changes of the instruction where the chat template shows them."""
    sample = item.sample
    is_behind_system = begins_with_system(
        sample.dialogue, config.placement, has_instruction=sample.instruction is not None
    )
    is_shown = facts.shows_later_system(is_behind_system=is_behind_system)
    return replace(item, is_told_by_user=bool(sample.switches) and not is_shown)
