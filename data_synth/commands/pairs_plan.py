"""What `gatt pairs` would do, for `--plan`; nothing is written or sampled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from data_synth.pairs.config import PairsConfig
from data_synth.pairs.run import items_of, used_samples
from data_synth.run_folder import SAMPLES_FILE
from gatt.stages.plan import StagePlan, count_tokens, num_there

_MOST_COUNTED: Final = 50
"""Samples whose tokens are counted; the others are taken to be like them."""


def planned(config: PairsConfig, _: Mapping[str, StagePlan]) -> StagePlan:
    """Return how many replies are to be drawn, and how many samples are there.

    Raises:
        GattError: what `run_pairs` raises before it samples.
    """
    model = None if config.engine.server else config.engine.model
    if missing := [path for path in config.samples if not path.is_file()]:
        return StagePlan(summary=f"turns of {missing[0]}, which is not there yet", model=model)
    samples = used_samples(config)
    items = items_of(samples, config)
    some = items[: _MOST_COUNTED * len(config.histories)]
    texts = [
        text
        for item in some
        for text in (
            item.sample.instruction.text if item.sample.instruction else "",
            *(message.content for message in item.sample.dialogue.messages),
        )
    ]
    read = count_tokens(model, texts) * len(items) / len(some)
    turns = sum(len(item.sample.targets) for item in items)
    num = len(items) + sum(sample.is_plain for sample in samples)
    num_done = num_there(config.output_dir / SAMPLES_FILE, num)
    most = config.sampling.max_new_tokens
    return StagePlan(
        summary=f"{turns} turns over {' and '.join(config.histories)} history, {config.replies} replies each",
        done=f"{num_done} of {num} samples",
        share_done=num_done / num,
        model=model,
        read_tokens=read,
        sampled_tokens=turns * config.replies * most,
        num_samples=num,
        samples_file=config.output_dir / SAMPLES_FILE,
        # The chosen and the rejected reply.
        target_tokens=2 * turns * most,
    )
