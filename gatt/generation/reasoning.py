"""Removes the reasoning of a model from its reply.

Servers with a reasoning parser do that themselves; other servers and local models leave it in the text.
Users, verifiers, histories and targets get the reply alone.
"""

from __future__ import annotations

from typing import Final

from gatt.data.dialogue import Message
from gatt.models.chat_template import Tokenizer, render

_OPEN: Final = "<think>"
_CLOSE: Final = "</think>"
"""The marks of Qwen 3, DeepSeek-R1, GLM, SmolLM3 and most others."""


def without_reasoning(text: str, *, is_cut: bool, is_opened: bool = False) -> str:
    """Return the reply without its reasoning; empty where the reply was cut within the reasoning.

    Args:
        text: the decoded reply.
        is_cut: whether a limit ended it.
        is_opened: whether the prompt opens the reasoning, so that the text has no opening mark.
    """
    before, mark, reply = text.partition(_CLOSE)
    begins_with_it = before.lstrip().startswith(_OPEN)
    # Without an opening mark the prompt has opened it; these models close it on a line of its own.
    ends_it = is_opened or before.endswith("\n")
    if mark and (begins_with_it or (ends_it and _OPEN not in before)):
        return reply.strip()
    is_unfinished = begins_with_it or (is_opened and is_cut)
    return "" if is_unfinished and not mark else text


def opens_reasoning(tokenizer: Tokenizer) -> bool:
    """Whether prompts of the chat template end within reasoning, as those of DeepSeek-R1 do.

    Raises:
        TemplateError: no chat template.
    """
    prompt = render(tokenizer, (Message("user", "a"),), add_generation_prompt=True)
    return prompt.rfind(_OPEN) > prompt.rfind(_CLOSE)
