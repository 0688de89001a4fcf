"""Finds keys and passwords in settings that are stored, and removes them from messages of servers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

HIDDEN: Final = "[key]"
_LONGEST: Final = 300
# Servers echo headers, and other keys than ours.
_LIKE_A_KEY: Final = re.compile(r"(?i)\bbearer\s+[^\s\"',}\]]+|\bsk-[\w*.\-…]+")
# The prefixes of the large hosts' keys; "sk-SK" is a language.
_BEGINS_A_KEY: Final = re.compile(
    r"(?i:\bbearer\s+)\S{8}|\b(?:sk-|gsk_|hf_|xai-|nvapi-|ghp_|r8_|AIza)(?=[\w\-]*\d)[\w\-]{12}"
)
# Fields without secrets end in "token" and "key" too (eos_token, prompt_cache_key).
_SECRET_FIELD: Final = re.compile(
    r".*(?:apikey|authorization|password|passwd|secret|credentials?|(?:private|secret|access)key"
    r"|(?:api|auth|access|bearer|session|refresh|hf)token)|token|auth|bearer"
)


def key_in(value: object, place: str = "") -> str | None:
    """Return the dotted place of the first text in a value that looks like a key or password, or None.

    Its field has such a name (`api_key`, `authorization`, `token`), or the text begins as keys do.
    """
    if isinstance(value, Mapping):
        items = [(str(name), item) for name, item in value.items()]
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        items = [(str(number), item) for number, item in enumerate(value)]
    else:
        is_key = isinstance(value, str) and _BEGINS_A_KEY.search(value)
        return place if is_key else None
    for name, item in items:
        here = f"{place}.{name}".lstrip(".")
        plain = re.sub(r"[^a-z0-9]", "", name.lower())
        if isinstance(item, str) and item and _SECRET_FIELD.fullmatch(plain):
            return here
        if (inner := key_in(item, here)) is not None:
            return inner
    return None


def public(text: str, key: str = "") -> str:
    """Return a message of a server or library on one line, without keys, and cut where it is long."""
    said = " ".join(text.split())
    if key:
        said = said.replace(key, HIDDEN)
    said = _LIKE_A_KEY.sub(HIDDEN, said)
    return said if len(said) <= _LONGEST else f"{said[:_LONGEST].rstrip()} …"
