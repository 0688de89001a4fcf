"""Time this project's comb against TRL, against its own expanded rows, and against the floor.

    python scripts/bench_training.py --turns 20 --json results/bench.json

One step trains every turn of one dialogue: the same model, LoRA and targets for all. The contenders
take turns, so that a noisy machine is noisy for all of them; quoted are medians. The floor is a plain
causal step on one ordinary sequence of the comb's length with as many scored positions.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import torch
from datasets import Dataset, disable_progress_bars
from peft import LoraConfig
from rich.console import Console
from rich.table import Table
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.trainer_callback import PrinterCallback, TrainerCallback
from transformers.utils.logging import set_verbosity_error
from trl import SFTConfig, SFTTrainer

from gatt.collator import combs_to_features
from gatt.comb import IGNORE, Comb, expand, split_to_fit
from gatt.dialogue import Dialogue, Message
from gatt.flops import ModelShape, work_of
from gatt.instruction import Instruction
from gatt.models import EMBEDDED, load_model, load_tokenizer
from gatt.provenance import provenance
from gatt.sample import GattSample, TurnTarget
from gatt.supervision import build_combs
from gatt.train_config import TrainConfig
from gatt.train_data import build_rows
from gatt.trainer import GattTrainer, training_arguments
from gatt.views import prompt_of_turn, training_view

RANDOM_LLAMAS = {
    "tiny": (64, 2, 4, 2, 128),
    "135m": (576, 30, 9, 3, 1536),
    "1b": (2048, 16, 32, 8, 8192),
    "8b": (4096, 32, 32, 8, 14336),
}
"""Hidden size, layers, heads, key/value heads, intermediate size."""
WORDS = [
    "the",
    "a",
    "of",
    "to",
    "and",
    "in",
    "is",
    "it",
    "you",
    "that",
    "he",
    "was",
    "for",
    "on",
    "are",
    "with",
    "as",
    "his",
    "they",
    "at",
    "be",
    "this",
    "from",
]


@dataclass
class Contender:
    """One way to train all turns of a dialogue in a step."""

    name: str
    make_trainer: Callable[[Any], Any]
    """From a bare model to a trainer whose step covers all targets."""
    rows: list[Comb]
    """What it puts through the model; the work of a step."""
    scores_everywhere: bool = False


class StepTimer(TrainerCallback):  # type: ignore[misc]
    """Seconds of each optimiser step."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        """Start the clock."""
        synchronise()
        self._start = time.perf_counter()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        """Stop it."""
        synchronise()
        self.seconds.append(time.perf_counter() - self._start)


def synchronise() -> None:
    """Wait for the device, so that the clock sees its work."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def make_sample(tokenizer: Any, args: argparse.Namespace) -> GattSample:
    """Return a dialogue of random short words, with a target for every turn."""
    rng = random.Random(args.seed)

    def text(num_tokens: int) -> str:
        # Words of one token each behind a space; what the template adds is measured below.
        return " ".join(rng.choice(WORDS) for _ in range(num_tokens))

    empty = [Message("user", "a"), Message("assistant", "a")] * 2
    lengths = [
        len(tokenizer.apply_chat_template([m.as_dict() for m in empty[:n]], return_dict=False))
        for n in (2, 4)
    ]
    room = args.exchange_tokens - (lengths[1] - lengths[0]) + 2
    if room < 2:
        raise SystemExit(f"--exchange-tokens {args.exchange_tokens}: the template takes more")
    messages: list[Message] = []
    for turn in range(args.turns):
        messages.append(Message("user", text(math.ceil(room / 2))))
        if turn < args.turns - 1:
            messages.append(Message("assistant", text(room // 2)))
    instruction = Instruction(
        id="bench", text="You enjoy tennis.", wording="verbose", entries=("bench",),
        families=("hobby",), split="train", verifiers=(),
    )  # fmt: skip
    targets = [
        TurnTarget(turn, text(args.reply_tokens - 1), kind="sampled")
        for turn in range(1, args.turns + 1)
    ]
    return GattSample("s-1", Dialogue("d-1", tuple(messages)), instruction, tuple(targets))


def base_model(args: argparse.Namespace) -> Any:
    """Return the model in float32 on CPU, in bfloat16 on CUDA."""
    dtype = torch.bfloat16 if args.device == "cuda" else torch.float32
    if not args.model.startswith("random-llama:"):
        return load_model(
            args.model, dtype=str(dtype).removeprefix("torch."), device=args.device
        ).model
    size = args.model.removeprefix("random-llama:")
    if size not in RANDOM_LLAMAS:
        raise SystemExit(f"--model random-llama:{size}: expected one of {', '.join(RANDOM_LLAMAS)}")
    hidden, layers, heads, kv_heads, intermediate = RANDOM_LLAMAS[size]
    config = LlamaConfig(
        vocab_size=49152 if size in ("tiny", "135m") else 128256, hidden_size=hidden,
        num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=kv_heads,
        intermediate_size=intermediate, max_position_embeddings=131072, dtype=dtype,
    )  # fmt: skip
    torch.manual_seed(0)
    with torch.device(args.device):
        return LlamaForCausalLM(config).to(dtype)


def lora() -> LoraConfig:
    """Return the adapter of all contenders."""
    return LoraConfig(task_type="CAUSAL_LM", r=16, lora_alpha=32, target_modules="all-linear")


def own_trainer(
    args: argparse.Namespace, tokenizer: Any, folder: Path, steps: int, layout: str, batch: int, rows: Any,
    num_rows: int,
) -> Callable[[Any], Any]:  # fmt: skip
    """Return what makes this project's trainer for given rows."""
    config = TrainConfig(
        samples=(folder / "none.jsonl",), output_dir=folder / "out", layout=layout,  # type: ignore[arg-type]
        per_device_train_batch_size=batch, gradient_accumulation_steps=math.ceil(num_rows / batch),
        max_steps=steps, save_steps=10**6, report_to="none", disable_tqdm=True, logging_steps=1,
        bf16=args.device == "cuda", gradient_checkpointing=args.gradient_checkpointing,
        max_length=10**6, max_tokens_per_row=10**6,
    )  # fmt: skip

    def make(model: Any) -> Any:
        return GattTrainer(
            model, config, training_arguments(config), rows,
            tokenizer=tokenizer, layout=layout, peft_config=lora(),  # type: ignore[arg-type]
        )  # fmt: skip

    return make


def trl_trainer(
    args: argparse.Namespace,
    tokenizer: Any,
    folder: Path,
    steps: int,
    sample: GattSample,
    batch: int,
    packed_tokens: int | None = None,
) -> Callable[[Any], Any]:
    """Return what makes TRL's own trainer on conversational prompt-completion rows.

    With `packed_tokens` all rows of the step are packed into one of so many tokens, which its
    variable-length attention keeps apart.
    """
    view = training_view(
        sample.dialogue, sample.instruction.text if sample.instruction else None, "system"
    )
    rows = [
        {
            "prompt": [m.as_dict() for m in prompt_of_turn(view, target.turn)],
            "completion": [{"role": "assistant", "content": target.reply}],
        }
        for target in sample.targets
    ]
    config = SFTConfig(
        output_dir=str(folder / "trl"), per_device_train_batch_size=batch,
        max_length=packed_tokens, packing=packed_tokens is not None, max_steps=steps, seed=0,
        gradient_accumulation_steps=1 if packed_tokens else math.ceil(len(rows) / batch),
        train_sampling_strategy="group_by_length" if batch > 1 else "random",
        learning_rate=2e-4, lr_scheduler_type="cosine", save_strategy="no", report_to="none",
        disable_tqdm=True, logging_steps=1, bf16=args.device == "cuda",
        gradient_checkpointing=args.gradient_checkpointing,
        activation_checkpointing=args.gradient_checkpointing,
        dataloader_pin_memory=args.device == "cuda",
    )  # fmt: skip

    def make(model: Any) -> Any:
        if packed_tokens:
            model.set_attn_implementation("flash_attention_2")
        trainer = SFTTrainer(
            model=model, args=config, train_dataset=Dataset.from_list(rows), peft_config=lora(),
            processing_class=tokenizer,
        )  # fmt: skip
        trainer.remove_callback(PrinterCallback)
        return trainer

    return make


def contenders(
    args: argparse.Namespace, tokenizer: Any, folder: Path, steps: int
) -> Iterator[Contender]:
    """Yield all contenders; those with a batch size once for each."""
    sample = make_sample(tokenizer, args)
    (part,) = build_combs(tokenizer, sample).parts
    written = expand(part.comb)

    def dataset(layout: str) -> Any:
        config = TrainConfig(
            samples=(folder / "none.jsonl",), output_dir=folder / "out", layout=layout,  # type: ignore[arg-type]
            max_length=10**6, max_tokens_per_row=10**6,
            gradient_accumulation_steps=1,
        )  # fmt: skip
        return build_rows([sample], tokenizer, config, why_not_packable=lambda: None)[0]

    def own(layout: str, batch: int, rows: Any) -> Callable[[Any], Any]:
        return own_trainer(args, tokenizer, folder, steps, layout, batch, rows, len(rows))

    yield Contender("comb", own("comb", 1, dataset("comb")), [part.comb])
    for most in args.max_tokens_per_row:
        cut = split_to_fit(part.comb, most)
        rows = Dataset.from_list([combs_to_features([comb]) for comb in cut])
        yield Contender(f"comb cut at {most}", own("comb", 1, rows), cut)
    length = part.comb.num_tokens
    ids = tuple(random.Random(1).choices(range(1000, 40000), k=length))
    first = length - part.comb.num_supervised
    plain = Comb(ids, (IGNORE,) * first + ids[first:])
    floor = Dataset.from_list([combs_to_features([plain])])
    yield Contender("floor", own("expanded", 1, floor), [plain])
    for batch in args.batch_sizes:
        rows = dataset("expanded")
        yield Contender(f"expanded, batch {batch}", own("expanded", batch, rows), written)
    for batch in args.batch_sizes:
        make = trl_trainer(args, tokenizer, folder, steps, sample, batch)
        # Its fused head skips unsupervised positions where it has Triton, on CPU it scores them all.
        everywhere = args.device == "cpu"
        yield Contender(f"TRL, batch {batch}", make, written, scores_everywhere=everywhere)
    if args.device == "cuda" and find_spec("flash_attn"):
        make = trl_trainer(
            args, tokenizer, folder, steps, sample, 1, sum(c.num_tokens for c in written)
        )
        yield Contender("TRL, batch packed", make, written)


def measure(contender: Contender, args: argparse.Namespace) -> dict[str, Any]:
    """Train some steps on a fresh model: seconds, the first loss and the peak of memory in bytes."""
    # Fresh, since TRL's trainer leaves its own forward in the model.
    model = base_model(args)
    for weight in model.parameters():
        # Copied from the mapped file, or the first step would seem to take their memory.
        weight.data = weight.data.clone()
    trainer = contender.make_trainer(model)
    timer = StepTimer()
    trainer.add_callback(timer)
    held = start_of_peak()
    trainer.train()
    result = {
        "seconds": timer.seconds[args.warm_up :],
        "loss": next(entry["loss"] for entry in trainer.state.log_history if "loss" in entry),
        "peak_bytes": peak_bytes() - held,
        "shape": ModelShape.of(trainer.model),
    }
    del trainer, model
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return result


def start_of_peak() -> int:
    """Forget the peak of memory so far and return what is held now, in bytes."""
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
        return torch.cuda.memory_allocated()
    Path("/proc/self/clear_refs").write_text("5")  # Linux: the peak starts anew
    return status_bytes("VmRSS")


def peak_bytes() -> int:
    """Return the peak of memory since then."""
    return torch.cuda.max_memory_allocated() if torch.cuda.is_available() else status_bytes("VmHWM")


def status_bytes(name: str) -> int:
    """Return a figure of `/proc/self/status`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(f"{name}:"))) * 1024


def peak_of(name: str, args: argparse.Namespace) -> int:
    """Return the peak of a contender's step over the loaded model, in a process of its own."""
    words = [
        sys.executable, __file__, "--only", name, "--rounds", "1", "--model", args.model,
        "--turns", str(args.turns), "--exchange-tokens", str(args.exchange_tokens),
        "--reply-tokens", str(args.reply_tokens), "--seed", str(args.seed), "--device", args.device,
        "--batch-sizes", *map(str, args.batch_sizes),
        "--max-tokens-per-row", *map(str, args.max_tokens_per_row),
    ]  # fmt: skip
    if args.gradient_checkpointing:
        words.append("--gradient-checkpointing")
    if args.tokenizer:
        words += ["--tokenizer", args.tokenizer]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr.strip().splitlines()[-1])
    return int(json.loads(done.stdout.strip().splitlines()[-1])["peak_bytes"])


def main() -> None:
    """Run the benchmark."""
    args = arguments()
    disable_progress_bars()
    set_verbosity_error()
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")
    torch.manual_seed(0)
    console = Console(stderr=True)
    tokenizer = load_tokenizer(args.tokenizer or (EMBEDDED if ":" in args.model else args.model))
    with tempfile.TemporaryDirectory() as name:
        found = list(contenders(args, tokenizer, Path(name), 1 + args.warm_up))
        if args.only:
            (one,) = [c for c in found if c.name == args.only]
            result = measure(one, args)
            print(json.dumps({"seconds": result["seconds"], "peak_bytes": result["peak_bytes"]}))
            return
        seconds: dict[str, list[float]] = {c.name: [] for c in found}
        losses: dict[str, float] = {}
        peaks: dict[str, int] = {}
        shape = None
        for number in range(args.rounds):
            for contender in found:
                # After two rounds the best batch size of each stands for it.
                if number >= 2 and contender.name not in {best(seconds, c.name) for c in found}:
                    continue
                result = measure(contender, args)
                seconds[contender.name] += result["seconds"]
                losses[contender.name], shape = result["loss"], result["shape"]
                peaks[contender.name] = result["peak_bytes"]
                console.print(f"round {number + 1} of {args.rounds}: {contender.name}: "
                              f"{result['seconds'][-1]:.2f} s")  # fmt: skip
    shown = [c for c in found if c.name == best(seconds, c.name)]
    wanted = [c.name for c in found if is_wanted(c.name, shown)]
    # On CPU a process keeps what it once took, so each is measured in one of its own.
    peaks = {n: peaks[n] if args.device == "cuda" else peak_of(n, args) for n in wanted}
    own = [loss for name, loss in losses.items() if name != "floor" and not name.startswith("TRL")]
    if max(own) - min(own) > 1e-3 * max(own) * (1 if args.device == "cpu" else 20):
        raise SystemExit(f"the layouts disagree on the loss: {losses}")
    report = summary(args, found, shown, seconds, losses, peaks, shape)
    print_table(report)
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def is_wanted(name: str, shown: Sequence[Contender]) -> bool:
    """Whether the memory of a contender is quoted: of the best ones, and of TRL at batch 1."""
    return name in {c.name for c in shown} or name == "TRL, batch 1"


def best(seconds: dict[str, list[float]], name: str) -> str:
    """Return the fastest batch size of a contender's kind by its median so far."""
    kind = name.split(", batch")[0]
    rivals = {n: s for n, s in seconds.items() if n.split(", batch")[0] == kind and s}
    return min(rivals, key=lambda n: statistics.median(rivals[n])) if rivals else name


def summary(
    args: argparse.Namespace, found: Sequence[Contender], shown: Sequence[Contender],
    seconds: dict[str, list[float]], losses: dict[str, float], peaks: dict[str, int], shape: Any,
) -> dict[str, Any]:  # fmt: skip
    """Return all figures as JSON takes them."""
    by_name = {c.name: c for c in found}
    kind = {c.name.split(", batch")[0]: c.name for c in shown}
    median = {n: statistics.median(s) for n, s in seconds.items() if s}
    work = {n: work_of(c.rows, scores_everywhere=c.scores_everywhere) for n, c in by_name.items()}
    flops = {n: w.flops(shape) for n, w in work.items()}
    trl, expanded = kind["TRL"], kind["expanded"]
    longest = max(c.num_tokens for c in by_name["TRL, batch 1"].rows)
    tokens = {n: w.num_tokens for n, w in work.items()}
    gain, bound = median[trl] / median["comb"], flops[trl] / flops["comb"]
    return {
        "turns": args.turns,
        "model": args.model,
        "targets_per_second_vs_trl": gain,
        "targets_per_second_vs_expanded": median[expanded] / median["comb"],
        "seconds_per_token_vs_trl": (median["comb"] / tokens["comb"]) / (median[trl] / tokens[trl]),
        "seconds_per_token_vs_floor": median["comb"] / median["floor"],
        "peak_memory_vs_trl": (peaks["comb"] / tokens["comb"]) / (peaks["TRL, batch 1"] / longest),
        "flop_bound": bound,
        "fraction_of_flop_bound": gain / bound,
        "utilisation": (
            flops["comb"] / median["comb"] / args.peak_tflops / 1e12 if args.peak_tflops else None
        ),
        "tokens_expanded": tokens[expanded],
        "tokens_comb": tokens["comb"],
        "contenders": [
            {
                "name": n, "seconds": seconds[n], "targets_per_second": args.turns / median[n],
                "tokens": tokens[n], "tflop": flops[n] / 1e12, "gflops": flops[n] / median[n] / 1e9,
                "loss": losses[n], "peak_bytes": peaks.get(n),
            }
            for n in median
        ],
        "settings": {k: str(v) if isinstance(v, Path) else v for k, v in vars(args).items()},
        "provenance": provenance(),
    }  # fmt: skip


def print_table(report: dict[str, Any]) -> None:
    """Print the contenders and the ratios."""
    table = Table(title=f"{report['model']}, {report['turns']} turns, one dialogue a step")
    for title in (
        "contender",
        "s a step",
        "rounds",
        "targets/s",
        "tokens",
        "TFLOP",
        "GFLOP/s",
        "loss",
        "peak MiB",
    ):
        table.add_column(title, justify="left" if title == "contender" else "right")
    for row in report["contenders"]:
        peak = "" if row["peak_bytes"] is None else f"{row['peak_bytes'] / 2**20:.0f}"
        table.add_row(
            row["name"], f"{statistics.median(row['seconds']):.2f}", str(len(row["seconds"])),
            f"{row['targets_per_second']:.2f}", str(row["tokens"]), f"{row['tflop']:.2f}",
            f"{row['gflops']:.0f}", f"{row['loss']:.4f}", peak,
        )  # fmt: skip
    console = Console(width=132)
    console.print(table)
    for key, value in report.items():
        if isinstance(value, float):
            console.print(f"{key}: {value:.3f}")


def arguments() -> argparse.Namespace:
    """Return the words of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--model", default=EMBEDDED, help="embedded, a folder, or random-llama:SIZE"
    )
    parser.add_argument("--tokenizer", help="of a random model (default: the embedded one)")
    parser.add_argument("--turns", type=int, default=20, help="of the dialogue (default: 20)")
    parser.add_argument(
        "--exchange-tokens", type=int, default=46, help="user and reply (default: 46)"
    )
    parser.add_argument("--reply-tokens", type=int, default=32, help="of a target (default: 32)")
    parser.add_argument("--rounds", type=int, default=3, help="of all contenders (default: 3)")
    parser.add_argument("--warm-up", type=int, help="untimed steps (default: 1 on CUDA, else 0)")
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument(
        "--max-tokens-per-row", type=int, nargs="*", default=[], help="also time combs cut at these"
    )
    parser.add_argument("--gradient-checkpointing", action="store_true")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--peak-tflops", type=float, help="of the device: prints the share of it that the comb used"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    parser.add_argument(
        "--only", metavar="CONTENDER", help="time this one alone, print one JSON line"
    )
    args = parser.parse_args()
    if args.warm_up is None:
        args.warm_up = int(args.device == "cuda")
    return args


if __name__ == "__main__":
    main()
