"""What data and training cost at scale, from measured rates: writes the tables of docs/scaling.md.

    python scripts/scaling_costs.py --write docs/scaling.md       # or without, to print them

Tokens, bytes and processor time come from results/; operations are counted by `benchmark.flops` on the
geometry that was measured there. The GPU's peak and the shares of it that are reached are assumptions:
options here, and named in the tables.
"""

from __future__ import annotations

import argparse
import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from benchmark.flops import ModelShape, work_of
from peft import LoraConfig, get_peft_model
from published.rates import table
from rich.console import Console
from transformers import LlamaConfig, LlamaForCausalLM

from gatt.comb.comb import IGNORE, Branch, Comb, expand
from gatt.config.load import config_dict
from gatt.stages.plan import DECODE_SHARE, DENSE_SHARE, DRAWS, PEAK_TFLOPS
from gatt.train.config import LoraSettings

RESULTS = Path(__file__).resolve().parents[1] / "results"
BEGIN = "<!-- tables: python scripts/scaling_costs.py --write docs/scaling.md -->\n"
END = "<!-- end of tables -->\n"
SAMPLES = (10_000, 1_000_000, 100_000_000)
MODELS = {
    "135M": LlamaConfig(
        hidden_size=576, num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3,
        intermediate_size=1536, vocab_size=49152, tie_word_embeddings=True,
    ),
    "7B": LlamaConfig(
        hidden_size=4096, num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=32,
        intermediate_size=11008, vocab_size=32000, tie_word_embeddings=False,
    ),
    "70B": LlamaConfig(
        hidden_size=8192, num_hidden_layers=80, num_attention_heads=64, num_key_value_heads=8,
        intermediate_size=28672, vocab_size=32000, tie_word_embeddings=False,
    ),
}  # fmt: skip
"""SmolLM2-135M, and the shapes of Llama 2."""
TOKEN_BYTES = 2 * 4
"""A token of the tokenised rows: its id and its label, 32 bits each (`gatt.train.data.rows`)."""

CHECKPOINT_BYTES = 3 * 4
"""Of a weight of the adapter in a checkpoint: itself and Adam's two means, 32 bits each."""


@dataclass(frozen=True)
class Measured:
    """What a sample of 20 turns, a target for each, was measured to take."""

    turns: int
    asked_tokens: int
    """Of prompts, for one reply to each turn."""
    encoded_tokens: int
    sampled_tokens: int
    comb_tokens: int
    row_tokens: int
    sampling_seconds: float
    training_seconds: float
    target_bytes: float
    beside_ms: float
    """Processor time of a target: plan, verifiers, filters, file."""
    plan_ms: float

    @property
    def reply_tokens(self) -> int:
        """Tokens of one target."""
        return self.sampled_tokens // self.turns

    def comb(self, exchange_tokens: int) -> Comb:
        """Return a sample in the geometry of the training benchmark; token ids do not matter."""
        trunk = self.comb_tokens - self.turns * self.reply_tokens
        reply = (1,) * self.reply_tokens
        forks = [trunk - exchange_tokens * left for left in range(self.turns)]
        return Comb(
            (1,) * trunk,
            (IGNORE,) * trunk,
            tuple(Branch(fork, reply, reply) for fork in forks[::-1]),
        )


@dataclass(frozen=True)
class Operations:
    """TFLOP of one sample, of one draw for each turn."""

    prefill: float
    decode: float
    training: float
    training_as_rows: float


def main() -> None:
    """Print the tables, or put them into the page."""
    args = arguments()
    text = "\n".join(tables(args)).rstrip()
    if args.write is not None:
        write(args.write, text)
    else:
        Console(soft_wrap=True).print(text, markup=False, highlight=False)


def write(path: Path, text: str) -> None:
    """Put the tables into their place in a page.

    Raises:
        SystemExit: the page has none.
    """
    page = path.read_text(encoding="utf-8")
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{path}: expected the lines {BEGIN.strip()!r} and {END.strip()!r}")
    path.write_text(f"{before}{BEGIN}\n{text}\n\n{END}{after}", encoding="utf-8")


def measured() -> tuple[Measured, int]:
    """Return what stands in results/, and the tokens of an exchange there."""
    training, sampling, pipeline = (
        json.loads((RESULTS / name).read_text(encoding="utf-8"))
        for name in ("training/turns_20.json", "sampling/turns_20.json", "pipeline/results.json")
    )
    largest = max(pipeline["rows"], key=lambda row: row["targets"])
    seconds = {row["name"]: row["seconds"] for row in training["contenders"]}
    found = Measured(
        turns=training["turns"],
        asked_tokens=sampling["tokens_prompts"],
        encoded_tokens=sampling["tokens_encoded"],
        sampled_tokens=sampling["counters"]["num_sampled_tokens"],
        comb_tokens=training["tokens_comb"],
        row_tokens=training["tokens_expanded"],
        sampling_seconds=statistics.median(sampling["sampling_seconds"]["engine"]),
        training_seconds=statistics.median(seconds["comb"]),
        target_bytes=largest["file_mib"] * 2**20 / largest["targets"],
        beside_ms=sum(
            largest[f"ms_a_target_{part}"] for part in ("beside", "verifiers", "filters")
        ),
        plan_ms=largest["ms_a_target_plan"],
    )
    return found, training["settings"]["exchange_tokens"]


def shape_of(config: LlamaConfig) -> ModelShape:
    """Return the sizes of a model with the adapter that `gatt train` makes; nothing is allocated."""
    lora = LoraConfig(task_type="CAUSAL_LM", **config_dict(LoraSettings()))
    with torch.device("meta"):
        return ModelShape.of(get_peft_model(LlamaForCausalLM(config), lora))


def operations(comb: Comb, shape: ModelShape) -> Operations:
    """Return what a model must compute for a sample."""
    whole, trunk = work_of([comb]), work_of([Comb(comb.trunk, comb.trunk_labels)])
    return Operations(
        prefill=trunk.forward_flops(shape) / 1e12,
        decode=(whole.forward_flops(shape) - trunk.forward_flops(shape)) / 1e12,
        training=whole.flops(shape) / 1e12,
        training_as_rows=work_of(expand(comb)).flops(shape) / 1e12,
    )


def tables(args: argparse.Namespace) -> list[str]:
    """Return the lines of all tables."""
    found, exchange_tokens = measured()
    comb = found.comb(exchange_tokens)
    shapes = {name: shape_of(config) for name, config in MODELS.items()}
    counted = {name: operations(comb, shape) for name, shape in shapes.items()}
    return [
        *of_a_sample(found, args), *of_the_models(shapes, counted), *on_two_cores(found, args),
        *on_gpus(found, counted, args), "", *of_disk(found),
    ]  # fmt: skip


def of_a_sample(found: Measured, args: argparse.Namespace) -> list[str]:
    """Return the table of what was measured, and what is assumed."""
    share = found.asked_tokens / found.encoded_tokens
    asked, sampled = f"{found.asked_tokens:,}", f"{found.sampled_tokens:,}"
    encoded = f"{found.encoded_tokens:,}, {share:.1f} times fewer"
    trained = f"{found.comb_tokens:,}, {found.row_tokens:,}"
    rows = [
        ("prompt tokens asked for, for one reply to each turn", asked, "sampling"),
        ("of them encoded (each prefix once)", encoded, "sampling"),
        ("tokens sampled, one draw for each turn", sampled, "sampling"),
        ("tokens trained as a comb, and as one row a turn", trained, "training"),
        ("bytes of `samples.jsonl` a target", f"{found.target_bytes:,.0f}", "pipeline"),
        ("processor time a target beside the model, ms", f"{found.beside_ms:.2f}", "pipeline"),
        ("of it planning, which every start does anew, ms", f"{found.plan_ms:.3f}", "pipeline"),
        (
            "embedded model, two cores: a draw for each turn, s",
            f"{found.sampling_seconds:.2f}",
            "sampling",
        ),
        (
            "embedded model, two cores: a training step, s",
            f"{found.training_seconds:.1f}",
            "training",
        ),
    ]
    assumed = [
        ("draws for each turn, rejected ones included", f"{args.draws:g}"),
        ("peak of the GPU, TFLOP/s (H100 SXM, bfloat16, dense, by its maker)", f"{args.peak_tflops:g}"),
        ("share of it reached in training and in reading prompts", f"{args.dense_share:.0%}"),
        ("share of it reached in sampling, in large batches", f"{args.decode_share:.0%}"),
    ]  # fmt: skip
    return [
        f"**A sample of {found.turns} turns, a target of {found.reply_tokens} tokens for each.**",
        "",
        table(["measured", "", "in `results/`"], [(*row, f"`{where}/`") for *row, where in rows]),
        table(["assumed, not measured", ""], assumed),
    ]


def of_the_models(shapes: dict[str, ModelShape], counted: dict[str, Operations]) -> list[str]:
    """Return the table of operations."""
    rows = []
    for name, work in counted.items():
        config, shape = MODELS[name], shapes[name]
        embedding = 0 if config.tie_word_embeddings else config.vocab_size * config.hidden_size
        weights = (shape.linear + shape.head + embedding) * 2 / 1e9
        flops = (work.prefill, work.decode, work.training, work.training_as_rows)
        adapter = (shape.adapter * 4 / 1e6, shape.adapter * CHECKPOINT_BYTES / 1e6)
        rows.append([name, *map(number, (*flops, weights, *adapter))])
    head = ["model", "read", "sample one draw", "train, comb", "train, rows", "weights, GB", "adapter, MB",
            "checkpoint, MB"]  # fmt: skip
    title = "**Operations of one sample, TFLOP; weights in bfloat16, an adapter of rank 16 in float32.**"
    return [title, "", table(head, rows)]


def on_two_cores(found: Measured, args: argparse.Namespace) -> list[str]:
    """Return the table of the machine that was measured."""
    rows = []
    for samples in SAMPLES:
        hours = samples / 3600
        sampling = number(found.sampling_seconds * args.draws * hours)
        rows.append([f"{samples:,}", sampling, number(found.training_seconds * hours)])
    title = "**The embedded model on the two cores that were measured, hours.**"
    return [title, "", table(["samples", "sampling", "training"], rows)]


def on_gpus(found: Measured, counted: dict[str, Operations], args: argparse.Namespace) -> list[str]:
    """Return the table of GPU hours."""
    rows, rates = [], []
    for name in [name for name in counted if name != "135M"]:
        work, peak = counted[name], args.peak_tflops
        for samples in SAMPLES:
            scale = samples / peak / 3600
            sampling = scale * (
                work.prefill / args.dense_share + work.decode * args.draws / args.decode_share
            )
            training = scale * work.training / args.dense_share
            tokens = (found.encoded_tokens, found.sampled_tokens * args.draws, found.comb_tokens)
            both = sampling + training
            values = (*(num * samples for num in tokens), sampling, training, both, both / 64 / 24)
            rows.append([name, f"{samples:,}", *map(number, values)])
        sampled = found.sampled_tokens * peak * args.decode_share / work.decode
        trained = found.comb_tokens * peak * args.dense_share / work.training
        rates.append(
            f"The assumed shares mean {number(sampled)} tokens sampled, or {number(trained)} trained, a "
            f"second and GPU at {name}."
        )
    head = ["model", "samples", "tokens read", "sampled", "trained", "sampling, h", "training, h", "both, h",
            "days on 64 GPUs"]  # fmt: skip
    title = "**GPU hours, by the operations above and the assumed shares of the peak.**"
    return [title, "", table(head, rows), *rates]


def of_disk(found: Measured) -> list[str]:
    """Return the table of what does not depend on the model."""
    rows = []
    for samples in SAMPLES:
        targets = samples * found.turns
        size = (
            targets,
            targets * found.target_bytes / 1e9,
            samples * found.comb_tokens * TOKEN_BYTES / 1e9,
        )
        hours = (targets * found.beside_ms / 3.6e6, targets * found.plan_ms / 3.6e6)
        rows.append([f"{samples:,}", *map(number, (*size, *hours))])
    head = ["samples", "targets", "`samples.jsonl`, GB", "tokenised rows, GB", "processor hours",
            "of them planning"]  # fmt: skip
    return ["**Disk, and processor hours beside the model.**", "", table(head, rows)]


def number(value: float) -> str:
    """Return a number with two digits that count, in words from a million on."""
    for size, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if value >= size:
            return f"{float(f'{value / size:.2g}'):g} {word}"
    return f"{float(f'{value:.2g}'):,g}" if value < 1e4 else f"{float(f'{value:.2g}'):,.0f}"


def arguments() -> Any:
    """Return the words of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the tables into this page")
    for name, default, text in (
        ("draws", DRAWS, "a turn"), ("peak-tflops", PEAK_TFLOPS, "of a GPU"),
        ("dense-share", DENSE_SHARE, "reached"), ("decode-share", DECODE_SHARE, "reached"),
    ):  # fmt: skip
        parser.add_argument(
            f"--{name}", type=float, default=default, help=f"{text} (default: {default:g})"
        )
    return parser.parse_args()


if __name__ == "__main__":
    main()
