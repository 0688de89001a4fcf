"""Time a step of `objective: preference` against TRL's DPO on the same pairs, written out as rows.

    python scripts/research/bench_preference.py --turns 20 --json results/bench_preference.json

One step learns the pairs of every turn of one dialogue, with the same model, LoRA and replies: here one
comb, there a row for each pair. The contenders take turns; quoted are medians, of TRL those of its best
batch size. Read the ratios only: the seconds are those of a machine that may be busy.
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from benchmark.apart import write_report
from benchmark.contenders import Setting, base_model, lora, make_sample
from benchmark.measure import StepTimer
from datasets import Dataset, disable_progress_bars
from transformers.trainer_callback import PrinterCallback
from transformers.utils.logging import set_verbosity_error
from trl import DPOConfig, DPOTrainer

from gatt.data.sample import GattSample
from gatt.data.views import prompt_of_turn, training_view
from gatt.errors import GattError
from gatt.models.load import load_tokenizer
from gatt.models.packaged import EMBEDDED
from gatt.train.arguments import checkpointing, training_arguments
from gatt.train.config import TrainConfig
from gatt.train.data.rows import build_rows
from gatt.train.trainer import RowTrainer

Maker = Callable[[], Any]


def pairs_of(tokenizer: Any, setting: Setting) -> GattSample:
    """Return a dialogue of random words with a pair of replies of one length at every turn."""
    sample = make_sample(tokenizer, setting)
    # Another order of words: as many tokens.
    targets = tuple(
        replace(t, rejected=" ".join(reversed((t.reply or "").split()))) for t in sample.targets
    )
    return replace(sample, targets=targets)


def ours(sample: GattSample, tokenizer: Any, setting: Setting, folder: Path) -> Maker:
    """Return what makes this project's trainer of one comb."""
    config = TrainConfig(
        samples=(folder / "none.jsonl",), output_dir=folder / "out", objective="preference", layout="comb",
        gradient_accumulation_steps=1, max_steps=setting.steps, save_steps=10**6, report_to="none",
        disable_tqdm=True, logging_steps=1, bf16=setting.device == "cuda", max_length=10**6,
        max_tokens_per_row=10**6,
    )  # fmt: skip
    rows, report = build_rows([sample], tokenizer, config, why_not_packable=lambda: None)
    print(f"comb: {report.num_tokens} tokens")
    return lambda: RowTrainer(
        base_model(setting), config, training_arguments(config), rows, report,
        tokenizer=tokenizer, peft_config=lora(),
    )  # fmt: skip


def trls(sample: GattSample, tokenizer: Any, setting: Setting, folder: Path, batch: int) -> Maker:
    """Return what makes TRL's trainer of a row for each pair."""
    assert sample.instruction
    view = training_view(sample.dialogue, sample.instruction.text)
    rows = [
        {
            "prompt": [m.as_dict() for m in prompt_of_turn(view, target.turn)],
            "chosen": [{"role": "assistant", "content": target.reply}],
            "rejected": [{"role": "assistant", "content": target.rejected}],
        }
        for target in sample.targets
    ]
    config = DPOConfig(
        output_dir=str(folder / "trl"), per_device_train_batch_size=batch, max_length=None,
        gradient_accumulation_steps=math.ceil(len(rows) / batch), max_steps=setting.steps,
        learning_rate=2e-4, save_strategy="no", report_to="none", disable_tqdm=True, logging_steps=1,
        bf16=setting.device == "cuda", use_cpu=setting.device == "cpu", **checkpointing(False),
    )  # fmt: skip
    return lambda: DPOTrainer(
        base_model(setting), args=config, train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer, peft_config=lora(),
    )  # fmt: skip


def timed(make: Maker) -> tuple[list[float], float]:
    """Return the seconds of all steps but the first, which warms up, and the loss of the first."""
    trainer, timer = make(), StepTimer()
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(timer)
    trainer.train()
    loss = next(line["loss"] for line in trainer.state.log_history if "loss" in line)
    return timer.seconds[1:], loss


def main() -> None:
    """Run the benchmark."""
    args = arguments()
    disable_progress_bars()
    set_verbosity_error()
    setting = Setting(
        model=args.model, device=args.device, turns=args.turns, steps=1 + args.steps,
        exchange_tokens=args.exchange_tokens, reply_tokens=args.reply_tokens,
    )  # fmt: skip
    tokenizer = load_tokenizer(args.tokenizer or (EMBEDDED if ":" in args.model else args.model))
    sample = pairs_of(tokenizer, setting)
    seconds: dict[str, list[float]] = {}
    losses: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        makers = {"comb": ours(sample, tokenizer, setting, Path(name))}
        for batch in args.batch_sizes:
            makers[f"TRL, batch {batch}"] = trls(sample, tokenizer, setting, Path(name), batch)
        for _ in range(args.rounds):
            for contender, make in makers.items():
                found, losses[contender] = timed(make)
                seconds.setdefault(contender, []).extend(found)
    median = {contender: statistics.median(found) for contender, found in seconds.items()}
    best = min((c for c in median if c != "comb"), key=median.__getitem__)
    report = {
        "pairs_per_second_vs_trl": median[best] / median["comb"],
        "best_of_trl": best,
        "seconds": seconds,
        "losses": losses,
    }
    for contender, value in median.items():
        print(f"{contender}: {value:.3f} s a step, first loss {losses[contender]:.4f}")
    print(f"{args.turns} turns: {median[best] / median['comb']:.1f} times {best}")
    write_report(args, report)


def arguments() -> argparse.Namespace:
    """Return the words of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default=EMBEDDED, help="a folder, or random-llama:SIZE")
    parser.add_argument("--tokenizer", help="of a random model (default: the embedded one)")
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--exchange-tokens", type=int, default=46, help="user and reply")
    parser.add_argument("--reply-tokens", type=int, default=32, help="of each of a pair")
    parser.add_argument("--rounds", type=int, default=3, help="of all contenders")
    parser.add_argument(
        "--steps", type=int, default=1, help="timed in a round, behind one unclocked"
    )
    parser.add_argument(
        "--batch-sizes", type=int, nargs="+", default=[1, 2, 4], help="of TRL, in pairs"
    )
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    return parser.parse_args()


if __name__ == "__main__":
    try:
        main()
    except GattError as error:
        raise SystemExit(f"error: {error}") from None
