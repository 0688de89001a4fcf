"""Marks of reasoning in the generation prompt of a chat template. No torch here."""

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


def closes_reasoning(text: str) -> bool:
    """Whether a generation prompt ends with the end of its reasoning."""
    return _CLOSING.search(text) is not None


def from_mark(text: str) -> str:
    """Return the end of a generation prompt from its first mark of reasoning on; empty without one."""
    found = REASONING.search(text)
    if found is None:
        return ""
    return text[max(0, *(text.rfind(sign, 0, found.start()) for sign in "<[\n")) :]
