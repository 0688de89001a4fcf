"""Literal goldens: what each family's template makes of one dialogue, token by token.

Derived by hand from the templates' source, piece by piece: what stands before the first message, the
wrapping of each role, the generation prompt. `·` separates tokens, `⏎` is a newline, and `{}` stands for
the tokens of a message. Joined, the tokens are the text.

The dialogue: Hello there / Hi Bob / How are you / Fine / Bye / See you.
The instruction: Speak French. The targets: Bonjour / Bien merci / Salut toi.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
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
    named: Mapping[str, str]
    user: str
    generation: str
    """The generation prompt."""
    end: str
    """The end-of-turn token, behind a reply in the history and behind a target."""
    system: str | None = None
    """Wrapping of the instruction; None: none is taken, `user`: it is put in front of message 1."""
    start: str = ""
    default: str = ""
    """System message that the template inserts where none is given."""
    after_reply: str = ""
    before_target: str = ""

    @property
    def openings(self) -> tuple[str, ...]:
        """Where the instruction may stand (`none`: nowhere)."""
        return ("none", "first_user") if self.system is None else ("none", "system", "first_user")

    @property
    def targets(self) -> tuple[str, ...]:
        """Lines of the targets of turns 1 to 3, which are learned."""
        return tuple(f"{self.before_target}{spaced(t)}·{self.end}" for t in TARGETS)

    def tokenizer(self) -> Any:
        """Return a word-level tokenizer with the template and its special tokens."""
        return word_tokenizer(self.template, self.specials, WORDS, **self.named)

    def prompt(self, opening: str, num_turns: int) -> list[tuple[str, bool]]:
        """Return (token, whether it is of a reply in the history) of the last prompt.

        Such replies and their end-of-turn tokens have loss under `all_turns` and `context_only`, never
        under `last_turn`.
        """
        asked = [spaced(user) for user in USERS[:num_turns]]
        told, head = spaced(INSTRUCTION), self.default
        if opening == "system" and self.system != "user":
            head = str(self.system).format(told)
        elif opening != "none":
            asked[0] = f"{told}·⏎·⏎·{asked[0]}"
        found = [(token, False) for token in tokens(self.start + head)]
        for turn, user in enumerate(asked, start=1):
            found += [(token, False) for token in tokens(self.user.format(user) + self.generation)]
            if turn < num_turns:
                reply = f"{spaced(REPLIES[turn - 1])}·{self.end}"
                found += [(token, True) for token in tokens(reply)]
                found += [(token, False) for token in tokens(self.after_reply)]
        return found


def spaced(text: str) -> str:
    """Return the tokens of a message: the space belongs to the word behind it."""
    return text.replace(" ", "· ")


def tokens(line: str) -> list[str]:
    """Return the tokens of a golden line."""
    return [t.replace("⏎", "\n") for t in line.split("·") if t]


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


SMOLLM2 = Family(
    "smollm2", CHATML, CHATML_SPECIALS, {"bos_token": "<|im_start|>", "eos_token": "<|im_end|>"},
    system="<|im_start|>·system·⏎·{}·<|im_end|>·⏎·",
    default="<|im_start|>·system·⏎·You· are· a· helpful· AI· assistant· named· SmolLM,· trained· by"
    "· Hugging· Face·<|im_end|>·⏎·",
    user="<|im_start|>·user·⏎·{}·<|im_end|>·⏎·",
    generation="<|im_start|>·assistant·⏎",
    end="<|im_end|>",
    after_reply="⏎",
)  # fmt: skip
QWEN2_5 = replace(
    SMOLLM2,
    name="qwen2_5",
    template=trl_template("qwen2_5"),
    named={"eos_token": "<|im_end|>"},
    default="<|im_start|>·system·⏎·You· are· Qwen,· created· by· Alibaba· Cloud.· You· are· a· helpful"
    "· assistant.·<|im_end|>·⏎·",
)
# No default system message; an empty reasoning block in a last reply, none in the history.
QWEN3 = replace(
    QWEN2_5,
    name="qwen3",
    template=trl_template("qwen3"),
    default="",
    before_target="<think>·⏎·⏎·</think>·⏎·⏎·",
)
LLAMA3 = Family(
    "llama3",
    trl_template("llama3"),
    ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
    {"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>"},
    start="<|begin_of_text|>·",
    system="<|start_header_id|>·system·<|end_header_id|>·⏎·⏎·{}·<|eot_id|>·",
    user="<|start_header_id|>·user·<|end_header_id|>·⏎·⏎·{}·<|eot_id|>·",
    generation="<|start_header_id|>·assistant·<|end_header_id|>·⏎·⏎",
    end="<|eot_id|>",
)
# Takes no system message at all.
GEMMA = Family(
    "gemma",
    trl_template("gemma"),
    ("<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>"),
    {"bos_token": "<bos>", "eos_token": "<eos>"},
    start="<bos>·",
    user="<start_of_turn>·user·⏎·{}·<end_of_turn>·⏎·",
    generation="<start_of_turn>·model·⏎",
    end="<end_of_turn>",
    after_reply="⏎",
)
# Folds the system message into the first user message: both placements look the same.
GEMMA3 = replace(GEMMA, name="gemma3", template=trl_template("gemma3"), system="user")
_START, _END = "<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>"
COHERE = Family(
    "cohere",
    trl_template("cohere"),
    ("<BOS_TOKEN>", _START, _END, "<|SYSTEM_TOKEN|>", "<|USER_TOKEN|>", "<|CHATBOT_TOKEN|>"),
    {"bos_token": "<BOS_TOKEN>", "eos_token": _END},
    start="<BOS_TOKEN>·",
    system=_START + "·<|SYSTEM_TOKEN|>·{}·" + _END + "·",
    user=_START + "·<|USER_TOKEN|>·{}·" + _END + "·",
    generation=f"{_START}·<|CHATBOT_TOKEN|>",
    end=_END,
)

FAMILIES = (SMOLLM2, QWEN2_5, QWEN3, LLAMA3, GEMMA, GEMMA3, COHERE)
