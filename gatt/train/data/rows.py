"""From samples to training rows. Whatever is left out is counted, by reason."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from typing import Any, BinaryIO, Final, Literal

import pyarrow as pa

from gatt.comb.collator import RowLayout, combs_to_features
from gatt.comb.comb import IGNORE, Comb, expand, fold_branches, pairs, split_to_fit
from gatt.comb.objectives.table import TABLE
from gatt.data.sample import GattSample, with_sampled_history
from gatt.data.switches import told_by_user
from gatt.data.views import TrainingPlacement, begins_with_system
from gatt.errors import DataError, TemplateError
from gatt.models.chat_template import Tokenizer, printed_day, rendered_on
from gatt.models.template_facts import TemplateFacts, learnable_facts, usable_placement
from gatt.train.config import TrainConfig
from gatt.train.data.labels import BuiltComb, BuiltSample, Supervise, build_combs
from gatt.train.data.packing import choose_layout, is_packed, packed_rows, student_lengths
from gatt.train.data.report import Dropped, RowReport, reason_of, refuse_too_few, warn_of_changes

SCHEMA: Final = pa.schema(
    {
        **dict.fromkeys(("input_ids", "labels", "forks", "lengths"), pa.list_(pa.int32())),
        "objectives": pa.list_(pa.int8()),
        **dict.fromkeys(("partners", "teachers"), pa.list_(pa.bool_())),
    }
)
"""The columns of `gatt.comb.collator.combs_to_features`."""
COMBS_PER_BLOCK: Final = 256
"""Combs that are held in memory until they are written."""
NUM_TOKENS: Final = "num_tokens"
"""The column of `row_lengths`."""


def build_rows(
    samples: Iterable[GattSample],
    tokenizer: Tokenizer,
    config: TrainConfig,
    *,
    why_not_packable: Callable[[], str | None],
    world_size: int = 1,
) -> tuple[Any, RowReport]:
    """Return the rows of samples, kept in memory: `write_combs` and `rows_in`."""
    sink = pa.BufferOutputStream()
    report = write_combs(samples, tokenizer, config, sink, why_not_packable=why_not_packable)
    return rows_in(sink.getvalue(), report, config, world_size), report


def write_combs(
    samples: Iterable[GattSample],
    tokenizer: Tokenizer,
    config: TrainConfig,
    sink: BinaryIO,
    *,
    why_not_packable: Callable[[], str | None],
) -> RowReport:
    """Write the combs of samples, or their written-out rows, in order; return what became of the samples.

    One sample after the other is tokenised and written: none is kept. Raises what `learnable_facts`,
    `choose_layout` and `refuse_too_few` raise.
    """
    facts = learnable_facts(tokenizer)
    layout = choose_layout(config.layout, facts, why_not_packable)
    placement = usable_placement(config.placement, facts)
    dropped = Dropped()
    report = RowReport(layout, dropped=dropped.counts)

    def combs() -> Iterator[Comb]:
        for sample in samples:
            drawn = draw_sample(sample, config, facts, placement)
            yield from combs_of_sample(drawn, tokenizer, config, facts, report, dropped)

    # Whatever the hour, all of them print one day.
    with rendered_on(printed_day()):
        store_combs(combs(), sink)
    refuse_too_few(report, config)
    dropped.say()
    warn_of_changes(report, config)
    return report


@dataclass(frozen=True)
class DrawnSample:
    """One sample as a run trains on it."""

    sample: GattSample
    """Its turns that are trained on, with the replies that stand in the history, and changes of the instruction
    where the chat template shows them."""
    placement: TrainingPlacement
    history: Literal["reference", "sampled", "none", "both"]
    """Which replies stand in the history; with `both` each target is learned behind own replies, and alone."""
    objective: str
    """What its tokens cost: a name of `gatt.comb.objectives.table`."""
    supervise: Supervise
    """Which tokens carry loss: as the run says, or own replies as well where the objective learns them."""
    is_moved: bool
    """Whether a change of the instruction stands in a user's message instead of a later system message."""


def draw_sample(
    whole: GattSample, config: TrainConfig, facts: TemplateFacts, placement: str
) -> DrawnSample:
    """Return what a run makes of a sample; the placement is one that the template allows, or `mixed`.

    What is mixed is drawn from seed and id.
    """
    where: TrainingPlacement = placement  # type: ignore[assignment]
    if placement == "mixed":
        where = "system" if _coin(f"{config.seed}\n{whole.id}") else "first_user"
    sample = whole if config.max_turns is None else whole.first_turns(config.max_turns)
    is_behind_system = begins_with_system(
        sample.dialogue, where, has_instruction=sample.instruction is not None
    )
    shows_changes = facts.shows_later_system(is_behind_system=is_behind_system)
    moved = (
        told_by_user(sample.switches) if sample.switches and not shows_changes else sample.switches
    )
    is_moved = moved != sample.switches
    sample = replace(sample, switches=moved)
    history = config.history
    if history == "mixed":
        history = "sampled" if _coin(f"history\n{config.seed}\n{whole.id}") else "reference"
    objective = config.plain_loss if sample.is_plain else config.objective
    supervise = config.supervise
    if TABLE[objective].learns_own_replies:
        supervise = "all_turns" if history in ("reference", "both") else "last_turn"
    if history == "sampled":
        sample = with_sampled_history(sample)
    return DrawnSample(sample, where, history, objective, supervise, is_moved)


def _coin(text: str) -> bool:
    return bool(hashlib.sha256(text.encode()).digest()[0] % 2)


def encode_sample(
    drawn: DrawnSample, tokenizer: Tokenizer, config: TrainConfig, facts: TemplateFacts
) -> BuiltSample:
    """Return a sample as token ids; the problems of single targets stand in it.

    Raises:
        DataError: nothing can be learned of the whole sample.
    """
    where = f"sample {drawn.sample.id!r}"
    if not drawn.sample.num_targets:
        # In every mode of supervision, so that the controls train on the same rows.
        raise DataError(f"{where}: no turn has a target reply")
    if TABLE[drawn.objective].needs_pairs and not drawn.sample.num_pairs:
        raise DataError(f"{where}: no turn has both a target and a rejected reply")
    if drawn.sample.dialogue.has_system and not facts.has_system:
        raise DataError(f"{where}: a system message, which the chat template does not take")
    build = partial(
        build_combs,
        tokenizer,
        drawn.sample,
        placement=drawn.placement,
        objective=drawn.objective,
        max_length=config.max_length,
        distil=config.distil,
    )
    built: list[BuiltSample] = []
    if drawn.history != "none":
        built.append(build(supervise=drawn.supervise, keeps_prefixes=facts.is_prefix_preserving))
    if drawn.history in ("none", "both"):
        for target in drawn.sample.targets:
            alone = build(turns=(target.turn,))
            parts = tuple(replace(part, is_alone=True) for part in alone.parts)
            built.append(replace(alone, parts=parts))
    problems = [problem for sample in built for problem in sample.dropped_targets]
    if drawn.history == "both":
        # What can be learned neither in its dialogue nor alone is said once.
        problems = list(dict.fromkeys(problems))
    return BuiltSample(
        parts=tuple(part for sample in built for part in sample.parts),
        num_exchanges_dropped=sum(sample.num_exchanges_dropped for sample in built),
        dropped_targets=tuple(problems),
    )


def combs_of_sample(
    drawn: DrawnSample,
    tokenizer: Tokenizer,
    config: TrainConfig,
    facts: TemplateFacts,
    report: RowReport,
    dropped: Dropped,
) -> list[Comb]:
    """Return the combs of a sample, or its rows written out, as far as it can be learned.

    `report`, whose layout is that of the rows, counts what is learned, and `dropped` what is left out.
    """
    sample = drawn.sample
    combs: list[Comb] = []
    problems: list[str] = []
    report.num_samples += 1
    has_pairs = TABLE[drawn.objective].needs_pairs
    report.num_wanted += sample.num_pairs if has_pairs else sample.num_targets
    report.num_moved += drawn.is_moved
    before = report.num_supervised_tokens
    try:
        built = encode_sample(drawn, tokenizer, config, facts)
        problems += built.dropped_targets
        report.num_encoded += len(built.targets)
        rows, problem = rows_of(drawn, built, config, report.layout)
        combs += (comb for comb, _ in rows)
        problems += problem
    except (DataError, TemplateError) as error:
        problems.append(str(error))
    for comb in combs:
        report.add_comb(comb)
    if report.num_supervised_tokens > before:
        report.add_used(sample, built.targets, built.num_exchanges_dropped)
    for line in problems:
        dropped.add(*reason_of(line, sample))
    return combs


def rows_of(
    drawn: DrawnSample, built: BuiltSample, config: TrainConfig, layout: RowLayout
) -> tuple[list[tuple[Comb, BuiltComb]], list[str]]:
    """Return the rows of one sample, each with the comb that it is from, and what is wrong with all of them.

    That is that no token carries loss. In the comb layout such rows stay, so that a control trains in the same
    steps.

    Raises:
        DataError: a branch or a trunk that does not fit into a row.
    """
    where = f"sample {drawn.sample.id!r}"
    rows: list[tuple[Comb, BuiltComb]] = []
    for part in built.parts:
        comb = part.comb
        if layout == "expanded":
            rows += [(row, part) for row in expand(comb)]
            continue
        comb = fold_branches(comb) if part.is_alone or drawn.history == "sampled" else comb
        try:
            fitting = split_to_fit(comb, config.max_tokens_per_row)
        except DataError as error:
            raise DataError(f"{where}: {error}") from None
        rows += [(row, part) for row in fitting]
    if built.targets and not any(row.num_supervised for row, _ in rows):
        return rows, [
            f"{where}: no reply of its own before its last target that supervise "
            f"{drawn.supervise!r} could train on: expected a target at turn 2 or later"
        ]
    return rows, []


def store_combs(combs: Iterable[Comb], sink: BinaryIO) -> None:
    """Write combs one block after the other, one comb or a pair of plain ones a row."""
    columns = (combs_to_features(together) for together in pairs(combs))
    with pa.ipc.new_stream(sink, SCHEMA) as stream:
        while block := list(islice(columns, COMBS_PER_BLOCK)):
            stream.write_batch(pa.RecordBatch.from_pylist(block, schema=SCHEMA))


def rows_in(
    source: str | pa.Buffer, report: RowReport, config: TrainConfig, world_size: int
) -> Any:
    """Return the rows of what `write_combs` wrote, as a `datasets.Dataset`; the report gets their numbers.

    Rows without loss are appended until an epoch is a whole number of optimiser
    steps on all processes: else Accelerate's `even_batches` would train the
    first rows of the epoch twice. `row_lengths` reads how long the rows are.
    """
    from datasets import Dataset, Features, List, Value

    combs = (Dataset.from_file if isinstance(source, str) else Dataset.from_buffer)(source)
    lengths = student_lengths(combs.data)
    report.rows_a_step = config.gradient_accumulation_steps
    if report.layout == "comb" and is_packed(config):
        groups, report.rows_a_step = packed_rows(lengths, config)
    else:
        groups = [[number] for number in range(len(combs))]
    step = world_size * config.per_device_train_batch_size * report.rows_a_step
    report.num_rows, report.num_padding_rows = len(groups), -len(groups) % step
    num_tokens = [sum(lengths[number] for number in group) for group in groups]
    numbers = Dataset.from_dict(
        {
            "combs": [*groups, *[[]] * report.num_padding_rows],
            NUM_TOKENS: [*num_tokens, *[1] * report.num_padding_rows],
        },
        Features({"combs": List(Value("int64")), NUM_TOKENS: Value("int64")}),
    )
    # Any token will do, but one that the model has: a padding token may be added behind its embeddings.
    padding = combs_to_features([Comb(tuple(combs[0]["input_ids"][:1]), (IGNORE,))])

    def row(group: Sequence[int]) -> Mapping[str, Any]:
        columns = combs[group]
        joined = {name: list(chain.from_iterable(columns[name])) for name in SCHEMA.names}
        return joined if group else padding

    def read(batch: Mapping[str, Any]) -> dict[str, list[Any]]:
        rows = [row(group) for group in batch["combs"]]
        return {name: [row[name] for row in rows] for name in SCHEMA.names}

    # Put together when they are read.
    return numbers.with_transform(read)


def row_lengths(rows: Any) -> list[int]:
    """Return how many tokens the student reads of each row of `rows_in`, without putting rows together."""
    lengths: list[int] = rows.data.column(NUM_TOKENS).to_pylist()
    return lengths
