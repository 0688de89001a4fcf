"""Ways to train every turn of one dialogue in a step: same model, same LoRA, same targets."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.trainer_callback import PrinterCallback
from trl import SFTConfig, SFTTrainer

from gatt.comb.collator import combs_to_features
from gatt.comb.comb import IGNORE, Comb, expand, split_to_fit
from gatt.data.dialogue import Dialogue, Message
from gatt.data.instruction import Instruction
from gatt.data.sample import GattSample, TurnTarget
from gatt.data.views import prompt_of_turn, training_view
from gatt.errors import ConfigError
from gatt.models.load import load_model
from gatt.train.arguments import checkpointing, training_arguments
from gatt.train.config import TrainConfig
from gatt.train.data.labels import build_combs
from gatt.train.data.report import RowReport
from gatt.train.data.rows import NUM_TOKENS, build_rows
from gatt.train.trainer import RowTrainer

RANDOM = "random-llama:"
RANDOM_LLAMAS = {
    "tiny": (64, 2, 4, 2, 128),
    "135m": (576, 30, 9, 3, 1536),
    "1b": (2048, 16, 32, 8, 8192),
    "8b": (4096, 32, 32, 8, 14336),
}
"""Hidden size, layers, heads, key/value heads, intermediate size."""
WORDS = [
    "the", "a", "of", "to", "and", "in", "is", "it", "you", "that", "he", "was", "for", "on", "are", "with",
    "as", "his", "they", "at", "be", "this", "from",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What all contenders share."""

    model: str
    """The embedded model, a folder, or `random-llama:SIZE`."""
    device: str
    turns: int
    exchange_tokens: int
    """Tokens of a user message and the reply in the history, the template's own included."""
    reply_tokens: int
    """Tokens of a target, its end included."""
    steps: int
    gradient_checkpointing: bool = False
    batch_sizes: tuple[int, ...] = (1, 2, 4)
    """Of TRL."""
    max_tokens_per_row: tuple[int, ...] = ()
    """Also combs that are cut at these."""


@dataclass
class Contender:
    """One way to train all turns of a dialogue in a step."""

    name: str
    make_trainer: Callable[[Any], Any]
    """From a bare model to a trainer whose step covers all targets."""
    rows: list[Comb]
    """What it puts through the model; the work of a step."""
    scores_everywhere: bool = False


def make_sample(tokenizer: Any, setting: Setting) -> GattSample:
    """Return a dialogue of random short words, with a target for every turn."""
    rng = random.Random(0)

    def text(num_tokens: int) -> str:
        # Words of one token each behind a space; what the template adds is measured below.
        return " ".join(rng.choice(WORDS) for _ in range(num_tokens))

    empty = [Message("user", "a"), Message("assistant", "a")] * 2
    lengths = [
        len(tokenizer.apply_chat_template([m.as_dict() for m in empty[:n]], return_dict=False))
        for n in (2, 4)
    ]
    room = setting.exchange_tokens - (lengths[1] - lengths[0]) + 2
    if room < 2:
        raise ConfigError(f"--exchange-tokens {setting.exchange_tokens}: the template takes more")
    messages: list[Message] = []
    for turn in range(setting.turns):
        messages.append(Message("user", text(math.ceil(room / 2))))
        if turn < setting.turns - 1:
            messages.append(Message("assistant", text(room // 2)))
    instruction = Instruction(
        id="bench", text="You enjoy tennis.", wording="verbose", entries=("bench",),
        families=("hobby",), split="train", verifiers=(),
    )  # fmt: skip
    targets = [
        TurnTarget(turn, text(setting.reply_tokens - 1), kind="sampled")
        for turn in range(1, setting.turns + 1)
    ]
    return GattSample("s-1", Dialogue("d-1", tuple(messages)), instruction, tuple(targets))


def base_model(setting: Setting) -> Any:
    """Return the model in float32 on CPU, in bfloat16 on CUDA."""
    if setting.model.startswith(RANDOM):
        return random_llama(setting.model, setting.device)
    dtype = "bfloat16" if setting.device == "cuda" else "float32"
    return load_model(setting.model, dtype=dtype, device=setting.device).model


def random_llama(name: str, device: str) -> Any:
    """Return a Llama of random weights, in float32 on CPU, in bfloat16 on CUDA.

    Args:
        name: `random-llama:` and one of `RANDOM_LLAMAS`.
        device: where it is made.

    Raises:
        ConfigError: no such size.
    """
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    size = name.removeprefix(RANDOM)
    if size not in RANDOM_LLAMAS:
        raise ConfigError(
            f"--model random-llama:{size}: expected one of {', '.join(RANDOM_LLAMAS)}"
        )
    hidden, layers, heads, kv_heads, intermediate = RANDOM_LLAMAS[size]
    config = LlamaConfig(
        vocab_size=49152 if size in ("tiny", "135m") else 128256, hidden_size=hidden,
        num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=kv_heads,
        intermediate_size=intermediate, max_position_embeddings=131072, dtype=dtype,
    )  # fmt: skip
    torch.manual_seed(0)
    with torch.device(device):
        return LlamaForCausalLM(config).to(dtype)


def lora() -> LoraConfig:
    """Return the adapter of all contenders."""
    return LoraConfig(task_type="CAUSAL_LM", r=16, lora_alpha=32, target_modules="all-linear")


def own_trainer(
    setting: Setting, tokenizer: Any, folder: Path, layout: str, batch: int, rows: Any,
    num_rows: int,
) -> Callable[[Any], Any]:  # fmt: skip
    """Return what makes this project's trainer for given rows."""
    rows_a_step = math.ceil(num_rows / batch)
    config = TrainConfig(
        samples=(folder / "none.jsonl",), output_dir=folder / "out", layout=layout,  # type: ignore[arg-type]
        per_device_train_batch_size=batch, gradient_accumulation_steps=rows_a_step,
        max_steps=setting.steps, save_steps=10**6, report_to="none", disable_tqdm=True, logging_steps=1,
        bf16=setting.device == "cuda", gradient_checkpointing=setting.gradient_checkpointing,
        max_length=10**6, max_tokens_per_row=10**6,
    )  # fmt: skip

    def make(model: Any) -> Any:
        return RowTrainer(
            model, config, training_arguments(config), rows,
            RowReport(layout, rows_a_step=rows_a_step),  # type: ignore[arg-type]
            tokenizer=tokenizer, peft_config=lora(),
        )  # fmt: skip

    return make


def trl_trainer(
    setting: Setting, tokenizer: Any, folder: Path, sample: GattSample, batch: int
) -> Callable[[Any], Any]:
    """Return what makes TRL's own trainer on conversational prompt-completion rows.

    Its targets are ours and what the template writes behind the end of a reply: one
    token each (a line break) with ChatML.
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
        max_length=None, max_steps=setting.steps, seed=0,
        gradient_accumulation_steps=math.ceil(len(rows) / batch),
        train_sampling_strategy="group_by_length" if batch > 1 else "random",
        learning_rate=2e-4, lr_scheduler_type="cosine", save_strategy="no", report_to="none",
        disable_tqdm=True, logging_steps=1, bf16=setting.device == "cuda",
        **checkpointing(setting.gradient_checkpointing), dataloader_pin_memory=setting.device == "cuda",
    )  # fmt: skip

    def make(model: Any) -> Any:
        trainer = SFTTrainer(
            model=model, args=config, train_dataset=Dataset.from_list(rows), peft_config=lora(),
            processing_class=tokenizer,
        )  # fmt: skip
        trainer.remove_callback(PrinterCallback)
        return trainer

    return make


def contenders(setting: Setting, tokenizer: Any, folder: Path) -> Iterator[Contender]:
    """Yield all contenders; those with a batch size once for each."""
    sample = make_sample(tokenizer, setting)
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
        return own_trainer(setting, tokenizer, folder, layout, batch, rows, len(rows))

    yield Contender("comb", own("comb", 1, dataset("comb")), [part.comb])
    for most in setting.max_tokens_per_row:
        cut = split_to_fit(part.comb, most)
        rows = Dataset.from_list(
            [{**combs_to_features([comb]), NUM_TOKENS: comb.num_tokens} for comb in cut]
        )
        yield Contender(f"comb cut at {most}", own("comb", 1, rows), cut)
    length = part.comb.num_tokens
    ids = tuple(random.Random(1).choices(range(1000, 40000), k=length))
    first = length - part.comb.num_supervised
    plain = Comb(ids, (IGNORE,) * first + ids[first:])
    floor = Dataset.from_list([combs_to_features([plain])])
    yield Contender("floor", own("expanded", 1, floor), [plain])
    yield Contender("expanded, batch 1", own("expanded", 1, dataset("expanded")), written)
    for batch in setting.batch_sizes:
        make = trl_trainer(setting, tokenizer, folder, sample, batch)
        # Its fused head skips unsupervised positions where it has Triton, on CPU it scores them all.
        everywhere = setting.device == "cpu"
        yield Contender(f"TRL, batch {batch}", make, written, scores_everywhere=everywhere)
