"""The key of a server: from the environment alone, and in no message."""

from __future__ import annotations

import os
import re
from typing import Final

from gatt.errors import ConfigError

HIDDEN: Final = "[key]"
_LONGEST: Final = 300
# Servers echo headers, and keys that are not ours but look like one.
_LIKE_A_KEY: Final = re.compile(r"(?i)\bbearer\s+[^\s\"',}\]]+|\bsk-[\w*.\-…]+")


def read_key(name: str) -> str:
    """Return the key in an environment variable; empty where there is none.

    Raises:
        ConfigError: it holds what no header can carry.
    """
    key = os.environ.get(name, "").strip()
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
