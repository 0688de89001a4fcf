"""What `gatt eval` would do, for `--plan`; nothing is written, downloaded or sampled."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from eval.cases.asked_turns import has_probe, last_turn
from eval.cases.build import load_inputs
from eval.config import EvalConfig, used_adapters
from eval.records.samples import ROLLOUTS_FILE
from eval.rollout.rows import read_rows, row_keys, turns_of_row
from gatt.stages.plan import StagePlan, count_tokens, num_there


def planned(config: EvalConfig, earlier: Mapping[str, StagePlan]) -> StagePlan:
    """Return which cases are asked, and how many replies are there."""
    model = None if config.engine.server else config.engine.model
    # What depends on an earlier stage, a download or a model's answers is not known yet.
    has_adapters = all(path.is_dir() for path in used_adapters(config).values())
    is_open = config.source.name in ("hub", "questions") or (
        config.only_trained and not has_adapters
    )
    if not config.cases and is_open:
        return StagePlan(summary="cases that are not here yet", model=model)
    inputs = load_inputs(config, config.instructions.load())
    tokens = {}
    for case in inputs.cases:
        texts = [m.content for m in case.dialogue.messages[: 2 * last_turn(case, config)]]
        tokens[case.id] = count_tokens(
            model, [case.instruction.text if case.instruction else "", *texts]
        )
    asked = list(product(config.arms, config.histories, inputs.cases))
    keys = [
        (arm, history, case, key)
        for arm, history, case in asked
        for key in row_keys(arm, history, case, config)
    ]
    replies = sum(turns_of_row(arm, history, case, config) for arm, history, case, _ in keys)
    probes = sum(
        has_probe(case, turn, config, arm, history)
        for arm, history, case in asked
        for turn in config.probe_turns
    )
    path = config.output_dir / ROLLOUTS_FILE
    num_done = num_there(path, len(keys))
    if "train" in earlier and earlier["train"].share_done < 1 and num_done:
        # The adapters of these replies will be others.
        stale = used_adapters(config)
        num_done = sum(row["key"].partition("/")[0] not in stale for row in read_rows(path))
    most = config.sampling.max_new_tokens
    return StagePlan(
        summary=f"{len(inputs.cases)} cases, arms {', '.join(config.arms)}, histories "
        f"{', '.join(config.histories)}: {replies} replies and {probes} probes",
        done=f"{num_done} of {len(keys)} rows of replies",
        share_done=num_done / max(len(keys), 1),
        model=model,
        read_tokens=sum(tokens[case.id] for _, _, case in asked),
        sampled_tokens=(replies + probes) * most,
    )
