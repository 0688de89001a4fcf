"""A word-level tokenizer: every token is a piece of the text that one can read.

`Hello there\\n` is `Hello`, ` there`, `\\n`; special tokens are one token each, so
the tokens of a text, joined, are the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

UNKNOWN = "<unk>"
_PIECES = Regex(r"\n| ?[^\s]+| +")

CHATML = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face"
    "<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
    "'<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}"
    "{{ '<|im_start|>assistant\n' }}{% endif %}"
)
"""The chat template of SmolLM2, with the default system message that it inserts by itself."""
CHATML_SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")


def trl_template(name: str) -> str:
    """Return a chat template that TRL ships in its package."""
    spec = find_spec("trl")
    folder = Path(spec.submodule_search_locations[0]) / "chat_templates"
    return (folder / f"{name}.jinja").read_text(encoding="utf-8")


def word_tokenizer(
    chat_template: str | None,
    special_tokens: Sequence[str],
    texts: Iterable[str],
    *,
    bos_token: str | None = None,
    eos_token: str | None = None,
) -> Any:
    """Return a tokenizer that knows the words of `texts` (in front of a space and without)."""
    words = dict.fromkeys(word for text in texts for word in text.split())
    vocabulary = dict.fromkeys([UNKNOWN, "\n", *(f for w in words for f in (w, f" {w}"))])
    tokenizer = Tokenizer(
        models.WordLevel({word: i for i, word in enumerate(vocabulary)}, unk_token=UNKNOWN)
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Split(_PIECES, "isolated")
    tokenizer.decoder = decoders.Fuse()
    named = {"bos_token": bos_token, "eos_token": eos_token}
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token=UNKNOWN,
        additional_special_tokens=list(special_tokens),
        chat_template=chat_template,
        **{name: token for name, token in named.items() if token},
    )
