"""The key of a server: from the environment alone, and in no message."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Final

from gatt.errors import ConfigError

DEFAULT_KEY_NAME: Final = "OPENAI_API_KEY"
HIDDEN: Final = "[key]"
_LONGEST: Final = 300
# Servers echo headers, and keys that are not ours but look like one.
_LIKE_A_KEY: Final = re.compile(r"(?i)\bbearer\s+[^\s\"',}\]]+|\bsk-[\w*.\-…]+")
# What the large hosts put in front of their keys; "sk-SK" is a language.
_BEGINS_A_KEY: Final = re.compile(
    r"(?i:\bbearer\s+)\S{8}|\b(?:sk-|gsk_|hf_|xai-|nvapi-|ghp_|r8_|AIza)(?=[\w\-]*\d)[\w\-]{12}"
)
_NAME: Final = re.compile(r"[A-Z_][A-Z0-9_]*")
_LONGEST_WORD: Final = 15
"""Letters of a word with digits in it within a name; keys of capitals are longer."""
# Fields that hold no secret end in "token" and "key" too (eos_token, prompt_cache_key).
_SECRET_FIELD: Final = re.compile(
    r".*(?:apikey|authorization|password|passwd|secret|credentials?|(?:private|secret|access)key"
    r"|(?:api|auth|access|bearer|session|refresh|hf)token)|token|auth|bearer"
)


def is_key_name(text: str) -> bool:
    """Whether a text is the name of an environment variable, and not the key that belongs into it.

    Names are written in capitals, whose words are words: keys have small letters,
    other signs, or one long run of capitals and digits.
    """
    if not _NAME.fullmatch(text):
        return False
    words = text.split("_")
    return not any(len(w) > _LONGEST_WORD and re.search(r"\d", w) for w in words)


def key_in(value: object, place: str = "") -> str | None:
    """Return the dotted place of what looks like a key or password in a value, or None.

    Either it is a text whose field is called so (`api_key`, `authorization`,
    `token`), or it begins as keys do. What a JSON schema says of a field is no text.
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
        if (found := key_in(item, here)) is not None:
            return found
    return None


def read_key(name: str, *, is_needed: bool = False) -> str:
    """Return the key in an environment variable; empty where there is none.

    Args:
        name: of the variable.
        is_needed: whether somebody named it, so that there must be a key.

    Raises:
        ConfigError: it holds what no header can carry, or nothing though it must.
    """
    key = os.environ.get(name, "").strip()
    if is_needed and not key:
        raise ConfigError(
            f"environment variable {name}, which server.api_key_env names, is not set or empty: "
            "expected the key of the server: set it, or leave api_key_env out for a server without keys"
        )
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ConfigError(
            f"environment variable {name}: expected a key of plain characters, found others: set it "
            "again without quotes, spaces or line breaks"
        )
    return key


def public(text: str, key: str) -> str:
    """Return what a server or library said: on one line, without keys, cut where it is long."""
    said = " ".join(text.split())
    if key:
        said = said.replace(key, HIDDEN)
    said = _LIKE_A_KEY.sub(HIDDEN, said)
    return said if len(said) <= _LONGEST else f"{said[:_LONGEST].rstrip()} …"
