"""Chat templates of other projects, and the outcome of a run under each.

Those of TRL are the files of its installed package, byte for byte those of the models that its
README names. Those of `tests/support/chat_templates` were written for these tests: each does in a
few lines what is special in the model's own template, and names the model in its first line.
Their tokenizer is trained in the process, with the template's control tokens added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

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
    """Its control tokens; those of `plain` besides are marked as not special."""
    eos: str
    closing: str = ""
    """What a target ends with."""
    header: str = ""
    """What a target begins with."""
    said: tuple[str, ...] = ()
    """Facts in the line that refuses the run or names the fall-back."""
    plain: tuple[str, ...] = ()
    variables: Mapping[str, str | bool] = field(default_factory=dict)
    in_history: tuple[str, str] | None = None
    """What a reply of the history begins and ends with, where it is not as a target does."""
    is_trl: bool = False

    @property
    def id(self) -> str:
        """The name, with the variables that are set."""
        return "-".join([self.name, *(f"{k}={v}" for k, v in self.variables.items())])

    def template(self) -> str:
        """Return the template's text."""
        if self.is_trl:
            return trl_template(self.name)
        return (_FOLDER / f"{self.name}.jinja").read_text(encoding="utf-8")

    def tokenizer(self, without: Sequence[str] = ()) -> Any:
        """Return a tokenizer with the template, and all of its control tokens but some."""
        return foreign_tokenizer(
            self.template(),
            [mark for mark in self.marks if mark not in without],
            [mark for mark in self.plain if mark not in without],
            eos=self.eos,
        )


def foreign_tokenizer(
    template: str, marks: Sequence[str], plain: Sequence[str] = (), *, eos: str
) -> Any:
    """Return a byte-level BPE tokenizer with added tokens, special ones and others."""
    tokenizer = Tokenizer.from_str(_trained())
    tokenizer.add_tokens([AddedToken(t, normalized=False, special=False) for t in plain])
    special = dict.fromkeys(("<s>", "<pad>", *marks))
    tokenizer.add_special_tokens([AddedToken(t, normalized=False, special=True) for t in special])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token=eos,
        pad_token="<pad>",
        chat_template=template,
    )


@cache
def _trained() -> str:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(_SPLIT, "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_CORPUS, trainer)
    return str(tokenizer.to_str())


_CHATML = ("<|im_start|>", "<|im_end|>", "<|endoftext|>")
_THINK = ("<think>", "</think>")
_LLAMA = ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")
_GEMMA = ("<start_of_turn>", "<end_of_turn>", "<eos>")
_GEMMA4 = ("<|turn>", "<turn|>", "<|channel>", "<channel|>", "<|think|>", "<eos>")
_COHERE = (
    "<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>", "<|SYSTEM_TOKEN|>", "<|USER_TOKEN|>",
    "<|CHATBOT_TOKEN|>", "<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_THINKING|>",
    "<|END_THINKING|>",
)  # fmt: skip
_COHERE_END = "<|END_RESPONSE|><|END_OF_TURN_TOKEN|>"
_DEEPSEEK = ("<｜end▁of▁sentence｜>",)
_DEEPSEEK_PLAIN = ("<｜User｜>", "<｜Assistant｜>", *_THINK)
_PHI = ("<|system|>", "<|user|>", "<|assistant|>", "<|end|>", "<|endoftext|>")
_OSS = ("<|start|>", "<|message|>", "<|channel|>", "<|end|>", "<|return|>", "<|call|>")
_GLM = ("[gMASK]", "<sop>", "<|system|>", "<|user|>", "<|assistant|>", "<|endoftext|>")
_OPENS = "opens reasoning ('<think>\\n')"
_TELLS_OFF = "chat_template_kwargs: {enable_thinking: false}"
_NO_WAY = "none of its variables helps"
_OFF = {"enable_thinking": False}
_END = "no end-of-turn token after the target"
_IM = "<|im_end|>"
_STRIPPED = "rewrites earlier turns"


def _trl(name: str, outcome: Outcome, marks: Sequence[str], eos: str, **more: Any) -> Foreign:
    return Foreign(name, outcome, tuple(marks), eos, is_trl=True, **more)


def _own(name: str, outcome: Outcome, marks: Sequence[str], eos: str, **more: Any) -> Foreign:
    return Foreign(name, outcome, tuple(marks), eos, **more)


FOREIGN: tuple[Foreign, ...] = (
    _trl("cohere", "comb", _COHERE, "<|END_OF_TURN_TOKEN|>", closing="<|END_OF_TURN_TOKEN|>"),
    _trl("cohere2", "comb", _COHERE, "<|END_OF_TURN_TOKEN|>", closing=_COHERE_END),
    _trl("gemma", "comb", _GEMMA, "<eos>", closing="<end_of_turn>"),
    _trl("gemma3", "comb", _GEMMA, "<eos>", closing="<end_of_turn>"),
    _trl("gemma4", "comb", _GEMMA4, "<eos>", closing="<turn|>"),
    _trl("llama3", "comb", _LLAMA, "<|eot_id|>", closing="<|eot_id|>"),
    _trl("llama3_2", "comb", _LLAMA, "<|eot_id|>", closing="<|eot_id|>"),
    _trl("phi3", "comb", _PHI, "<|endoftext|>", closing="<|end|>"),
    _trl("phi3_5", "comb", _PHI, "<|endoftext|>", closing="<|end|>"),
    _trl("lfm2", "comb", _CHATML, _IM, closing=_IM),
    _trl("qwen2_5", "comb", _CHATML, _IM, closing=_IM),
    _trl("qwen3_instruct_2507", "comb", _CHATML, _IM, plain=_THINK, closing=_IM),
    _trl(
        "qwen3", "comb", _CHATML, _IM, plain=_THINK, header="<think>\n\n</think>\n\n", closing=_IM,
        in_history=("", _IM),
    ),
    _trl(
        "qwen3", "expanded", _CHATML, _IM, plain=_THINK, variables=_OFF, closing=_IM,
        said=(_STRIPPED,),
    ),
    _trl(
        "gptoss", "comb", _OSS, "<|return|>", header="<|channel|>final<|message|>",
        closing="<|return|>", in_history=("<|channel|>final<|message|>", "<|end|>"),
    ),
    _trl("qwen3_5_nothink", "expanded", _CHATML, _IM, plain=_THINK, closing=_IM, said=(_STRIPPED,)),
    _trl("qwen3_5_think", "refused", _CHATML, _IM, plain=_THINK, said=(_OPENS, _TELLS_OFF)),
    _trl(
        "qwen3_5_think", "expanded", _CHATML, _IM, plain=_THINK, variables=_OFF, closing=_IM,
        said=(_STRIPPED,),
    ),
    _trl("qwen3_6", "refused", _CHATML, _IM, plain=_THINK, said=(_OPENS, _TELLS_OFF)),
    _trl("nemotron_3_nano", "refused", _CHATML, _IM, plain=_THINK, said=(_OPENS, _TELLS_OFF)),
    _trl("nemotron_3_nano", "comb", _CHATML, _IM, plain=_THINK, variables=_OFF, closing=_IM),
    _trl(
        "deepseek_r1_distill", "refused", _DEEPSEEK, _DEEPSEEK[0], plain=_DEEPSEEK_PLAIN,
        said=(_OPENS, _NO_WAY),
    ),
    _trl(
        "deepseekv3", "refused", _DEEPSEEK, _DEEPSEEK[0], plain=_DEEPSEEK_PLAIN,
        said=(_OPENS, _NO_WAY),
    ),
    _trl("glm4moe", "refused", _GLM, "<|endoftext|>", plain=_THINK, said=(_END, _NO_WAY)),
    _trl("idefics3", "refused", _CHATML, _IM, said=("another text than the reply", _NO_WAY)),
    _own(
        "deepseek_r1_0528", "comb", _DEEPSEEK, _DEEPSEEK[0], plain=_DEEPSEEK_PLAIN,
        closing=_DEEPSEEK[0],
    ),
    _own(
        "deepseek_v3_1", "comb", _DEEPSEEK, _DEEPSEEK[0], plain=_DEEPSEEK_PLAIN,
        closing=_DEEPSEEK[0],
    ),
    _own(
        "deepseek_v3_1", "comb", _DEEPSEEK, _DEEPSEEK[0], plain=_DEEPSEEK_PLAIN,
        variables={"thinking": True}, header="</think>", closing=_DEEPSEEK[0],
    ),
    _own(
        "deepseek_v3_2", "expanded", _DEEPSEEK, _DEEPSEEK[0], plain=_DEEPSEEK_PLAIN,
        closing=_DEEPSEEK[0], said=(_STRIPPED,),
    ),
    _own("deepseek_coder", "comb", ("<|EOT|>",), "<|EOT|>", closing="\n<|EOT|>"),
    _own("exaone4", "comb", ("[|endofturn|]",), "[|endofturn|]", closing="[|endofturn|]"),
    _own("reka", "comb", (), "<sep>", plain=("<sep>",), header=" ", closing="\n\n<sep>"),
    _own("apriel_1_5", "comb", _PHI, "<|end|>", closing="\n<|end|>"),
    _own(
        "command_r7b", "expanded", _COHERE, "<|END_OF_TURN_TOKEN|>", header="<|START_RESPONSE|>",
        closing=_COHERE_END, said=(_STRIPPED,),
    ),
    _own("qwq", "refused", _CHATML, _IM, plain=_THINK, said=(_OPENS, _NO_WAY)),
    _own("qwen3_thinking", "refused", _CHATML, _IM, plain=_THINK, said=(_OPENS, _NO_WAY)),
    _own(
        "minimax_m2", "refused", ("]~b]", "[e~["), "[e~[", plain=_THINK, said=(_OPENS, _NO_WAY)
    ),
    _own("glm_4_7", "refused", _GLM, "<|endoftext|>", plain=_THINK, said=("'<think>'", _NO_WAY)),
    _own(
        "glm_4_7", "refused", _GLM, "<|endoftext|>", plain=_THINK, variables=_OFF,
        said=(_END, _NO_WAY),
    ),
    _own(
        "nemotron_nano_v2", "refused", ("<SPECIAL_11>", "<SPECIAL_12>"), "<SPECIAL_12>",
        plain=_THINK, said=(_OPENS, "does not close", _NO_WAY),
    ),
    _own("smollm3", "comb", _CHATML, _IM, plain=_THINK, closing=_IM),
    _own("smollm3", "comb", _CHATML, _IM, plain=_THINK, variables=_OFF, closing=_IM),
    _own("mistral_v3", "comb", ("[INST]", "[/INST]", "</s>"), "</s>", header=" ", closing="</s>"),
)  # fmt: skip


def foreign(name: str) -> Foreign:
    """Return the first entry of that name."""
    return next(one for one in FOREIGN if one.name == name)
