"""What `gatt eval` would do, for `--plan`; nothing is written, downloaded or sampled."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from eval.cases.asked_turns import has_probe, last_turn
from eval.cases.build import Inputs, load_inputs
from eval.config import EvalConfig
from eval.records.case import Case
from eval.records.file_names import ROLLOUTS_FILE
from eval.rollout.rows import row_keys, turns_of_row
from gatt.commands.run.plan import StagePlan, mean_tokens
from gatt.errors import ConfigError
from gatt.generation.config import make_engine
from gatt.runs.jsonl import count_lines

_FILES = ("results.json", "samples.jsonl", ROLLOUTS_FILE, "report.html", "curve.png", "eval.yaml")


def planned(config: EvalConfig, _: Mapping[str, StagePlan] | None = None) -> StagePlan:
    """Return which cases are asked, and how many replies are there.

    Raises:
        ConfigError: a source that is not here, or an adapter that the cases depend on and that does not exist.
        CatalogError: no instruction can be drawn.
        DataError: no dialogue.
        ModelError: the tokenizer cannot be loaded.
    """
    inputs = _inputs(config)
    cases = inputs.cases if inputs else ()
    pairs = list(product(config.arms, config.histories, cases))
    rows = sum(len(row_keys(arm, history, case, config)) for arm, history, case in pairs)
    replies = sum(
        turns_of_row(history, case, config) * len(row_keys(arm, history, case, config))
        for arm, history, case in pairs
    )
    probes = sum(
        has_probe(case, turn, config) for _, _, case in pairs for turn in config.probe_turns
    )
    stored = config.output_dir / ROLLOUTS_FILE
    num_done = min(count_lines(stored), rows) if stored.exists() else 0
    tokens = _tokens(cases, config)
    most = config.sampling.max_new_tokens
    what = (
        f"{len(cases)} cases of {len({c.dialogue.id for c in cases})} dialogues, {len(config.arms)} arms "
        f"({', '.join(config.arms)}), histories {', '.join(config.histories)}"
        if inputs
        else "cases: not known before an earlier stage or the source is there"
    )
    return StagePlan(
        summary=(
            what,
            f"{replies} replies at turns {', '.join(map(str, config.turns))}, {probes} probes",
        ),
        files=tuple(config.output_dir / name for name in _FILES),
        share_done=num_done / rows if rows else 0.0,
        done=f"{num_done} of {rows} rows of replies" if num_done else "nothing yet",
        model=None if config.engine.server else config.engine.model,
        read_tokens=round(sum(tokens[case.id] for _, _, case in pairs)),
        sampled_tokens=(replies + probes) * most,
        longest_tokens=round(max(tokens.values(), default=0)) + most,
    )


def _inputs(config: EvalConfig) -> Inputs | None:
    """Return the cases; None where they depend on what is not there yet."""
    if not config.cases and (config.source.name in ("hub", "questions") or config.only_trained):
        return None

    def refuse() -> object:
        raise ConfigError("a plan asks no model")

    engine = refuse if config.source.name == "questions" else lambda: make_engine(config.engine)
    return load_inputs(config, config.instructions.load(), engine, "")  # type: ignore[arg-type]


def _tokens(cases: tuple[Case, ...], config: EvalConfig) -> dict[str, float]:
    """Return the tokens of each case up to the last turn that is asked."""
    texts = {
        case.id: [m.content for m in case.dialogue.messages[: 2 * last_turn(case, config)]]
        + ([case.instruction.text] if case.instruction else [])
        for case in cases
    }
    if config.engine.server is not None:
        return {name: sum(map(len, found)) / 4 for name, found in texts.items()}
    from gatt.models.load import load_tokenizer

    tokenizer = load_tokenizer(config.engine.model)
    marks = 6  # of a chat template around a message, about
    return {
        name: (mean_tokens(tokenizer, found) + marks) * len(found) for name, found in texts.items()
    }
