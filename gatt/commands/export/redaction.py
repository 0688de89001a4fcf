"""What is private in texts shown to others: where files lie, and what machines are called. No torch here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final
from urllib.parse import urlsplit

_ROOTS: Final = (
    "app|data|dbfs|dev|etc|gpfs|home|kaggle|lustre|media|mnt|net|nfs|opt|private|root|run|scratch|shared"
    "|srv|storage|tmp|usr|Users|var|Volumes|work|workdir|workspace"
)
_PART: Final = r"[^\s\"'`<>|,;:()\[\]{}&*?\\]+"
_URL: Final = r"(?i:https?|ftp|s3|gs|hf)://[^\s\"'`<>,)\]]*"
_FILE: Final = r"(?i:file)://[^\s\"'`<>,;)\]}&]*"
# A whole path of any beginning, where nothing else stands with a slash: no end tag, `and/or`, `1/2` or image.
_STEP: Final = r"[^\s\"'`<>|,;:()\[\]{}&*?\\/]+"
_ANY_PATH: Final = re.compile(
    rf"(?P<url>{_URL})|(?P<file>{_FILE})"
    rf"|(?:(?<=[\s=\"'`(\[{{>;:|])|(?<=,)(?<!;base64,)|^)/{_STEP}(?:/{_STEP})+/?"
)
# Behind a letter, a dot or another slash it goes on with a URL, a hub id or a relative path.
_PATH: Final = re.compile(rf"(?<![\w./~@%+-])(?:~|/(?:{_ROOTS}))(?:/{_PART})+/?")
_WINDOWS: Final = re.compile(r"(?<![\w])[A-Za-z]:\\(?:[^\s\"'`<>|\\]+\\)*([^\s\"'`<>|\\]+)")

# A server by the name that it has inside: one word, an address, or a domain that no one else sees.
_SERVER: Final = re.compile(
    r"(?i)\b(https?://)(?:[\w-]+|\d+(?:\.\d+){3}|[\w.-]+\.(?:local|internal|intern|lan|corp))"
    r"(?=[:/\s\"'`<>,\])}]|$)(?::\d+)?"
)


Private = Path | str
"""A folder or file of this machine, or the name of a server with its port."""


def public_text(text: str, *private: Private) -> str:
    """Return a text whose absolute local paths are cut down to their last part.

    A path is one of two parts or more behind a space, a quote, a bracket, `=` or
    the like; or one known by the name of its first folder (`/home/…`, `~/…`) or by
    its beginning. Addresses of machines that only a local network knows become
    `http://server`, and so do those that are named.

    Args:
        text: of a card, a page or a configuration.
        private: further folders, as they are written in paths below them, and servers; `private_in`
            finds those of a configuration.
    """
    paths = {str(p) for p in private if isinstance(p, Path) and p.is_absolute()}
    for folder in sorted(paths - {"/"}, key=len, reverse=True):
        # `<` begins an end tag.
        pattern = rf"(?<![\w./~<-]){re.escape(folder)}(?![\w-])(?:/{_PART})*"
        text = re.sub(pattern, lambda found: Path(found.group()).name, text)
    for server in sorted({p for p in private if isinstance(p, str)}, key=len, reverse=True):
        text = re.sub(rf"(?i)(?<![\w.@-]){re.escape(server)}(?![\w-]|\.\w)", "server", text)
    text = _SERVER.sub(r"\1server", text)
    text = _WINDOWS.sub(lambda found: found.group(1), text)
    text = _ANY_PATH.sub(lambda found: found["url"] or _last(found.group()), text)
    return _PATH.sub(lambda found: _last(found.group()), text)


def private_in(value: Any) -> tuple[Private, ...]:
    """Return what `public_text` is to cut of a run wherever it stands.

    Args:
        value: configuration or provenance of the run, as JSON has it: texts in it that are absolute
            paths as a whole, and the servers under `urls`.
    """
    return tuple(dict.fromkeys(_private_in(value)))


def _private_in(value: Any, key: str = "") -> Iterator[Private]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _private_in(item, str(name))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _private_in(item, key)
    elif not isinstance(value, str):
        return
    elif key == "urls":
        try:
            place = urlsplit(value)
            names = (place.netloc, place.hostname or "")
        except ValueError:
            return
        # One word is cut where it stands in an address; alone it may be any word.
        yield from (name for name in names if "." in name or ":" in name)
    elif _is_path(value):
        yield Path(value)


def public_value(value: Any, *private: Private) -> Any:
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


def _is_path(text: str) -> bool:
    path = PurePosixPath(text)
    return path.is_absolute() and len(path.parts) > 2 and not re.search(r"[\s<>\"]", text)


def _last(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]
