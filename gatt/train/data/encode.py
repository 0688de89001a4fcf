"""From a sample to the combs of a run: its placement and history, its token ids, and what is dropped."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from gatt.comb.collator import RowLayout
from gatt.comb.comb import Comb, expand, fold, split_to_fit
from gatt.comb.objectives.table import TABLE
from gatt.data.dialogue import Dialogue
from gatt.data.sample import GattSample, with_sampled_history
from gatt.data.switches import told_by_user
from gatt.data.views import TrainingPlacement, begins_with_system
from gatt.errors import ConfigError, DataError, TemplateError
from gatt.models.chat_template import Tokenizer
from gatt.models.template_facts import TemplateFacts
from gatt.train.config import TrainConfig
from gatt.train.data.labels import BuiltComb, BuiltSample, Supervise, build_combs, view_of_turns
from gatt.train.data.samples import Dropped, RowReport, reason_of

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class DrawnSample:
    """One sample as a run trains on it."""

    sample: GattSample
    """Its turns that are trained on, with changes of the instruction where the chat template shows them."""
    placement: TrainingPlacement
    history: Literal["reference", "sampled", "none", "both"]
    """Replies in the history: the dialogue's own (`reference`), the targets (`sampled`), no history (`none`),
    or each target once with `reference` and once with `none` (`both`)."""
    objective: str
    """How the loss of its tokens is computed: a name of `gatt.comb.objectives.table`."""
    supervise: Supervise
    """Which tokens carry loss: as the run says, or the sample's own replies as well where those are the
    history and the objective learns them."""
    is_moved: bool
    """Whether a change of the instruction stands in front of the user's message instead of in a later
    system message."""

    @property
    def as_learned(self) -> GattSample:
        """The sample with the replies that stand in the history."""
        return with_sampled_history(self.sample) if self.history == "sampled" else self.sample

    def view(self, turns: Sequence[int]) -> Dialogue:
        """Return the training view of some turns, ascending."""
        return view_of_turns(self.as_learned, turns, self.placement)


def choose_layout(
    wanted: str, facts: TemplateFacts, why_not_packable: Callable[[], str | None]
) -> RowLayout:
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
    if not facts.is_prefix_preserving:
        why: str | None = f"turns cannot share a trunk: the chat template {facts.note}"
    elif why := why_not_packable():
        why = f"the model cannot take packed rows: {why}"
    if not why:
        return "comb"
    if wanted == "comb":
        raise ConfigError(f"layout 'comb': {why}: use layout 'auto' or 'expanded'")
    log.warning("layout 'expanded' (one row a turn) instead of 'comb': %s", why)
    return "expanded"


def draw_sample(
    whole: GattSample, config: TrainConfig, facts: TemplateFacts, placement: str
) -> DrawnSample:
    """Return a sample with its placement and history for this run, cut to `max_turns`.

    `mixed` is drawn from seed and id. The placement is one that the template allows, or `mixed`.
    """
    drawn: TrainingPlacement = placement  # type: ignore[assignment]
    if placement == "mixed":
        drawn = "system" if _coin(f"{config.seed}\n{whole.id}") else "first_user"
    cut = whole if config.max_turns is None else whole.first_turns(config.max_turns)
    is_behind_system = begins_with_system(
        cut.dialogue, drawn, has_instruction=cut.instruction is not None
    )
    sample = cut
    if cut.switches and not facts.shows_later_system(is_behind_system=is_behind_system):
        sample = replace(cut, switches=told_by_user(cut.switches))
    history = config.history
    if history == "mixed":
        history = "sampled" if _coin(f"history\n{config.seed}\n{whole.id}") else "reference"
    objective = config.plain_loss if sample.is_plain else config.objective
    supervise = config.supervise
    if TABLE[objective].learns_own_replies:
        supervise = "all_turns" if history in ("reference", "both") else "last_turn"
    return DrawnSample(sample, drawn, history, objective, supervise, is_moved=sample != cut)


def encode_sample(
    one: DrawnSample, tokenizer: Tokenizer, config: TrainConfig, facts: TemplateFacts
) -> BuiltSample:
    """Return a sample as token ids; the problems of single targets stand in it.

    Raises:
        DataError: no turn has a target (or a pair, where the objective needs one), or the template does
            not take its system message.
    """
    where = f"sample {one.sample.id!r}"
    if not one.sample.num_targets:
        # In every mode of supervision, so that the controls train on the same rows.
        raise DataError(f"{where}: no turn has a target reply")
    if TABLE[one.objective].needs_pairs and not one.sample.num_pairs:
        raise DataError(f"{where}: no turn has both a target and a rejected reply")
    if one.sample.dialogue.has_system and not facts.has_system:
        raise DataError(f"{where}: a system message, which the chat template does not take")
    build = partial(
        build_combs,
        tokenizer,
        one.as_learned,
        placement=one.placement,
        objective=one.objective,
        max_length=config.max_length,
        distil=config.distil,
    )
    built: list[BuiltSample] = []
    if one.history != "none":
        built.append(build(supervise=one.supervise, keeps_prefixes=facts.is_prefix_preserving))
    if one.history in ("none", "both"):
        for target in one.sample.targets:
            alone = build(turns=(target.turn,))
            parts = tuple(replace(part, is_alone=True) for part in alone.parts)
            built.append(replace(alone, parts=parts))
    dropped = [problem for some in built for problem in some.dropped_targets]
    if one.history == "both":
        # What can be learned neither in its dialogue nor alone is said once.
        dropped = list(dict.fromkeys(dropped))
    return BuiltSample(
        parts=tuple(part for some in built for part in some.parts),
        num_exchanges_dropped=sum(some.num_exchanges_dropped for some in built),
        dropped_targets=tuple(dropped),
    )


def combs_of_sample(
    one: DrawnSample,
    tokenizer: Tokenizer,
    config: TrainConfig,
    facts: TemplateFacts,
    report: RowReport,
    dropped: Dropped,
) -> list[Comb]:
    """Return the rows of a sample, without targets that cannot be learned; count the rows and these targets.

    Args:
        one: the sample.
        tokenizer: with a chat template.
        config: of the run.
        facts: of the chat template.
        report: counts what is learned; its layout is that of the rows.
        dropped: counts what is left out.
    """
    sample = one.sample
    combs: list[Comb] = []
    told: list[str] = []
    report.num_samples += 1
    has_pairs = TABLE[one.objective].needs_pairs
    report.num_wanted += sample.num_pairs if has_pairs else sample.num_targets
    report.num_moved += one.is_moved
    before = report.num_supervised_tokens
    try:
        built = encode_sample(one, tokenizer, config, facts)
        told += built.dropped_targets
        report.num_encoded += built.num_targets
        rows, problems = rows_of(one, built, config, report.layout)
        combs += (comb for comb, _ in rows)
        told += problems
    except (DataError, TemplateError) as error:
        told.append(str(error))
    for comb in combs:
        report.add_comb(comb)
    if report.num_supervised_tokens > before:
        report.num_used += 1
        report.num_targets += built.num_targets
        report.num_exchanges_dropped += built.num_exchanges_dropped
        report.num_shortened += built.num_exchanges_dropped > 0
        report.kinds.update(t.kind for t in sample.targets if t.kind is not None)
        report.families[sample.family] += 1
        told_of = (sample.instruction_at(turn) for turn in built.targets)
        report.entries.update({e for one in told_of if one for e in one.entries})
    for line in told:
        dropped.add(*reason_of(line, sample))
    return combs


def rows_of(
    one: DrawnSample, built: BuiltSample, config: TrainConfig, layout: RowLayout
) -> tuple[list[tuple[Comb, BuiltComb]], list[str]]:
    """Return the rows of one sample, and a message where none of them has a token to learn.

    With each row stands the comb that it is from.
    A sample without a token that carries loss gives its message in every layout; in the comb
    layout its rows stay, so that a control trains in the same steps.

    Raises:
        DataError: a branch or a trunk that does not fit into a row.
    """
    where = f"sample {one.sample.id!r}"
    rows: list[tuple[Comb, BuiltComb]] = []
    for part in built.parts:
        comb = part.comb
        if layout == "expanded":
            rows += [(row, part) for row in expand(comb)]
            continue
        comb = fold(comb) if part.is_alone or one.history == "sampled" else comb
        try:
            fitting = split_to_fit(comb, config.max_tokens_per_row)
        except DataError as error:
            raise DataError(f"{where}: {error}") from None
        rows += [(row, part) for row in fitting]
    if built.num_targets and not any(row.num_supervised for row, _ in rows):
        return rows, [
            f"{where}: no reply of its own before its last target that supervise "
            f"{one.supervise!r} could train on: expected a target at turn 2 or later"
        ]
    return rows, []


def _coin(text: str) -> bool:
    return bool(hashlib.sha256(text.encode()).digest()[0] % 2)
