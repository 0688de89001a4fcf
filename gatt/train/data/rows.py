"""From samples to training rows. Whatever is left out is counted, by reason."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gatt.comb.collator import Layout, combs_to_features
from gatt.comb.comb import IGNORE, Comb, expand, fold, split_to_fit
from gatt.comb.packing import best_fit
from gatt.data.sample import GattSample
from gatt.errors import ConfigError, DataError, TrainingError
from gatt.models.chat_template import Tokenizer
from gatt.models.template_facts import TemplateFacts
from gatt.train.config import TrainConfig
from gatt.train.data.encoded_samples import EncodedSample, EncodedSamples, encode_samples, no_trunk
from gatt.train.data.labels import BuiltRows

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
    """Targets in the samples used, by kind (`gatt.data.sample.TargetKind`)."""
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
        why = no_trunk(facts)
    if not why:
        return "comb"
    if wanted == "comb":
        raise ConfigError(f"layout 'comb': {why}: use layout 'auto' or 'expanded'")
    log.warning("layout 'expanded' (one row a turn) instead of 'comb': %s", why)
    return "expanded"


def build_rows(
    samples: Iterable[GattSample],
    tokenizer: Tokenizer,
    config: TrainConfig,
    *,
    why_not_packable: Callable[[], str | None],
    world_size: int = 1,
) -> tuple[Any, RowReport]:
    """Return the rows of samples: `lay_out_rows` of `gatt.train.data.encoded_samples.encode_samples`.

    Raises:
        TemplateError, ConfigError, TrainingError: see both.
    """
    return lay_out_rows(
        encode_samples(samples, tokenizer, config),
        config,
        why_not_packable=why_not_packable,
        world_size=world_size,
    )


def lay_out_rows(
    encoded: EncodedSamples,
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
        encoded: of the run.
        config: of the run.
        why_not_packable: see `choose_layout`.
        world_size: number of processes.

    Returns:
        A dataset with the columns of `gatt.comb.collator.combs_to_features`.

    Raises:
        TrainingError: no sample is left with a token that carries loss, or with `plain_loss` `kl`
            none with an instruction.
        ConfigError: see `choose_layout`.
    """
    layout = choose_layout(config.layout, encoded.facts, why_not_packable)
    if config.pack_rows and layout == "expanded":
        log.warning(
            "pack_rows is ignored: layout 'expanded' has one turn a row, and a micro-batch is one "
            "row; set pack_rows to false to raise per_device_train_batch_size"
        )
    combs: list[Comb] = []
    used: list[EncodedSample] = []
    dropped = encoded.dropped
    for one in encoded.samples:
        try:
            rows, problems = rows_of(one, config, layout)
        except DataError as error:
            dropped.add(str(error), one.sample)
            continue
        for problem in problems:
            dropped.add(problem, one.sample)
        combs += [comb for comb, _ in rows]
        if any(comb.num_supervised for comb, _ in rows):
            used.append(one)
    if not used:
        raise TrainingError(
            f"no sample left of {encoded.num_read}{dropped.as_text()}: loosen what drops "
            "them, or make more with `gatt synth`"
        )
    documents = [[comb] for comb in combs]
    if config.pack_rows and layout == "comb":
        groups = best_fit([c.num_tokens for c in combs], config.max_tokens_per_row)
        documents = [[combs[i] for i in group] for group in groups]
    step = world_size * config.per_device_train_batch_size * config.gradient_accumulation_steps
    num_padding = -len(documents) % step
    samples = [one.sample for one in used]
    result = RowReport(
        layout=layout,
        num_samples=encoded.num_read,
        num_used=len(used),
        num_rows=len(documents),
        num_targets=sum(one.built.num_targets for one in used),
        num_tokens=sum(c.num_tokens for c in combs),
        num_supervised_tokens=sum(c.num_supervised for c in combs),
        num_kl_tokens=sum(c.num_supervised for c in combs if c.by_kl),
        num_positions=max(c.num_positions for c in combs),
        num_exchanges_dropped=sum(one.built.num_exchanges_dropped for one in used),
        num_padding_rows=num_padding,
        kinds=Counter(t.kind for s in samples for t in s.targets if t.kind is not None),
        families=Counter(s.family for s in samples),
        switches=Counter(switch.kind for s in samples for switch in s.switches or ()),
        entries=Counter(
            entry for one in used for entry in entries_in_force(one.sample, one.built.targets)
        ),
        dropped=dropped.counts,
    )
    dropped.say()
    if config.plain_loss == "kl":
        _check_kl(result)
    if encoded.num_moved:
        log.warning(
            "%d samples: a change of the instruction stands in front of the user's message instead of "
            "in a later system message, which the chat template does not take",
            encoded.num_moved,
        )
    shortened = [one.sample.id for one in used if one.built.num_exchanges_dropped]
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


def entries_in_force(sample: GattSample, turns: Iterable[int]) -> set[str]:
    """Return the ids of the catalogue entries that a sample is told at some of these turns."""
    told = (sample.instruction_at(turn) for turn in turns)
    return {entry for instruction in told if instruction for entry in instruction.entries}


def rows_of(
    one: EncodedSample, config: TrainConfig, layout: Layout
) -> tuple[list[tuple[Comb, tuple[int, ...]]], list[str]]:
    """Return the rows of one sample, and a message where none of them has a token to learn.

    With each row stand the turns of the comb that it is from; none where no trunk is shared.
    A sample without a token that carries loss gives its message in every layout; in the comb
    layout its rows stay, so that a control trains in the same steps.

    Raises:
        DataError: a branch or a trunk that does not fit into a row.
    """
    where = f"sample {one.sample.id!r}"
    rows: list[tuple[Comb, tuple[int, ...]]] = []
    if isinstance(one.built, BuiltRows):
        rows += [(replace(row, by_kl=one.by_kl), ()) for row in one.built.rows]
    else:
        for part in one.built.parts:
            comb = replace(part.comb, by_kl=one.by_kl)
            if layout == "expanded":
                rows += [(row, part.turns) for row in expand(comb)]
                continue
            comb = fold(comb) if one.has_sampled_history else comb
            try:
                fitting = split_to_fit(comb, config.max_tokens_per_row)
            except DataError as error:
                raise DataError(f"{where}: {error}") from None
            rows += [(row, part.turns) for row in fitting]
    if one.built.num_targets and not any(row.num_supervised for row, _ in rows):
        return rows, [
            f"{where}: no reply of its own before its last target that supervise "
            f"{one.supervise!r} could train on: expected a target at turn 2 or later"
        ]
    return rows, []


def _dataset(rows: Sequence[Sequence[Comb]]) -> Any:
    from datasets import Dataset, Features, List, Value

    integers = List(Value("int32"))
    columns = {
        **dict.fromkeys(("input_ids", "labels", "forks", "lengths"), integers),
        "by_kl": List(Value("bool")),
    }
    return Dataset.from_list([combs_to_features(row) for row in rows], features=Features(columns))
