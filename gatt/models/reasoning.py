"""Reasoning of a model: its marks in a prompt, and its removal from a reply. No torch here.

Servers with a reasoning parser remove it themselves; other servers and local models leave it in the text.
Users, verifiers, histories and targets get the reply alone.
"""

from __future__ import annotations

import re
from typing import Final

REASONING: Final = re.compile(r"think|thought|reason", re.IGNORECASE)
"""Part of the marks of all templates, and of the names of their variables."""
_CLOSING: Final = re.compile(
    r"(?:</[^<>]*(?:think|thought|reason)[^<>]*>|<\|END_THINKING\|>|\[/THINK\]|<channel\|>)\s*\Z",
    re.IGNORECASE,
)
"""The marks of DeepSeek, Qwen, GLM and most others; of Cohere; of Mistral; of Gemma 4."""
_OPEN: Final = "<think>"
_CLOSE: Final = "</think>"
"""The marks of Qwen 3, DeepSeek-R1, GLM, SmolLM3 and most others in a reply."""


def closes_reasoning(text: str) -> bool:
    """Whether a generation prompt ends with the end of its reasoning."""
    return _CLOSING.search(text) is not None


def opens_reasoning(prompt: str) -> bool:
    """Whether a prompt ends within reasoning, as those of DeepSeek-R1 do."""
    return prompt.rfind(_OPEN) > prompt.rfind(_CLOSE)


def from_mark(text: str) -> str:
    """Return the end of a generation prompt from its first mark of reasoning on; empty without one."""
    mark = REASONING.search(text)
    if mark is None:
        return ""
    return text[max(0, *(text.rfind(sign, 0, mark.start()) for sign in "<[\n")) :]


def without_reasoning(text: str, *, is_cut: bool, is_opened: bool = False) -> str:
    """Return the reply without its reasoning; empty where the reply was cut within the reasoning.

    `is_cut` says whether a limit ended the text, `is_opened` whether the prompt opens the reasoning, so that
    the text has no opening mark.
    """
    before, mark, reply = text.partition(_CLOSE)
    begins_with_it = before.lstrip().startswith(_OPEN)
    # Without an opening mark the prompt has opened it; these models close it on a line of its own.
    ends_it = is_opened or before.endswith("\n")
    if mark and (begins_with_it or (ends_it and _OPEN not in before)):
        return reply.strip()
    is_unfinished = begins_with_it or (is_opened and is_cut)
    return "" if is_unfinished and not mark else text
