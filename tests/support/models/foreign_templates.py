"""Chat templates of other projects, and the outcome of a run under each.

Those of `tests/support/models/chat_templates` were written for these tests: each does in a few lines what is
special in the model's own template, and names the model in its first line. The others are files of TRL's
installed package, byte for byte those of the models that its README names. Their tokenizer is trained in
the process, with the template's control tokens added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from tokenizers import AddedToken, Regex, Tokenizer, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from tests.support.models.tiny import train_bpe
from tests.support.texts.words import trl_template

Outcome = Literal["comb", "expanded", "refused"]

_FOLDER = Path(__file__).parent / "chat_templates"
_SPLIT = Regex(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""How Qwen, Llama 3 and GLM split text: line breaks merge, so a cut prompt may have other tokens."""
_CORPUS = ("You always answer in French.\n\n", "Where shall we go?\n\nTo the sea.\n\n") * 8


@dataclass(frozen=True)
class Foreign:
    """One template, and what a run under it comes to."""

    name: str
    outcome: Outcome
    """Turns share a trunk, one row a turn, or the run is refused."""
    marks: tuple[str, ...]
    """Its control tokens, the end of a turn first; those of `plain` besides are marked as not special."""
    plain: tuple[str, ...] = ()
    end: str = ""
    """What a target ends with, where it is not the end of a turn alone."""
    header: str = ""
    """What a target begins with."""
    said: tuple[str, ...] = ()
    """Facts in the line that refuses the run or names the fall-back."""
    variables: Mapping[str, str | bool] = field(default_factory=dict)
    in_history: tuple[str, str] | None = None
    """What a reply of the history begins and ends with, where it is not as a target does."""

    @property
    def id(self) -> str:
        """The name, with the variables that are set."""
        return "-".join([self.name, *(f"{k}={v}" for k, v in self.variables.items())])

    @property
    def eos(self) -> str:
        """The tokenizer's end of text."""
        return self.marks[0]

    @property
    def closing(self) -> str:
        """What a target ends with."""
        return self.end or self.eos

    def template(self) -> str:
        """Return the template's text: of the file here or else of TRL's."""
        path = _FOLDER / f"{self.name}.jinja"
        return path.read_text(encoding="utf-8") if path.exists() else trl_template(self.name)

    def tokenizer(self, without: Sequence[str] = ()) -> Any:
        """Return a tokenizer with the template, and all of its control tokens but some."""
        plain = [mark for mark in self.plain if mark not in without]
        marks = [mark for mark in self.marks if mark not in (*without, *plain)]
        return foreign_tokenizer(self.template(), marks, plain, eos=self.eos)


def foreign_tokenizer(
    template: str, marks: Sequence[str], plain: Sequence[str] = (), *, eos: str
) -> Any:
    """Return a byte-level BPE tokenizer with added tokens, special ones and others."""
    tokenizer = Tokenizer.from_str(_trained())
    tokenizer.add_tokens([AddedToken(t, normalized=False, special=False) for t in plain])
    special = dict.fromkeys(("<s>", "<pad>", *marks))
    tokenizer.add_special_tokens([AddedToken(t, normalized=False, special=True) for t in special])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token=eos, pad_token="<pad>",
        chat_template=template,
    )  # fmt: skip


@cache
def _trained() -> str:
    split = pre_tokenizers.Split(_SPLIT, "isolated")
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return str(train_bpe(_CORPUS, pre_tokenizers.Sequence([split, level])).to_str())


_THINK = ("<think>", "</think>")
_CHATML = ("<|im_end|>", "<|im_start|>", "<|endoftext|>")
_LLAMA = ("<|eot_id|>", "<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>")
_GEMMA = ("<eos>", "<start_of_turn>", "<end_of_turn>")
_GEMMA4 = ("<eos>", "<|turn>", "<turn|>", "<|channel>", "<channel|>", "<|think|>")
_COHERE = (
    "<|END_OF_TURN_TOKEN|>", "<|START_OF_TURN_TOKEN|>", "<|SYSTEM_TOKEN|>", "<|USER_TOKEN|>",
    "<|CHATBOT_TOKEN|>", "<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_THINKING|>",
    "<|END_THINKING|>",
)  # fmt: skip
_COHERE_END = "<|END_RESPONSE|><|END_OF_TURN_TOKEN|>"
_DEEPSEEK = ("<｜end▁of▁sentence｜>",)
_DEEPSEEK_PLAIN = ("<｜User｜>", "<｜Assistant｜>", *_THINK)
_PHI = ("<|endoftext|>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>")
_OSS = ("<|return|>", "<|start|>", "<|message|>", "<|channel|>", "<|end|>", "<|call|>")
_GLM = ("<|endoftext|>", "[gMASK]", "<sop>", "<|system|>", "<|user|>", "<|assistant|>")
_FINAL = "<|channel|>final<|message|>"
_EMPTY = "<think>\n\n</think>\n\n"
_OFF = {"enable_thinking": False}
_NO_WAY = "use another model"
_OPENS = ("opens reasoning ('<think>\\n')", _NO_WAY)
_TELLS_OFF = (_OPENS[0], "chat_template_kwargs: {enable_thinking: false}")
_NO_END = ("no end-of-turn token after the target", _NO_WAY)
_STRIPPED = ("rewrites earlier turns",)

FOREIGN: tuple[Foreign, ...] = (
    Foreign("cohere", "comb", _COHERE),
    Foreign("cohere2", "comb", _COHERE, end=_COHERE_END),
    Foreign("gemma", "comb", _GEMMA, end="<end_of_turn>"),
    Foreign("gemma3", "comb", _GEMMA, end="<end_of_turn>"),
    Foreign("gemma4", "comb", _GEMMA4, end="<turn|>"),
    Foreign("llama3", "comb", _LLAMA),
    Foreign("llama3_2", "comb", _LLAMA),
    Foreign("phi3", "comb", _PHI, end="<|end|>"),
    Foreign("phi3_5", "comb", _PHI, end="<|end|>"),
    Foreign("lfm2", "comb", _CHATML),
    Foreign("qwen2_5", "comb", _CHATML),
    Foreign("qwen3_instruct_2507", "comb", _CHATML, _THINK),
    Foreign("qwen3", "comb", _CHATML, _THINK, header=_EMPTY, in_history=("", "<|im_end|>")),
    Foreign("qwen3", "expanded", _CHATML, _THINK, variables=_OFF, said=_STRIPPED),
    Foreign("gptoss", "comb", _OSS, header=_FINAL, in_history=(_FINAL, "<|end|>")),
    Foreign("qwen3_5_nothink", "expanded", _CHATML, _THINK, said=_STRIPPED),
    Foreign("qwen3_5_think", "refused", _CHATML, _THINK, said=_TELLS_OFF),
    Foreign("qwen3_5_think", "expanded", _CHATML, _THINK, variables=_OFF, said=_STRIPPED),
    Foreign("qwen3_6", "refused", _CHATML, _THINK, said=_TELLS_OFF),
    Foreign("nemotron_3_nano", "refused", _CHATML, _THINK, said=_TELLS_OFF),
    Foreign("nemotron_3_nano", "comb", _CHATML, _THINK, variables=_OFF),
    Foreign("deepseek_r1_distill", "refused", _DEEPSEEK, _DEEPSEEK_PLAIN, said=_OPENS),
    Foreign("deepseekv3", "refused", _DEEPSEEK, _DEEPSEEK_PLAIN, said=_OPENS),
    Foreign("glm4moe", "refused", _GLM, _THINK, said=_NO_END),
    Foreign("idefics3", "refused", _CHATML, said=("another text than the reply", _NO_WAY)),
    Foreign("deepseek_r1_0528", "comb", _DEEPSEEK, _DEEPSEEK_PLAIN),
    Foreign("deepseek_v3_1", "comb", _DEEPSEEK, _DEEPSEEK_PLAIN),
    Foreign("deepseek_v3_1", "comb", _DEEPSEEK, _DEEPSEEK_PLAIN, variables={"thinking": True},
            header="</think>"),
    Foreign("deepseek_v3_2", "expanded", _DEEPSEEK, _DEEPSEEK_PLAIN, said=_STRIPPED),
    Foreign("deepseek_v3_indented", "expanded", _DEEPSEEK, _DEEPSEEK_PLAIN, said=_STRIPPED),
    Foreign("deepseek_v3_again", "expanded", _DEEPSEEK, _DEEPSEEK_PLAIN, said=_STRIPPED),
    Foreign("ernie_4_5", "expanded", ("<|end_of_sentence|>",), said=("ends its prompt in white space",)),
    Foreign("signed", "refused", _CHATML, said=("another text than the reply", _NO_WAY)),
    Foreign("deepseek_coder", "comb", ("<|EOT|>",), end="\n<|EOT|>"),
    Foreign("exaone4", "comb", ("[|endofturn|]",)),
    Foreign("reka", "comb", ("<sep>",), ("<sep>",), header=" ", end="\n\n<sep>"),
    Foreign("apriel_1_5", "comb", _PHI[::-1], end="\n<|end|>"),
    Foreign("command_r7b", "expanded", _COHERE, header="<|START_RESPONSE|>", end=_COHERE_END, said=_STRIPPED),
    Foreign("qwq", "refused", _CHATML, _THINK, said=_OPENS),
    Foreign("qwen3_thinking", "refused", _CHATML, _THINK, said=_OPENS),
    Foreign("minimax_m2", "refused", ("[e~[", "]~b]"), _THINK, said=_OPENS),
    Foreign("glm_4_7", "refused", _GLM, _THINK, said=("'<think>'", _NO_WAY)),
    Foreign("glm_4_7", "refused", _GLM, _THINK, variables=_OFF, said=_NO_END),
    Foreign("nemotron_nano_v2", "refused", ("<SPECIAL_12>", "<SPECIAL_11>"), _THINK,
            said=(*_OPENS, "does not close")),
    Foreign("smollm3", "comb", _CHATML, _THINK),
    Foreign("smollm3", "comb", _CHATML, _THINK, variables=_OFF),
    Foreign("mistral_v3", "comb", ("</s>", "[INST]", "[/INST]"), header=" "),
)  # fmt: skip


def foreign(name: str) -> Foreign:
    """Return the first entry of that name."""
    return next(one for one in FOREIGN if one.name == name)
