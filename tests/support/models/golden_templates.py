"""Literal goldens: what each family's template makes of one dialogue, token by token.

Derived by hand from the templates' source, piece by piece: what stands before the
first message, the wrapping of each role, the generation prompt. `·` separates
tokens and `⏎` is a newline; a line that begins with `+` is a reply in the history
with its end-of-turn token (loss under `all_turns` and `context_only`, never under
`last_turn`). Joined, the tokens are the text.

The dialogue: Hello there / Hi Bob / How are you / Fine / Bye / See you.
The instruction: Speak French. The targets: Bonjour / Bien merci / Salut toi.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gatt.data.dialogue import Dialogue, Message
from gatt.data.instruction import Instruction
from gatt.data.sample import GattSample, TurnTarget
from tests.support.texts.words import CHATML, CHATML_SPECIALS, trl_template, word_tokenizer

USERS = ("Hello there", "How are you", "Bye")
REPLIES = ("Hi Bob", "Fine", "See you")
TARGETS = ("Bonjour", "Bien merci", "Salut toi")
INSTRUCTION = "Speak French."
WORDS = (
    *USERS, *REPLIES, *TARGETS, INSTRUCTION, "Be brief.", "system user assistant model final",
    "You are a helpful AI assistant named SmolLM, trained by Hugging Face",
    "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.",
    "<think> </think> <think></think> first question second third answer xyzzy instruction",
)  # fmt: skip


@dataclass(frozen=True)
class Family:
    """One family's template, and the tokens that it must give."""

    name: str
    template: str
    specials: tuple[str, ...]
    openings: Mapping[str, tuple[str, ...]]
    """Lines up to the end of prompt 1, by where the instruction stands (`none`: nowhere)."""
    later: tuple[tuple[str, ...], tuple[str, ...]]
    """Lines from the end of prompt 1 to that of prompt 2, and from there to prompt 3."""
    targets: tuple[str, str, str]
    named: Mapping[str, str] = field(default_factory=dict)

    def tokenizer(self) -> Any:
        """Return a word-level tokenizer with the template and its special tokens."""
        return word_tokenizer(self.template, self.specials, WORDS, **self.named)

    def prompt(self, opening: str, num_turns: int) -> list[tuple[str, bool]]:
        """Return (token, whether it is of a reply in the history) of the last prompt."""
        lines = self.openings[opening] + sum(self.later[: num_turns - 1], ())
        return [
            (token, line.startswith("+"))
            for line in lines
            for token in tokens(line.removeprefix("+"))
        ]


def tokens(line: str) -> list[str]:
    """Return the tokens of a golden line."""
    return [t.replace("⏎", "\n") for t in line.split("·")]


def dialogue(num_turns: int, system: str | None = None) -> Dialogue:
    """Return the dialogue with its first turns, each answered."""
    messages = [Message("system", system)] if system else []
    for user, reply in list(zip(USERS, REPLIES, strict=True))[:num_turns]:
        messages += [Message("user", user), Message("assistant", reply)]
    return Dialogue("d-1", tuple(messages))


def sample(num_turns: int, instruction: str | None, system: str | None = None) -> GattSample:
    """Return a sample with a target for every turn."""
    made = instruction and Instruction(
        "language-fr", instruction, "verbose", ("language-fr",), ("language",), "train", ()
    )
    targets = tuple(
        TurnTarget(turn, reply, kind="sampled", attempts=1)
        for turn, reply in enumerate(TARGETS[:num_turns], start=1)
    )
    return GattSample("s-1", dialogue(num_turns, system), made or None, targets)


SMOLLM2_DEFAULT = (
    "<|im_start|>·system·⏎·You· are· a· helpful· AI· assistant· named· SmolLM,"
    "· trained· by· Hugging· Face·<|im_end|>·⏎"
)
SMOLLM2 = Family(
    "smollm2",
    CHATML,
    CHATML_SPECIALS,
    {
        "none": (
            SMOLLM2_DEFAULT,
            "<|im_start|>·user·⏎·Hello· there·<|im_end|>·⏎",
            "<|im_start|>·assistant·⏎",
        ),
        "system": (
            "<|im_start|>·system·⏎·Speak· French.·<|im_end|>·⏎",
            "<|im_start|>·user·⏎·Hello· there·<|im_end|>·⏎",
            "<|im_start|>·assistant·⏎",
        ),
        "first_user": (
            SMOLLM2_DEFAULT,
            "<|im_start|>·user·⏎·Speak· French.·⏎·⏎·Hello· there·<|im_end|>·⏎",
            "<|im_start|>·assistant·⏎",
        ),
    },
    (
        (
            "+Hi· Bob·<|im_end|>",
            "⏎·<|im_start|>·user·⏎·How· are· you·<|im_end|>·⏎",
            "<|im_start|>·assistant·⏎",
        ),
        (
            "+Fine·<|im_end|>",
            "⏎·<|im_start|>·user·⏎·Bye·<|im_end|>·⏎",
            "<|im_start|>·assistant·⏎",
        ),
    ),
    ("Bonjour·<|im_end|>", "Bien· merci·<|im_end|>", "Salut· toi·<|im_end|>"),
    {"bos_token": "<|im_start|>", "eos_token": "<|im_end|>"},
)

QWEN2_5_DEFAULT = (
    "<|im_start|>·system·⏎·You· are· Qwen,· created· by· Alibaba· Cloud.· You· are· a· helpful"
    "· assistant.·<|im_end|>·⏎"
)
QWEN2_5 = Family(
    "qwen2_5",
    trl_template("qwen2_5"),
    CHATML_SPECIALS,
    {
        "none": (QWEN2_5_DEFAULT, *SMOLLM2.openings["none"][1:]),
        "system": SMOLLM2.openings["system"],
        "first_user": (QWEN2_5_DEFAULT, *SMOLLM2.openings["first_user"][1:]),
    },
    SMOLLM2.later,
    SMOLLM2.targets,
    {"eos_token": "<|im_end|>"},
)

# No default system message; an empty reasoning block in a last reply, none in the history.
QWEN3 = Family(
    "qwen3",
    trl_template("qwen3"),
    CHATML_SPECIALS,
    {
        "none": SMOLLM2.openings["none"][1:],
        "system": SMOLLM2.openings["system"],
        "first_user": SMOLLM2.openings["first_user"][1:],
    },
    SMOLLM2.later,
    (
        "<think>·⏎·⏎·</think>·⏎·⏎·Bonjour·<|im_end|>",
        "<think>·⏎·⏎·</think>·⏎·⏎·Bien· merci·<|im_end|>",
        "<think>·⏎·⏎·</think>·⏎·⏎·Salut· toi·<|im_end|>",
    ),
    {"eos_token": "<|im_end|>"},
)

LLAMA3 = Family(
    "llama3",
    trl_template("llama3"),
    ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
    {
        "none": (
            "<|begin_of_text|>",
            "<|start_header_id|>·user·<|end_header_id|>·⏎·⏎·Hello· there·<|eot_id|>",
            "<|start_header_id|>·assistant·<|end_header_id|>·⏎·⏎",
        ),
        "system": (
            "<|begin_of_text|>",
            "<|start_header_id|>·system·<|end_header_id|>·⏎·⏎·Speak· French.·<|eot_id|>",
            "<|start_header_id|>·user·<|end_header_id|>·⏎·⏎·Hello· there·<|eot_id|>",
            "<|start_header_id|>·assistant·<|end_header_id|>·⏎·⏎",
        ),
        "first_user": (
            "<|begin_of_text|>",
            "<|start_header_id|>·user·<|end_header_id|>·⏎·⏎",
            "Speak· French.·⏎·⏎·Hello· there·<|eot_id|>",
            "<|start_header_id|>·assistant·<|end_header_id|>·⏎·⏎",
        ),
    },
    (
        (
            "+Hi· Bob·<|eot_id|>",
            "<|start_header_id|>·user·<|end_header_id|>·⏎·⏎·How· are· you·<|eot_id|>",
            "<|start_header_id|>·assistant·<|end_header_id|>·⏎·⏎",
        ),
        (
            "+Fine·<|eot_id|>",
            "<|start_header_id|>·user·<|end_header_id|>·⏎·⏎·Bye·<|eot_id|>",
            "<|start_header_id|>·assistant·<|end_header_id|>·⏎·⏎",
        ),
    ),
    ("Bonjour·<|eot_id|>", "Bien· merci·<|eot_id|>", "Salut· toi·<|eot_id|>"),
    {"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>"},
)

# Takes no system message at all.
GEMMA = Family(
    "gemma",
    trl_template("gemma"),
    ("<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>"),
    {
        "none": (
            "<bos>",
            "<start_of_turn>·user·⏎·Hello· there·<end_of_turn>·⏎",
            "<start_of_turn>·model·⏎",
        ),
        "first_user": (
            "<bos>",
            "<start_of_turn>·user·⏎·Speak· French.·⏎·⏎·Hello· there·<end_of_turn>·⏎",
            "<start_of_turn>·model·⏎",
        ),
    },
    (
        (
            "+Hi· Bob·<end_of_turn>",
            "⏎·<start_of_turn>·user·⏎·How· are· you·<end_of_turn>·⏎",
            "<start_of_turn>·model·⏎",
        ),
        (
            "+Fine·<end_of_turn>",
            "⏎·<start_of_turn>·user·⏎·Bye·<end_of_turn>·⏎",
            "<start_of_turn>·model·⏎",
        ),
    ),
    ("Bonjour·<end_of_turn>", "Bien· merci·<end_of_turn>", "Salut· toi·<end_of_turn>"),
    {"bos_token": "<bos>", "eos_token": "<eos>"},
)

# Folds the system message into the first user message: both placements look the same.
GEMMA3 = Family(
    "gemma3",
    trl_template("gemma3"),
    GEMMA.specials,
    {**GEMMA.openings, "system": GEMMA.openings["first_user"]},
    GEMMA.later,
    GEMMA.targets,
    GEMMA.named,
)

# Writes a newline and an end-of-text token after a last reply: neither is learned.
PHI3 = Family(
    "phi3",
    trl_template("phi3"),
    ("<|system|>", "<|user|>", "<|assistant|>", "<|end|>", "<|endoftext|>"),
    {
        "none": ("<|user|>·⏎·Hello· there·<|end|>·⏎", "<|assistant|>·⏎"),
        "system": (
            "<|system|>·⏎·Speak· French.·<|end|>·⏎",
            "<|user|>·⏎·Hello· there·<|end|>·⏎",
            "<|assistant|>·⏎",
        ),
        "first_user": (
            "<|user|>·⏎·Speak· French.·⏎·⏎·Hello· there·<|end|>·⏎",
            "<|assistant|>·⏎",
        ),
    },
    (
        ("+Hi· Bob·<|end|>", "⏎·<|user|>·⏎·How· are· you·<|end|>·⏎", "<|assistant|>·⏎"),
        ("+Fine·<|end|>", "⏎·<|user|>·⏎·Bye·<|end|>·⏎", "<|assistant|>·⏎"),
    ),
    ("Bonjour·<|end|>", "Bien· merci·<|end|>", "Salut· toi·<|end|>"),
    {"eos_token": "<|endoftext|>"},
)

_START, _END = "<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>"
COHERE = Family(
    "cohere",
    trl_template("cohere"),
    ("<BOS_TOKEN>", _START, _END, "<|SYSTEM_TOKEN|>", "<|USER_TOKEN|>", "<|CHATBOT_TOKEN|>"),
    {
        "none": (
            "<BOS_TOKEN>",
            f"{_START}·<|USER_TOKEN|>·Hello· there·{_END}",
            f"{_START}·<|CHATBOT_TOKEN|>",
        ),
        "system": (
            "<BOS_TOKEN>",
            f"{_START}·<|SYSTEM_TOKEN|>·Speak· French.·{_END}",
            f"{_START}·<|USER_TOKEN|>·Hello· there·{_END}",
            f"{_START}·<|CHATBOT_TOKEN|>",
        ),
        "first_user": (
            "<BOS_TOKEN>",
            f"{_START}·<|USER_TOKEN|>·Speak· French.·⏎·⏎·Hello· there·{_END}",
            f"{_START}·<|CHATBOT_TOKEN|>",
        ),
    },
    (
        (
            f"+Hi· Bob·{_END}",
            f"{_START}·<|USER_TOKEN|>·How· are· you·{_END}",
            f"{_START}·<|CHATBOT_TOKEN|>",
        ),
        (
            f"+Fine·{_END}",
            f"{_START}·<|USER_TOKEN|>·Bye·{_END}",
            f"{_START}·<|CHATBOT_TOKEN|>",
        ),
    ),
    (f"Bonjour·{_END}", f"Bien· merci·{_END}", f"Salut· toi·{_END}"),
    {"bos_token": "<BOS_TOKEN>", "eos_token": _END},
)

FAMILIES = (SMOLLM2, QWEN2_5, QWEN3, LLAMA3, GEMMA, GEMMA3, PHI3, COHERE)
