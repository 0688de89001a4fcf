"""From samples to training rows. Whatever is left out is counted, by reason."""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gatt.chat_template import TemplateFacts, Tokenizer, inspect_template, usable_placement
from gatt.collator import Layout, combs_to_features
from gatt.comb import IGNORE, Comb, expand, fold, split_to_fit
from gatt.dropped import Dropped
from gatt.errors import ConfigError, DataError, TemplateError, TrainingError
from gatt.packing import best_fit
from gatt.sample import GattSample, with_sampled_history
from gatt.schedule import told_by_user
from gatt.supervision import BuiltRows, BuiltSample, Supervise, build_combs, build_expanded
from gatt.train_config import TrainConfig
from gatt.views import TrainingPlacement

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RowReport:
    """What became of the samples. Counts leave the padding rows out."""

    layout: Layout
    num_samples: int = 0
    """Samples that were read."""
    num_used: int = 0
    """Samples that gave at least one token with loss."""
    num_rows: int = 0
    """In the comb layout also those without loss, which every mode of supervision has alike."""
    num_targets: int = 0
    """Target replies of the samples used; with `context_only` those of instructed ones carry no loss."""
    num_tokens: int = 0
    num_supervised_tokens: int = 0
    num_kl_tokens: int = 0
    """Those of them that are learned by the KL divergence (`plain_loss`)."""
    num_positions: int = 0
    """Tokens of the longest prompt with its target."""
    num_exchanges_dropped: int = 0
    """Exchanges that the length policy removed."""
    num_padding_rows: int = 0
    """Rows without loss that fill the last optimiser step of an epoch."""
    kinds: Counter[str] = field(default_factory=Counter)
    """Targets in the samples used, by kind (`gatt.sample.TargetKind`)."""
    families: Counter[str] = field(default_factory=Counter)
    """Samples used, by family of their instruction; `plain` without one."""
    switches: Counter[str] = field(default_factory=Counter)
    """Changes of the instruction in the samples used, by kind."""
    entries: Counter[str] = field(default_factory=Counter)
    """Samples used, by catalogue entry in force at one of their targets."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Samples and single targets that were left out, by reason."""

    def as_dict(self) -> dict[str, Any]:
        """Return the counts as JSON takes them."""
        return {
            name: dict(value) if isinstance(value := getattr(self, name), Counter) else value
            for name in self.__dataclass_fields__
        }


def choose_layout(
    wanted: str, facts: TemplateFacts, why_not_packable: Callable[[], str | None]
) -> Layout:
    """Return the layout of a run; `auto` is the comb where template and model allow it.

    Args:
        wanted: `comb`, `expanded` or `auto`.
        facts: of the chat template.
        why_not_packable: of the model that will take the rows; asked only if it counts.

    Raises:
        ConfigError: `comb`, where template or model do not allow it.
    """
    if wanted == "expanded":
        return "expanded"
    if facts.is_prefix_preserving:
        problem = why_not_packable()
        why = problem and f"the model cannot take packed rows: {problem}"
    else:
        why = f"turns cannot share a trunk: the chat template {facts.note}"
    if not why:
        return "comb"
    if wanted == "comb":
        raise ConfigError(f"layout 'comb': {why}: use layout 'auto' or 'expanded'")
    log.warning("layout 'expanded' (one row a turn) instead of 'comb': %s", why)
    return "expanded"


def placement_of(placement: str, seed: int, sample_id: str) -> TrainingPlacement:
    """Return where the instruction of a sample stands; `mixed` is drawn from seed and id."""
    if placement == "system":
        return "system"
    if placement == "first_user":
        return "first_user"
    if placement == "every_turn":
        return "every_turn"
    return "system" if _coin(f"{seed}\n{sample_id}") else "first_user"


def has_sampled_history(history: str, seed: int, sample_id: str) -> bool:
    """Return whether the targets stand in a sample's history; `mixed` is drawn as above."""
    return history == "sampled" or (history == "mixed" and _coin(f"history\n{seed}\n{sample_id}"))


def _coin(text: str) -> bool:
    return bool(hashlib.sha256(text.encode()).digest()[0] % 2)


def build_rows(
    samples: Iterable[GattSample],
    tokenizer: Tokenizer,
    config: TrainConfig,
    *,
    why_not_packable: Callable[[], str | None],
    world_size: int = 1,
) -> tuple[Any, RowReport]:
    """Return the tokenised rows as a `datasets.Dataset`, and what became of the samples.

    Rows without loss are appended until an epoch is a whole number of optimiser
    steps on all processes: else Accelerate's `even_batches` would train the
    first rows of the epoch twice.

    Args:
        samples: of `gatt.sample.read_samples`.
        tokenizer: with a chat template.
        config: of the run.
        why_not_packable: see `choose_layout`.
        world_size: number of processes.

    Returns:
        A dataset with the columns of `gatt.collator.combs_to_features`.

    Raises:
        TrainingError: no sample is left with a token that carries loss, or with `plain_loss` `kl`
            none with an instruction.
        ConfigError: see `choose_layout`.
        TemplateError: the tokenizer has no chat template.
    """
    facts = inspect_template(tokenizer)
    layout = choose_layout(config.layout, facts, why_not_packable)
    if config.pack_rows and layout == "expanded":
        log.warning(
            "pack_rows is ignored: layout 'expanded' has one turn a row, and a micro-batch is one "
            "row; set pack_rows to false to raise per_device_train_batch_size"
        )
    placement = usable_placement(config.placement, facts)
    combs: list[Comb] = []
    report: dict[str, int] = Counter()
    kinds: Counter[str] = Counter()
    families: Counter[str] = Counter()
    switches: Counter[str] = Counter()
    entries: Counter[str] = Counter()
    num_moved = 0
    dropped = Dropped()
    shortened: list[str] = []
    for whole in samples:
        as_made = cut(whole, config)
        sample = with_usable_switches(as_made, facts)
        num_moved += sample != as_made
        report["num_samples"] += 1
        try:
            rows, counts, problems, turns = rows_of(
                sample, tokenizer, config, facts, layout,
                placement_of(placement, config.seed, sample.id),
            )  # fmt: skip
        except (DataError, TemplateError) as error:
            dropped.add(str(error), sample)
            continue
        for problem in problems:
            dropped.add(problem, sample)
        combs += [comb for comb, _ in rows]
        if not any(comb.num_supervised for comb, _ in rows):
            continue
        report["num_used"] += 1
        for name, count in counts.items():
            report[name] += count
        if counts["num_exchanges_dropped"]:
            shortened.append(sample.id)
        families[sample.family] += 1
        switches.update(s.kind for s in sample.switches or ())
        entries.update(entries_in_force(sample, turns))
        kinds.update(t.kind for t in sample.targets if t.kind is not None)
    if not report["num_used"]:
        raise TrainingError(
            f"no sample left of {report['num_samples']}{dropped.as_text()}: loosen what drops "
            "them, or make more with `gatt synth`"
        )
    documents = [[comb] for comb in combs]
    if config.pack_rows and layout == "comb":
        groups = best_fit([c.num_tokens for c in combs], config.max_tokens_per_row)
        documents = [[combs[i] for i in group] for group in groups]
    step = world_size * config.per_device_train_batch_size * config.gradient_accumulation_steps
    num_padding = -len(documents) % step
    result = RowReport(
        layout=layout,
        num_samples=report["num_samples"],
        num_used=report["num_used"],
        num_rows=len(documents),
        num_targets=report["num_targets"],
        num_tokens=sum(c.num_tokens for c in combs),
        num_supervised_tokens=sum(c.num_supervised for c in combs),
        num_kl_tokens=sum(c.num_supervised for c in combs if c.by_kl),
        num_positions=max(c.num_positions for c in combs),
        num_exchanges_dropped=report["num_exchanges_dropped"],
        num_padding_rows=num_padding,
        kinds=kinds,
        families=families,
        switches=switches,
        entries=entries,
        dropped=dropped.counts,
    )
    dropped.say()
    if config.plain_loss == "kl":
        _check_kl(result)
    if num_moved:
        log.warning(
            "%d samples: a change of the instruction stands in front of the user's message instead of "
            "in a later system message, which the chat template does not take",
            num_moved,
        )
    if shortened:
        log.warning(
            "max_length %d: %d samples lost %d exchanges, the oldest after turn 1, counted for "
            "each prompt (first: sample %r): raise max_length to keep them",
            config.max_length, len(shortened), result.num_exchanges_dropped, shortened[0],
        )  # fmt: skip
    # Any token will do, but one that the model has: a padding token may be added behind its embeddings.
    padding = [Comb(combs[0].trunk[:1], (IGNORE,))]
    return _dataset([*documents, *[padding] * num_padding]), result


def _check_kl(report: RowReport) -> None:
    if not report.num_kl_tokens:
        log.warning(
            "plain_loss 'kl' changes nothing: no sample is without an instruction; make some with "
            "plain_fraction of `gatt synth`"
        )
    elif report.num_kl_tokens == report.num_supervised_tokens:
        raise TrainingError(
            "plain_loss 'kl', and no sample has an instruction: there is nothing to learn; add samples of "
            "`gatt synth` with an instruction, or use plain_loss 'targets'"
        )


def cut(sample: GattSample, config: TrainConfig) -> GattSample:
    """Return the turns of a sample that are trained on."""
    return sample if config.max_turns is None else sample.first_turns(config.max_turns)


def is_by_kl(sample: GattSample, config: TrainConfig) -> bool:
    """Return whether a sample is learned by the KL divergence from the model without the adapter."""
    return config.plain_loss == "kl" and sample.is_plain


def supervise_of(sample: GattSample, config: TrainConfig) -> Supervise:
    """Return which tokens of a sample carry loss.

    By the KL divergence: its targets, and its own replies where those are the history.
    """
    if not is_by_kl(sample, config):
        return config.supervise
    is_sampled = has_sampled_history(config.history, config.seed, sample.id)
    return "last_turn" if is_sampled else "all_turns"


def entries_in_force(sample: GattSample, turns: Iterable[int]) -> set[str]:
    """Return the ids of the catalogue entries that a sample is told at some of these turns."""
    told = (sample.instruction_at(turn) for turn in turns)
    return {entry for instruction in told if instruction for entry in instruction.entries}


def with_usable_switches(sample: GattSample, facts: TemplateFacts) -> GattSample:
    """Return the sample with its changes announced where the chat template shows them."""
    if facts.has_later_system or not sample.switches:
        return sample
    return replace(sample, switches=told_by_user(sample.switches))


def rows_of(
    sample: GattSample,
    tokenizer: Tokenizer,
    config: TrainConfig,
    facts: TemplateFacts,
    layout: Layout,
    placement: TrainingPlacement,
) -> tuple[list[tuple[Comb, tuple[int, ...]]], dict[str, int], list[str], tuple[int, ...]]:
    """Return the rows of one sample, counts, a message per target left out, and the turns of those kept.

    The sample is one of `with_usable_switches`.

    With each row stand the turns of the comb that it is from; none where no trunk is shared.
    A sample without a token that carries loss gives a message in every layout; in the comb
    layout its row stays, so that a control trains in the same steps.

    Raises:
        DataError: the sample gives no row.
        TemplateError: the template refuses its messages.
    """
    where = f"sample {sample.id!r}"
    if not sample.num_targets:
        # In every mode of supervision, so that the controls train on the same rows.
        raise DataError(f"{where}: no turn has a target reply")
    is_sampled = has_sampled_history(config.history, config.seed, sample.id)
    if is_sampled:
        sample = with_sampled_history(sample)
    if sample.dialogue.has_system and not facts.has_system:
        raise DataError(f"{where}: a system message, which the chat template does not take")
    by_kl = is_by_kl(sample, config)
    supervise = supervise_of(sample, config)
    built: BuiltRows | BuiltSample
    rows: list[tuple[Comb, tuple[int, ...]]] = []
    if not facts.is_prefix_preserving:
        built = build_expanded(
            tokenizer, sample, placement=placement, supervise=supervise,
            max_length=config.max_length,
        )  # fmt: skip
        rows += [(replace(row, by_kl=by_kl), ()) for row in built.rows]
    else:
        built = build_combs(
            tokenizer, sample, placement=placement, supervise=supervise,
            max_length=config.max_length,
        )  # fmt: skip
        for part in built.parts if built.num_targets else ():
            comb = replace(part.comb, by_kl=by_kl)
            if layout == "expanded":
                rows += [(row, part.turns) for row in expand(comb)]
                continue
            comb = fold(comb) if is_sampled else comb
            try:
                fitting = split_to_fit(comb, config.max_tokens_per_row)
            except DataError as error:
                raise DataError(f"{where}: {error}") from None
            rows += [(row, part.turns) for row in fitting]
    problems = list(built.dropped_targets)
    # Where no target was left, the problems say why.
    if built.num_targets and not any(row.num_supervised for row, _ in rows):
        problems.append(
            f"{where}: no reply of its own before its last target that supervise "
            f"{supervise!r} could train on: expected a target at turn 2 or later"
        )
    counts = {
        "num_targets": built.num_targets,
        "num_exchanges_dropped": built.num_exchanges_dropped,
    }
    return rows, counts, problems, built.targets


def _dataset(rows: Sequence[Sequence[Comb]]) -> Any:
    from datasets import Dataset, Features, List, Value

    ids = List(Value("int32"))
    document = {
        "trunk": ids,
        "trunk_labels": ids,
        "forks": ids,
        "branch_ids": List(ids),
        "branch_labels": List(ids),
        "by_kl": Value("bool"),
    }
    return Dataset.from_list(
        [combs_to_features(row) for row in rows], features=Features({"documents": List(document)})
    )
