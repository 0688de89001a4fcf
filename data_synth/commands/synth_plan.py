"""What `gatt synth` would do, for `--plan`; nothing is written, downloaded or sampled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from data_synth.config import SynthConfig
from data_synth.plan import plan_samples
from data_synth.reuse import num_done
from data_synth.run_folder import SAMPLES_FILE
from gatt.sources.load import load_dialogues
from gatt.stages.plan import DRAWS, StagePlan, count_tokens, num_there

_MOST_COUNTED: Final = 50
"""Samples whose tokens are counted; the others are taken to be like them."""
_EXCHANGE_TOKENS: Final = 46
"""Of an exchange of a source that is not here yet (docs/scaling.md)."""
_TARGET_BYTES: Final = 785
"""Of `samples.jsonl` for each target (docs/scaling.md)."""


def planned(config: SynthConfig, _: Mapping[str, StagePlan]) -> StagePlan:
    """Return what is to be made, and how much of it is there.

    Raises:
        GattError: what `run_synth` raises before it samples.
    """
    catalog, teacher, num = config.instructions.load(), config.teacher, config.num_samples
    model = None if teacher.engine.server else teacher.engine.model
    pool = config.instructions.pool(catalog)
    if config.source.name in ("hub", "questions"):
        turns = num * config.source.min_turns
        about = f"source {config.source.name}, not here yet and taken to have {config.source.min_turns} turns"
        dialogue, instruction_tokens = float(_EXCHANGE_TOKENS * config.source.min_turns), 20.0
        done = num_there(config.output_dir / SAMPLES_FILE, num)
    else:
        dialogues, report = load_dialogues(config.source, config.part)
        plan = plan_samples(dialogues, catalog, config)
        done = num_done(config.output_dir / SAMPLES_FILE, plan)
        turns = plan.num_turns(range(num))
        about = f"{report.num_kept} of {report.num_read} dialogues, {dict(report.dropped) or 'none'} dropped"
        some = plan[: min(num, _MOST_COUNTED)]
        dialogue = count_tokens(
            model, [m.content for s in some for m in s.dialogue.messages]
        ) / len(some)
        texts = [
            f"{s.instruction.text if s.instruction else ''} {teacher.brief or ''}" for s in some
        ]
        instruction_tokens = count_tokens(model, texts) / len(some)
    per_sample = turns / num
    # Each prefix once where all history is read; else every turn with its own window.
    read = dialogue
    if teacher.context_turns is not None:
        read *= min(teacher.context_turns + 1, per_sample)
    draws = min(DRAWS, teacher.attempts + teacher.hint_attempts + teacher.prefill_attempts)
    most = teacher.sampling.max_new_tokens
    return StagePlan(
        summary=f"{num} samples of {turns} turns in all, {turns * _TARGET_BYTES / 1e6:.2g} MB, {len(pool)} "
        f"catalogue entries, {draws:g} draws a turn; {about}",
        done=f"{done} samples",
        share_done=done / num,
        model=model,
        read_tokens=num * read + turns * instruction_tokens,
        sampled_tokens=turns * draws * most,
        num_samples=num,
        samples_file=config.output_dir / SAMPLES_FILE,
        target_tokens=turns * most,
    )
