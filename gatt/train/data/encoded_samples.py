"""What a run decides for each sample, and the sample as token ids; no model is needed here."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from gatt.data.sample import GattSample, with_sampled_history
from gatt.data.switches import told_by_user
from gatt.data.views import TrainingPlacement
from gatt.errors import DataError
from gatt.models.chat_template import Tokenizer
from gatt.models.template_facts import TemplateFacts, inspect_template, refuse_unlearnable
from gatt.train.config import TrainConfig
from gatt.train.data.labels import BuiltSample, Supervise, build_combs


@dataclass(frozen=True)
class DrawnSample:
    """One sample as a run trains on it."""

    sample: GattSample
    """Its turns that are trained on, with changes of the instruction where the chat template shows them."""
    placement: TrainingPlacement
    has_sampled_history: bool
    """Whether the targets stand in the history."""
    by_kl: bool
    """Learned by the KL divergence from the model without the adapter."""
    supervise: Supervise
    """Which tokens carry loss. By the KL divergence: the targets, and the sample's own replies where
    those are the history."""
    is_moved: bool
    """Whether a change of the instruction stands in front of the user's message instead of in a later
    system message."""

    @property
    def as_learned(self) -> GattSample:
        """The sample with the history that it is learned with."""
        return with_sampled_history(self.sample) if self.has_sampled_history else self.sample


def learnable_facts(tokenizer: Tokenizer) -> TemplateFacts:
    """Return what the chat template allows.

    Raises:
        TemplateError: no chat template, or one under which no reply can be learned as it stands.
    """
    facts = inspect_template(tokenizer)
    refuse_unlearnable(tokenizer, facts)
    return facts


def draw_sample(
    whole: GattSample, config: TrainConfig, facts: TemplateFacts, placement: str
) -> DrawnSample:
    """Return what a run makes of a sample; the placement is one that the template allows, or `mixed`."""
    drawn = placement_of(placement, config.seed, whole.id)
    cut = whole if config.max_turns is None else whole.first_turns(config.max_turns)
    is_told_first = cut.instruction is not None and drawn == "system"
    is_behind_system = cut.dialogue.has_system or is_told_first
    sample = cut
    if cut.switches and not facts.shows_later_system(is_behind_system=is_behind_system):
        sample = replace(cut, switches=told_by_user(cut.switches))
    is_sampled = has_sampled_history(config.history, config.seed, whole.id)
    by_kl = config.plain_loss == "kl" and sample.is_plain
    supervise = config.supervise
    if by_kl:
        supervise = "last_turn" if is_sampled else "all_turns"
    return DrawnSample(sample, drawn, is_sampled, by_kl, supervise, is_moved=sample != cut)


def encode_sample(
    one: DrawnSample, tokenizer: Tokenizer, config: TrainConfig, facts: TemplateFacts
) -> BuiltSample:
    """Return a sample as token ids; the problems of single targets stand in it.

    Raises:
        DataError: no turn has a target, or the template does not take its system message.
    """
    where = f"sample {one.sample.id!r}"
    if not one.sample.num_targets:
        # In every mode of supervision, so that the controls train on the same rows.
        raise DataError(f"{where}: no turn has a target reply")
    if one.sample.dialogue.has_system and not facts.has_system:
        raise DataError(f"{where}: a system message, which the chat template does not take")
    return build_combs(
        tokenizer,
        one.as_learned,
        placement=one.placement,
        supervise=one.supervise,
        max_length=config.max_length,
        keeps_prefixes=facts.is_prefix_preserving,
    )


def placement_of(placement: str, seed: int, sample_id: str) -> TrainingPlacement:
    """Return where the instruction of a sample stands; `mixed` is drawn from seed and id."""
    if placement == "mixed":
        return "system" if _coin(f"{seed}\n{sample_id}") else "first_user"
    return placement  # type: ignore[return-value]


def has_sampled_history(history: str, seed: int, sample_id: str) -> bool:
    """Return whether the targets stand in a sample's history; `mixed` is drawn as above."""
    return history == "sampled" or (history == "mixed" and _coin(f"history\n{seed}\n{sample_id}"))


def _coin(text: str) -> bool:
    return bool(hashlib.sha256(text.encode()).digest()[0] % 2)
