"""What is private in texts shown to others: where files lie, and what machines are called. No torch here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

_ROOTS: Final = (
    "app|data|dbfs|dev|etc|gpfs|home|kaggle|lustre|media|mnt|net|nfs|opt|private|root|run|scratch|shared"
    "|srv|storage|tmp|usr|Users|var|Volumes|work|workdir|workspace"
)
_PART: Final = r"[^\s\"'`<>|,;:()\[\]{}&*?\\]+"
# Behind a letter, a dot or another slash it goes on with a URL, a hub id or a relative path.
_PATH: Final = re.compile(rf"(?<![\w./~@%+-])(?:~|/(?:{_ROOTS}))(?:/{_PART})+/?")
_WINDOWS: Final = re.compile(r"(?<![\w])[A-Za-z]:\\(?:[^\s\"'`<>|\\]+\\)*([^\s\"'`<>|\\]+)")

# A server by the name that it has inside: one word, an address, or a domain that no one else sees.
_SERVER: Final = re.compile(
    r"(?i)\b(https?://)(?:[\w-]+|\d+(?:\.\d+){3}|[\w.-]+\.(?:local|internal|intern|lan|corp))"
    r"(?=[:/\s\"'`<>,\])}]|$)(?::\d+)?"
)


def public_text(text: str, *private: Path) -> str:
    """Return a text whose absolute local paths are cut down to their last part.

    A path is known by the name of its first folder (`/home/…`, `/mnt/…`, `~/…`)
    or by its beginning. Addresses of machines that only a local network knows
    become `http://server`.

    Args:
        text: of a card, a page or a configuration.
        private: further folders, as they are written in paths below them.
    """
    for folder in sorted({str(p) for p in private if p.is_absolute()}, key=len, reverse=True):
        if folder != "/":
            pattern = rf"(?<![\w./~-]){re.escape(folder)}(?![\w-])(?:/{_PART})*"
            text = re.sub(pattern, lambda found: Path(found.group()).name, text)
    text = _SERVER.sub(r"\1server", text)
    text = _WINDOWS.sub(lambda found: found.group(1), text)
    return _PATH.sub(lambda found: _last(found.group()), text)


def public_value(value: Any, *private: Path) -> Any:
    """Return a JSON value whose texts are public: a text that is a path as a whole keeps its last part."""
    if isinstance(value, Mapping):
        return {key: public_value(item, *private) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [public_value(item, *private) for item in value]
    if not isinstance(value, str):
        return value
    if value.startswith(("/", "~/")) and "\n" not in value and " " not in value:
        return Path(value).name
    return public_text(value, *private)


def _last(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]
