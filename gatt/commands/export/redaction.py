"""Local paths and server names are cut out of texts that others see. No torch here."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

_STEP: Final = r"[^\s\"'`<>|,;:()\[\]{}&*?\\/]+"
_URL: Final = r"(?i:https?|ftp|s3|gs|hf)://[^\s\"'`<>,)\]]*"
_FILE: Final = r"(?i:file)://[^\s\"'`<>,;)\]}&]*"
# A path begins behind no letter, dot or slash: a URL, a hub id or a relative path would go on there.
# It has two parts, or one behind `~`: `/` alone stands in end tags, `and/or` and `1/2`.
_PATH: Final = re.compile(
    rf"(?P<url>{_URL})|(?P<file>{_FILE})"
    rf"|(?:(?<![\w./~@%+,-])|(?<=,)(?<!;base64,))(?:/{_STEP}|~)(?:/{_STEP})+/?"
)
# A server of a local network: one word, an address, or a domain that only this network knows.
_SERVER: Final = re.compile(
    r"(?i)\b(https?://)(?:[\w-]+|\d+(?:\.\d+){3}|[\w.-]+\.(?:local|internal|intern|lan|corp))"
    r"(?=[:/\s\"'`<>,\])}]|$)(?::\d+)?"
)

Private = Path | str
"""A folder or file of this machine, or the name of a server with its port."""


def public_text(text: str, *private: Private) -> str:
    """Return a text whose absolute local paths are cut to their last part, and local servers `http://server`.

    The folders and servers of `private_in` are cut wherever they stand.
    """
    paths = {str(p) for p in private if isinstance(p, Path) and p.is_absolute()}
    for folder in sorted(paths - {"/"}, key=len, reverse=True):
        # `<` begins an end tag.
        pattern = rf"(?<![\w./~<-]){re.escape(folder)}(?![\w-])(?:/{_STEP})*/?"
        text = re.sub(pattern, _last_part, text)
    for server in sorted({p for p in private if isinstance(p, str)}, key=len, reverse=True):
        text = re.sub(rf"(?i)(?<![\w.@-]){re.escape(server)}(?![\w-]|\.\w)", "server", text)
    text = _SERVER.sub(r"\1server", text)
    return _PATH.sub(lambda match: match["url"] or _last_part(match), text)


def private_in(value: Any, key: str = "") -> Iterator[Private]:
    """Yield the absolute paths of a configuration, and its servers, which stand under the key `urls`."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from private_in(item, str(name))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from private_in(item, key)
    elif not isinstance(value, str):
        return
    elif key == "urls":
        with contextlib.suppress(ValueError):
            place = urlsplit(value)
            # One word may be any word outside an address.
            yield from (n for n in (place.netloc, place.hostname or "") if "." in n or ":" in n)
    elif not re.search(r"[\s<>\"]", value):
        path = Path(value)
        if path.is_absolute() and len(path.parts) > 2:
            yield path


def public_value(value: Any, *private: Private) -> Any:
    """Return a JSON value whose texts are public; of a text that is a path, the last part."""
    if isinstance(value, Mapping):
        return {key: public_value(item, *private) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [public_value(item, *private) for item in value]
    if not isinstance(value, str):
        return value
    if value.startswith(("/", "~/")) and not re.search(r"[\n ]", value):
        return Path(value).name
    return public_text(value, *private)


def _last_part(match: re.Match[str]) -> str:
    return match[0].rstrip("/").rpartition("/")[2]
