"""Human two-person chats: the data of the wheel `chitchat-dataset` (MIT)."""

from __future__ import annotations

import html
import importlib.util
import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gatt.data.dialogue import Dialogue, Message, Role
from gatt.errors import ConfigError, DataError
from gatt.runs.input_file import read_json
from gatt.sources.base import SourceReport, SourceRequest
from gatt.sources.screening import problem_of

PACKAGE = "chitchat_dataset"


def read(
    request: SourceRequest,  # noqa: ARG001 - part of the readers' contract
    report: SourceReport,
    *,
    path: str | Path | None = None,
) -> Iterator[Dialogue]:
    """Yield the chats between exactly two people that pass the screen.

    A chat is screened as a whole, also what a later cut takes away: which
    chats there are must not depend on `max_turns`.

    Args:
        request: not used here; lengths are `select`'s.
        report: gets one reason for every chat that is not yielded.
        path: a file of the same form; None is the installed package's.

    Raises:
        ConfigError: the package is not installed.
        DataError: the file cannot be read or has another form.
    """
    file = Path(path) if path is not None else dataset_path()
    for key, chat in _chats(file).items():
        report.num_read += 1
        try:
            runs = merge(chat)
        except (KeyError, TypeError, AttributeError):
            raise DataError(
                f"{file}: chat {key!r}: expected 'messages': a list of lists of "
                "objects with 'sender' and 'text'"
            ) from None
        if len({sender for sender, _ in runs}) != 2:
            report.dropped["not two speakers"] += 1
            continue
        problem = problem_of([text for _, text in runs])
        if problem is not None:
            report.dropped[problem] += 1
            continue
        roles: tuple[Role, Role] = ("user", "assistant")
        messages = tuple(Message(roles[i % 2], text) for i, (_, text) in enumerate(runs))
        yield Dialogue(f"chitchat-{key}", messages)


def dataset_path() -> Path:
    """Return where the installed package keeps its chats.

    Raises:
        ConfigError: it is not installed.
    """
    # Found, not imported: importing it parses the whole file for another purpose.
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ConfigError(
            "source 'chitchat': the package chitchat-dataset is not installed: "
            "pip install chitchat-dataset, or use another source"
        )
    return Path(spec.origin).with_name("dataset.json")


def merge(chat: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return `(sender, text)` runs: neighbouring messages of one sender become one.

    A new line keeps the border between two messages; a full stop put there
    would be text that nobody wrote.
    """
    runs: list[tuple[str, str]] = []
    for group in chat["messages"]:
        for message in group:
            text, sender = normalise(message["text"]), message["sender"]
            if not text:
                continue
            if runs and runs[-1][0] == sender:
                runs[-1] = (sender, f"{runs[-1][1]}\n{text}")
            else:
                runs.append((sender, text))
    return runs


def normalise(text: str) -> str:
    """Return one message without entities, tags, emoji shortcodes and odd white space."""
    text = unicodedata.normalize("NFC", html.unescape(text))
    text = re.sub(r"</?[a-z]+\s*/?>|:[a-z]+(?:_[a-z]+)*:", " ", text)
    text = re.sub(r"(?m)^\s*>+", " ", text)
    if text.isascii():
        return " ".join(text.split())
    text = "".join(" " if unicodedata.category(c) in {"Cc", "Cf", "Zl", "Zp"} else c for c in text)
    return " ".join(text.split())


def _chats(file: Path) -> dict[str, Any]:
    try:
        raw = read_json(file)
    except OSError as error:
        raise DataError(f"{file}: cannot read chats: {error.strerror}") from None
    except ValueError as error:
        raise DataError(f"{file}: broken JSON ({error})") from None
    if not isinstance(raw, dict):
        raise DataError(f"{file}: found {type(raw).__name__}: expected an object, chat id -> chat")
    return raw
