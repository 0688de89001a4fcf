"""What `gatt synth` would do, for `--plan`; nothing is written, downloaded or sampled."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from data_synth.config import SynthConfig
from data_synth.plan.make_plan import plan_samples
from data_synth.plan.plan import PlannedSample
from data_synth.run_folder import CARD_FILE, CONFIG_FILE, SAMPLES_FILE, SOURCE_FILE
from gatt.commands.run.operations import DRAWS
from gatt.commands.run.plan import SAMPLE_BYTES, StagePlan, mean_tokens
from gatt.runs.jsonl import count_lines

_MOST_COUNTED = 50
"""Samples whose tokens are counted; the others are taken to be like them."""
_EXCHANGE_TOKENS = 46
"""Of a source that is not here yet: of an exchange of the shipped dialogues (docs/scaling.md)."""
_AWAY = ("hub", "questions")


def planned(config: SynthConfig, _: Mapping[str, StagePlan] | None = None) -> StagePlan:
    """Return what is to be made, and how much of it is there.

    Raises:
        ConfigError: the source cannot be read.
        CatalogError: no instruction can be drawn.
        DataError: no dialogue, or too few for so many samples.
        ModelError: the teacher's tokenizer cannot be loaded.
    """
    catalog = config.instructions.load()
    teacher = config.teacher
    if config.source.name in _AWAY:
        config.instructions.pool(catalog)
        turns = config.num_samples * config.source.min_turns
        about = f"source {config.source.name}: its dialogues are not here yet, taken to be of {config.source.min_turns} turns"
        trunk = float(_EXCHANGE_TOKENS * config.source.min_turns)
        brief = 20.0
    else:
        dialogues, report = config.source.load(config.part)
        plan = plan_samples(
            dialogues, catalog, config.instructions, num_samples=config.num_samples,
            plain_fraction=config.plain_fraction, seed=config.seed, switch=config.switch,
        )  # fmt: skip
        turns = plan.num_turns(range(len(plan)))
        dropped = ", ".join(f"{number} {why}" for why, number in report.dropped.most_common())
        about = f"{report.num_kept} dialogues of {report.num_read} read" + (
            f" ({dropped})" if dropped else ""
        )
        trunk, brief = _tokens(plan[: min(len(plan), _MOST_COUNTED)], config)
    mean_turns = turns / config.num_samples
    window = (
        mean_turns if teacher.context_turns is None else min(teacher.context_turns + 1, mean_turns)
    )
    # Each prefix once where all history is read; else every turn with its own window.
    exchange = trunk / mean_turns
    read = trunk if window == mean_turns else mean_turns * window * exchange
    draws = min(DRAWS, teacher.attempts + teacher.hint_attempts + teacher.prefill_attempts)
    stored = config.output_dir / SAMPLES_FILE
    num_done = min(count_lines(stored), config.num_samples) if stored.exists() else 0
    return StagePlan(
        summary=(
            f"{config.num_samples} samples, {turns} turns that each want a reply: {about}",
            f"{len(config.instructions.pool(catalog))} entries of the catalogue, "
            f"{turns * SAMPLE_BYTES / 1e6:.1f} MB of samples",
        ),
        files=tuple(
            config.output_dir / name for name in (SAMPLES_FILE, CARD_FILE, CONFIG_FILE, SOURCE_FILE)
        ),
        share_done=num_done / config.num_samples,
        done=f"{num_done} of {config.num_samples} samples" if num_done else "nothing yet",
        model=None if teacher.engine.server else teacher.engine.model,
        read_tokens=round(config.num_samples * read + turns * brief),
        sampled_tokens=round(turns * draws * teacher.sampling.max_new_tokens),
        longest_tokens=round(window * (exchange + brief)) + teacher.sampling.max_new_tokens,
        num_samples=config.num_samples,
        target_tokens=turns * teacher.sampling.max_new_tokens,
    )


def _tokens(samples: list[PlannedSample], config: SynthConfig) -> tuple[float, float]:
    """Return the mean tokens of a dialogue, and of what the teacher reads with each message."""
    if config.teacher.engine.server is not None:
        # Its tokenizer may be on no machine but the server's: four characters make a token.
        texts = [" ".join(m.content for m in sample.dialogue.messages) for sample in samples]
        return sum(map(len, texts)) / 4 / len(texts), 20.0
    from gatt.models.load import load_tokenizer

    tokenizer = load_tokenizer(config.teacher.engine.model)
    messages = list(chain.from_iterable(sample.dialogue.messages for sample in samples))
    marks = 6  # of a chat template around a message, about
    texts = [m.content for m in messages]
    told = [sample.instruction.text for sample in samples if sample.instruction]
    brief = mean_tokens(tokenizer, told) + mean_tokens(tokenizer, [config.teacher.brief or ""])
    return (mean_tokens(tokenizer, texts) + marks) * len(messages) / len(samples), brief
