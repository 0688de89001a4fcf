"""Count what the arms of an evaluation read: mean tokens of a prompt, turn by turn, as a Markdown table.

    python scripts/research/checks/prompt_tokens.py FILE --eval.num_dialogues=20     (a run file)

Every arm reads the same dialogues, so the differences are the instruction's. No model answers.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from eval.cases.build import load_inputs
from eval.config import EvalConfig
from eval.rollout.prompts import arm_prompt
from gatt.errors import GattError
from gatt.models.chat_template import encode
from gatt.models.load import load_tokenizer
from gatt.stages.run_file import load_run


def no_engine() -> None:
    """Refuse dialogues that a model would have to answer first."""
    raise GattError("prompt_tokens: expected dialogues that have replies")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table of a run file and overrides."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    args, overrides = parser.parse_known_args(arguments)
    # No adapter has to be there.
    config = load_run(args.file, [*overrides, "eval.only_trained=false"]).config_of("eval")
    assert isinstance(config, EvalConfig)
    cases = load_inputs(config, config.instructions.load(), no_engine, "").cases
    tokenizer = load_tokenizer(config.engine.model)
    print(f"| tokens of the prompt | {' | '.join(f'turn {turn}' for turn in config.turns)} |")
    print(f"|---|{'---:|' * len(config.turns)}")
    for arm in config.arms:
        means = []
        for turn in config.turns:
            asked = [case for case in cases if turn <= case.num_turns]
            prompts = [arm_prompt(case, case.dialogue, turn, arm, config) for case in asked]
            lengths = [len(encode(tokenizer, p, add_generation_prompt=True)) for p in prompts]
            means.append(f"{fmean(lengths):,.0f}")
        print(f"| {arm} | {' | '.join(means)} |")


if __name__ == "__main__":
    main()
