"""The reply behind the reasoning of a model that thinks first.

Servers with a reasoning parser take it out themselves; local models and other
servers leave it in the text. What a user reads, a verifier judges, the history
holds and a target teaches is the reply alone.
"""

from __future__ import annotations

from typing import Final

from gatt.data.dialogue import Message
from gatt.models.chat_template import Tokenizer, render

_OPEN: Final = "<think>"
_CLOSE: Final = "</think>"
"""The marks of Qwen 3, DeepSeek-R1, GLM, SmolLM3 and most others."""


def without_reasoning(text: str, *, is_cut: bool, is_opened: bool = False) -> str:
    """Return what a model says to the user; nothing where it was cut while it reasoned.

    Args:
        text: as decoded.
        is_cut: it did not end by itself.
        is_opened: the prompt opens the reasoning, so the text holds no mark of its beginning.
    """
    before, mark, reply = text.partition(_CLOSE)
    begins_with_it = before.lstrip().startswith(_OPEN)
    # Without its beginning it was opened by the prompt: on a line of its own, as these models end it.
    ends_it = is_opened or before.endswith("\n")
    if mark and (begins_with_it or (ends_it and _OPEN not in before)):
        return reply.strip()
    is_unfinished = begins_with_it or (is_opened and is_cut)
    return "" if is_unfinished and not mark else text


def opens_reasoning(tokenizer: Tokenizer) -> bool:
    """Whether the chat template's prompts end within reasoning, as DeepSeek-R1's do.

    Raises:
        TemplateError: no chat template.
    """
    prompt = render(tokenizer, (Message("user", "a"),), add_generation_prompt=True)
    return prompt.rfind(_OPEN) > prompt.rfind(_CLOSE)
