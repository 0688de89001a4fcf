"""What a run decides for each sample, and the sample as combs under the run's configuration."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from gatt.comb.objectives.table import TABLE
from gatt.data.dialogue import Dialogue
from gatt.data.sample import GattSample, with_sampled_history
from gatt.data.switches import told_by_user
from gatt.data.views import TrainingPlacement, begins_with_system
from gatt.errors import DataError
from gatt.models.chat_template import Tokenizer
from gatt.models.template_facts import TemplateFacts
from gatt.train.config import TrainConfig
from gatt.train.data.labels import BuiltSample, Supervise, build_combs, view_of_turns


@dataclass(frozen=True)
class DrawnSample:
    """One sample as a run trains on it."""

    sample: GattSample
    """Its turns that are trained on, with changes of the instruction where the chat template shows them."""
    placement: TrainingPlacement
    history: Literal["reference", "sampled", "none", "both"]
    """Which replies stand in the history: the dialogue's own, the targets, nothing stands there, or each target
    is learned with the first and with the last."""
    objective: str
    """What its tokens cost: a name of `gatt.comb.objectives.table`."""
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


def draw_sample(
    whole: GattSample, config: TrainConfig, facts: TemplateFacts, placement: str
) -> DrawnSample:
    """Return what a run makes of a sample; the placement is one that the template allows, or `mixed`.

    What is mixed is drawn from seed and id.
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
    problems = dict.fromkeys(problem for some in built for problem in some.dropped_targets)
    return BuiltSample(
        parts=tuple(part for some in built for part in some.parts),
        num_exchanges_dropped=sum(some.num_exchanges_dropped for some in built),
        dropped_targets=tuple(problems),
    )


def _coin(text: str) -> bool:
    return bool(hashlib.sha256(text.encode()).digest()[0] % 2)
