"""What data and training cost at scale, from measured rates: writes the tables of docs/scaling.md.

    python scripts/research/scaling_costs.py --write docs/scaling.md       # or without, to print them

Tokens, bytes, processor time and the shares of a GPU's peak come from results/; operations are counted by
`benchmark.flops` on the geometry that was measured there. The GPU's peak, the draws for each turn and the
speed of links are assumptions: named in the tables, and options here as far as a reader has others.
"""

from __future__ import annotations

import argparse
import json
import statistics
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from benchmark.flops import ModelShape, work_of
from peft import LoraConfig, get_peft_model
from published.rates import table
from transformers import LlamaConfig, LlamaForCausalLM

from gatt.comb.comb import IGNORE, Branch, Comb, expand
from gatt.config.load import config_dict
from gatt.stages.plan import DRAWS, PEAK_TFLOPS
from gatt.train.config import LoraSettings

RESULTS = Path(__file__).resolve().parents[2] / "results"
BEGIN = "<!-- tables: python scripts/research/scaling_costs.py --write docs/scaling.md -->\n"
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
RANDOM_1B = LlamaConfig(
    hidden_size=2048, num_hidden_layers=16, num_attention_heads=32, num_key_value_heads=8,
    intermediate_size=8192, vocab_size=128256, tie_word_embeddings=False,
)  # fmt: skip
"""`random-llama:1b`, whose sampling was timed on a GPU."""
LINKS = {"NVLink": 450e9, "400 Gb/s": 50e9}
"""Bytes a second that a GPU receives, by their makers: within a machine and between machines."""
ROW_TOKENS = 8192
"""Of a packed row: `max_tokens_per_row`."""
SHARDS = 64
"""GPUs over which FSDP2 spreads the weights."""
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
    preference: float
    """A rejected reply beside each target, and all of it once more without the adapter."""
    distil: float
    """The sample once more without the adapter: the teacher's pass, which here reads as many tokens."""


def main() -> None:
    """Print the tables, or put them into the page."""
    args = arguments()
    text = "\n".join(tables(args)).rstrip()
    if args.write is None:
        print(text)
    else:
        put_into(args.write, text, BEGIN, END)


def put_into(path: Path, text: str, begin: str, end: str) -> None:
    """Put a text into a page, between two lines.

    Raises:
        SystemExit: the page has no such lines.
    """
    page = path.read_text(encoding="utf-8")
    before, is_begun, rest = page.partition(begin)
    _, is_ended, after = rest.partition(end)
    if not is_begun or not is_ended:
        raise SystemExit(f"{path}: expected the lines {begin.strip()!r} and {end.strip()!r}")
    path.write_text(f"{before}{begin}\n{text}\n\n{end}{after}", encoding="utf-8")


def shares() -> tuple[float, float]:
    """Return the shares of the peak that were reached on a GPU: in training and reading, and in decoding.

    Roll-outs were timed as a whole. Decoding has what is left of their seconds when their prompts are read at
    the share of training.
    """
    trained, rolled = (
        json.loads((RESULTS / "gpu" / name).read_text(encoding="utf-8"))
        for name in ("bench_8b.json", "rollout.json")
    )
    dense: float = trained["utilisation"]
    counters, num_new = rolled["rollout_counters"], rolled["settings"]["new_tokens"]
    read, sampled = counters["num_encoded_tokens"], counters["num_sampled_tokens"]
    # All prompts as long as their mean: attention is about one percent of the operations.
    prompt = read * num_new // sampled
    with torch.device("meta"):
        shape = ModelShape.of(LlamaForCausalLM(RANDOM_1B))
    trunk = Comb((1,) * prompt, (IGNORE,) * prompt)
    reply = Branch(prompt, (1,) * num_new, (1,) * num_new)
    reading = work_of([trunk]).forward_flops(shape)
    decoding = work_of([replace(trunk, branches=(reply,))]).forward_flops(shape) - reading
    num, peak = sampled / num_new, PEAK_TFLOPS * 1e12
    seconds = statistics.median(rolled["rollout_seconds"]["engine"])
    return dense, num * decoding / (seconds * peak - num * reading / dense)


def vllm_hits() -> float:
    """Return the share of all prompt tokens of a chat that vLLM took from its prefix cache."""
    path = RESULTS / "engines" / "vllm.json"
    parts = json.loads(path.read_text(encoding="utf-8"))["parts"]
    hits: float = parts["cache"]["found"]["share_of_all"]
    return hits


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
    plain = replace(shape, adapter=0)
    pairs = work_of([replace(comb, branches=tuple(b for b in comb.branches for _ in range(2)))])
    return Operations(
        prefill=trunk.forward_flops(shape) / 1e12,
        decode=(whole.forward_flops(shape) - trunk.forward_flops(shape)) / 1e12,
        training=whole.flops(shape) / 1e12,
        training_as_rows=work_of(expand(comb)).flops(shape) / 1e12,
        preference=(pairs.flops(shape) + pairs.forward_flops(plain)) / 1e12,
        distil=(whole.flops(shape) + whole.forward_flops(plain)) / 1e12,
    )


def tables(args: argparse.Namespace) -> list[str]:
    """Return the lines of all tables."""
    found, exchange_tokens = measured()
    comb = found.comb(exchange_tokens)
    shapes = {name: shape_of(config) for name, config in MODELS.items()}
    counted = {name: operations(comb, shape) for name, shape in shapes.items()}
    return [
        *of_a_sample(found, args), *of_the_models(shapes, counted), *on_two_cores(found, args),
        *on_gpus(found, counted, args), "", *of_the_links(found, shapes, counted, args), *of_disk(found),
    ]  # fmt: skip


def of_a_sample(found: Measured, args: argparse.Namespace) -> list[str]:
    """Return the table of what was measured, and what is assumed."""
    share = found.asked_tokens / found.encoded_tokens
    asked, sampled = f"{found.asked_tokens:,}", f"{found.sampled_tokens:,}"
    encoded = f"{found.encoded_tokens:,}, {share:.1f} times fewer"
    hits = vllm_hits()
    by_vllm = f"{found.asked_tokens * (1 - hits):,.0f} ({hits:.0%} hits)"
    trained = f"{found.comb_tokens:,}, {found.row_tokens:,}"
    rows = [
        ("prompt tokens asked for, for one reply to each turn", asked, "sampling"),
        ("of them encoded (each prefix once)", encoded, "sampling"),
        ("of them encoded by vLLM, by its prefix hits in a chat of 20 turns", by_vllm, "engines"),
        ("tokens sampled, one draw for each turn", sampled, "sampling"),
        ("tokens trained as a comb, and as one row a turn", trained, "training"),
        ("bytes of `samples.jsonl` a target", f"{found.target_bytes:,.0f}", "pipeline"),
        ("processor time a target beside the model, ms", f"{found.beside_ms:.2f}", "pipeline"),
        ("of it planning, which every start does anew, ms", f"{found.plan_ms:.3f}", "pipeline"),
        ("embedded model, two cores: a draw for each turn, s", f"{found.sampling_seconds:.2f}", "sampling"),
        ("embedded model, two cores: a training step, s", f"{found.training_seconds:.1f}", "training"),
        ("share of the peak reached in training, and taken for reading: 8B, H200",
         f"{args.dense_share:.1%}", "gpu"),
        ("share of it reached in decoding: 1B, 64 dialogues at once, H100", f"{args.decode_share:.1%}", "gpu"),
    ]  # fmt: skip
    assumed = [
        ("draws for each turn, rejected ones included", f"{args.draws:g}"),
        ("peak of the GPU, TFLOP/s (H100 SXM, bfloat16, dense, by its maker)", f"{args.peak_tflops:g}"),
        *(
            (f"what a GPU receives by {name}, GB/s (by its maker)", f"{speed / 1e9:g}")
            for name, speed in LINKS.items()
        ),
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
        shape = shapes[name]
        weights = weights_of(name, shape) * 2 / 1e9
        flops = (
            work.prefill, work.decode, work.training, work.training_as_rows, work.preference, work.distil,
        )  # fmt: skip
        adapter = (shape.adapter * 4 / 1e6, shape.adapter * CHECKPOINT_BYTES / 1e6)
        rows.append([name, *map(number, (*flops, weights, *adapter))])
    head = ["model", "read", "sample one draw", "train, comb", "train, rows", "preference", "distil",
            "weights, GB", "adapter, MB", "checkpoint, MB"]  # fmt: skip
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
            training, preference, distil = (
                scale * tflop / args.dense_share
                for tflop in (work.training, work.preference, work.distil)
            )
            tokens = (found.encoded_tokens, found.sampled_tokens * args.draws, found.comb_tokens)
            both = sampling + training
            values = (
                *(num * samples for num in tokens), sampling, training, both, both / 64 / 24,
                preference, distil,
            )  # fmt: skip
            rows.append([name, f"{samples:,}", *map(number, values)])
        sampled = found.sampled_tokens * peak * args.decode_share / work.decode
        trained = found.comb_tokens * peak * args.dense_share / work.training
        rates.append(
            f"The measured shares mean {number(sampled)} tokens sampled, or {number(trained)} trained, a "
            f"second and GPU at {name}."
        )
    head = ["model", "samples", "tokens read", "sampled", "trained", "sampling, h", "training, h", "both, h",
            "days on 64 GPUs", "or preference, h", "or distil, h"]  # fmt: skip
    title = "**GPU hours, by the operations above and the measured shares of the peak.**"
    return [title, "", table(head, rows), *rates]


def of_the_links(
    found: Measured,
    shapes: dict[str, ModelShape],
    counted: dict[str, Operations],
    args: argparse.Namespace,
) -> list[str]:
    """Return the table of FSDP2's traffic: each row gathers the weights forward and again backward.

    Only the adapter has gradients, which are left out: they are a hundredth of the weights or less.
    """
    rows = []
    for name in [name for name in counted if name != "135M"]:
        gathered = weights_of(name, shapes[name]) * 2 * (SHARDS - 1) / SHARDS
        for tokens in (found.comb_tokens, ROW_TOKENS):
            tflop = counted[name].training * tokens / found.comb_tokens
            computing = tflop / args.peak_tflops / args.dense_share
            receiving = [2 * gathered / speed for speed in LINKS.values()]
            values = (2 * gathered / 1e9, 3 * gathered / 1e9, computing, *receiving)
            rows.append([name, f"{tokens:,}", *map(number, values)])
    head = ["model", "tokens of a row", "GB received", "with a reference pass, GB", "computing, s",
            *(f"by {link}, s" for link in LINKS)]  # fmt: skip
    title = (
        f"**FSDP2 over {SHARDS} GPUs: what each receives for one row, and how long that takes.**"
    )
    return [title, "", table(head, rows)]


def weights_of(name: str, shape: ModelShape) -> int:
    """Return the number of weights of a model."""
    config = MODELS[name]
    embedding = 0 if config.tie_word_embeddings else config.vocab_size * config.hidden_size
    return shape.linear + shape.head + embedding


def of_disk(found: Measured) -> list[str]:
    """Return the table of what does not depend on the model."""
    rows = []
    for samples in SAMPLES:
        targets = samples * found.turns
        rows_bytes = samples * found.comb_tokens * TOKEN_BYTES
        size = (targets, targets * found.target_bytes / 1e9, rows_bytes / 1e9)
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
    dense, decode = shares()
    for name, default, text in (
        ("draws", DRAWS, "a turn"), ("peak-tflops", PEAK_TFLOPS, "of a GPU"),
        ("dense-share", dense, "reached"), ("decode-share", decode, "reached"),
    ):  # fmt: skip
        parser.add_argument(
            f"--{name}", type=float, default=default, help=f"{text} (default: {default:.3g})"
        )
    return parser.parse_args()


if __name__ == "__main__":
    main()
