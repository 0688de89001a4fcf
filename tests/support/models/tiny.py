"""A tokenizer trained in the process and a two-layer random Llama: models without a download."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from gatt.data.dialogue import Dialogue, Message
from gatt.data.instruction import Instruction
from gatt.data.sample import GattSample, TurnTarget
from gatt.train.config import TrainConfig
from tests.support.runs.stages import write_jsonl

CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
"""ChatML without a default system message."""

NO_SYSTEM = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}"
    "{% endif %}" + CHATML
)
"""As Gemma does: it refuses a system message."""

REWRITING = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' }}"
    "{% if m['role'] == 'assistant' and loop.last %}{{ 'Answer:\n' }}{% endif %}"
    "{{ m['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\nAnswer:\n' }}{% endif %}"
)
"""As reasoning models do: what opens a reply is stripped from the history of later turns."""

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
CORPUS = [
    "You always answer in French and bring up tennis.",
    "Where shall we go today? What is your favorite hobby? Tell me more about the sea.",
    "user assistant system hello there, I like the long quiet walk by the river.",
]


def train_bpe(corpus: Sequence[str], split: Any, special_tokens: Sequence[str] = ()) -> Tokenizer:
    """Train a byte-level BPE tokenizer of about 300 tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = split
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=list(special_tokens),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus, trainer)
    return tokenizer


def tiny_tokenizer(template: str | None = CHATML) -> PreTrainedTokenizerFast:
    """Return a byte-level BPE tokenizer of about 300 tokens with the given chat template."""
    split = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return PreTrainedTokenizerFast(
        tokenizer_object=train_bpe(CORPUS * 4, split, SPECIAL),
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        chat_template=template,
    )


def tiny_llama(tokenizer: Any, seed: int = 0, **changes: Any) -> LlamaForCausalLM:
    """Return a random two-layer Llama in float32 that takes the tokenizer's ids."""
    torch.manual_seed(seed)
    settings = {
        "vocab_size": len(tokenizer), "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 512,
        "tie_word_embeddings": True, "bos_token_id": None, "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }  # fmt: skip
    return LlamaForCausalLM(LlamaConfig(**{**settings, **changes})).eval()


def save_tiny_model(folder: Path, template: str | None = CHATML, **changes: Any) -> Path:
    """Write tokenizer and model as a folder that `gatt.models.load` loads."""
    tokenizer = tiny_tokenizer(template)
    tokenizer.save_pretrained(folder)
    tiny_llama(tokenizer, **changes).save_pretrained(folder)
    return folder


def randomise(
    model: torch.nn.Module, part: str = "lora_B", scale: float = 0.05, seed: int = 1
) -> None:
    """Draw the weights of a LoRA at random: at zero, as PEFT starts B, A would have no gradient."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            # TRL's frozen copy of a first adapter is called "ref".
            if part in name and ".ref." not in name:
                weight.copy_(torch.randn(weight.shape, generator=generator) * scale)


def tiny_run(model: object, samples: Path, output_dir: Path, **changes: Any) -> TrainConfig:
    """Return a run of two steps of a row each, which logs every step and reports to nobody."""
    settings = {
        "model": str(model), "samples": (samples,), "output_dir": output_dir, "max_steps": 2,
        "gradient_accumulation_steps": 1, "logging_steps": 1, "report_to": "none", "disable_tqdm": True,
    }  # fmt: skip
    return TrainConfig(**settings | changes)


def instruction(text: str = "Always answer in French.") -> Instruction:
    """Return an instruction of that text."""
    return Instruction(
        id="language.french",
        text=text,
        wording="verbose",
        entries=("language.french",),
        families=("language",),
        split="train",
        verifiers=(),
    )


def sample(
    number: int,
    num_turns: int = 3,
    *,
    targets: Sequence[str | None] | None = None,
    is_plain: bool = False,
) -> GattSample:
    """Return a sample whose texts differ by number and turn; one target a turn unless given."""
    messages = []
    for turn in range(1, num_turns + 1):
        messages.append(Message("user", f"What is the sea {number} like on day {turn}?"))
        if turn < num_turns:
            messages.append(Message("assistant", f"It is quiet {'and long ' * turn}there."))
    replies = targets or [f"Bonjour, jour {turn} de {number}." for turn in range(1, num_turns + 1)]
    return GattSample(
        id=f"s-{number}",
        dialogue=Dialogue(f"d-{number}", tuple(messages)),
        instruction=None if is_plain else instruction(),
        targets=tuple(
            TurnTarget(turn, reply, None if reply else "rejected", "sampled" if reply else None)
            for turn, reply in enumerate(replies, start=1)
        ),
    )


def write_samples(path: Path, samples: Sequence[GattSample]) -> Path:
    """Write samples as JSONL."""
    return write_jsonl(path, (s.as_dict() for s in samples))
