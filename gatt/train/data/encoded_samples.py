"""Samples as token ids, as far as the tokenizer alone decides: no model is needed here."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass, replace

from gatt.data.sample import GattSample, with_sampled_history
from gatt.data.switches import told_by_user
from gatt.data.views import TrainingPlacement
from gatt.errors import ConfigError, DataError
from gatt.models.chat_template import Tokenizer
from gatt.models.template_facts import (
    TemplateFacts,
    inspect_template,
    refuse_unlearnable,
    remedy,
)
from gatt.train.config import TrainConfig
from gatt.train.data.labels import BuiltRows, BuiltSample, Supervise, build_combs, build_expanded

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class EncodedSample:
    """One sample that gives at least one target, as token ids."""

    sample: GattSample
    """As it is trained on, but for its history."""
    built: BuiltSample | BuiltRows
    """Combs, or rows where the template rewrites earlier turns."""
    supervise: Supervise
    by_kl: bool
    has_sampled_history: bool


def learnable_facts(tokenizer: Tokenizer, config: TrainConfig) -> TemplateFacts:
    """Return what the chat template allows.

    Raises:
        TemplateError: no chat template, or one under which no reply can be learned as it stands.
        ConfigError: layout `comb`, which the template does not allow.
    """
    facts = inspect_template(tokenizer)
    refuse_unlearnable(tokenizer, facts)
    if config.layout == "comb" and not facts.is_prefix_preserving:
        setting = remedy(
            tokenizer, lambda found: found.is_prefix_preserving and not found.target_problem
        )
        raise ConfigError(
            f"layout 'comb': {no_trunk(facts)}: use layout 'auto' or 'expanded'"
            f"{setting and f', or set {setting}'}"
        )
    return facts


def encode_sample(
    sample: GattSample,
    tokenizer: Tokenizer,
    config: TrainConfig,
    facts: TemplateFacts,
    placement: TrainingPlacement,
) -> EncodedSample:
    """Return one sample of `with_usable_switches` as token ids; its problems stand in `built`.

    Raises:
        DataError: no turn has a target, or the template does not take its system message.
    """
    where = f"sample {sample.id!r}"
    if not sample.num_targets:
        # In every mode of supervision, so that the controls train on the same rows.
        raise DataError(f"{where}: no turn has a target reply")
    if sample.dialogue.has_system and not facts.has_system:
        raise DataError(f"{where}: a system message, which the chat template does not take")
    is_sampled = has_sampled_history(config.history, config.seed, sample.id)
    supervise = supervise_of(sample, config)
    build = build_combs if facts.is_prefix_preserving else build_expanded
    built = build(
        tokenizer,
        with_sampled_history(sample) if is_sampled else sample,
        placement=placement,
        supervise=supervise,
        max_length=config.max_length,
    )
    return EncodedSample(sample, built, supervise, is_by_kl(sample, config), is_sampled)


def no_trunk(facts: TemplateFacts) -> str:
    """Return why layout `comb` cannot be had under a template that rewrites earlier turns."""
    return f"turns cannot share a trunk: the chat template {facts.note}"


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


def with_usable_switches(
    sample: GattSample, facts: TemplateFacts, placement: TrainingPlacement
) -> GattSample:
    """Return the sample with its changes announced where the chat template shows them."""
    is_told_first = sample.instruction is not None and placement == "system"
    is_behind_system = sample.dialogue.has_system or is_told_first
    if facts.shows_later_system(is_behind_system=is_behind_system) or not sample.switches:
        return sample
    return replace(sample, switches=told_by_user(sample.switches))
