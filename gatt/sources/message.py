"""Speaker and text of one message, in the forms in which people store it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from gatt.errors import DataError
from gatt.models.reasoning import without_reasoning
from gatt.sources.reasons import (
    MEDIA,
    NO_TEXT,
    NULL_TWIN,
    PARTS_JOINED,
    SPEAKER_RENAMED,
    THINKING_REMOVED,
    TOOLS,
    UNKNOWN_FORM,
    UNKNOWN_SPEAKER,
)

SPEAKERS: Final[Mapping[str, str]] = {
    name: role
    for role, names in {
        "user": "user human prompter customer client usr",
        "assistant": "assistant gpt chatgpt gpt4 gpt-4 model bot ai chatbot agent claude bard bing",
        "system": "system developer",
        "tool": "tool tools function function_call function-call function_response function-response "
        "observation ipython tool_call tool-call tool_calls tool_response tool-response tool_result",
    }.items()
    for name in names.split()
}
"""Name of a speaker in lower case -> its role; `tool` is a speaker that no dialogue here has."""
ROLE_KEYS: Final = ("role", "from", "speaker", "sender", "author")
TEXT_KEYS: Final = ("content", "value", "text", "message", "utterance")
_PLAIN_FORMS: Final = (("role", "content"), ("from", "value"))
PAIR_KEYS: Final[Mapping[str, str]] = {
    "prompt": "user", "input": "user", "question": "user", "query": "user", "instruction": "user",
    "response": "assistant", "output": "assistant", "answer": "assistant", "completion": "assistant",
    "reply": "assistant",
}  # fmt: skip
"""Field that holds one side of an exchange -> the role of that side."""
_CALL_KEYS: Final = ("tool_calls", "function_call", "tool_call_id")
_TEXT_PARTS: Final = ("", "text", "input_text", "output_text", "refusal")
_THINKING: Final = ("thinking", "redacted_thinking", "reasoning", "summary_text", "reasoning_text")
_MEDIA_KEYS: Final = ("image", "image_url", "video", "video_url", "audio", "input_audio", "file")
_NOTHING: Final[tuple[object, ...]] = (None, "", [], {}, "[]", "{}", "null")
MEDIA_FIELDS: Final = ("image", "images", "video", "videos", "audio", "audios")

Changes = dict[str, str]
"""Reason -> the first place in a row where it was the reason of a change, and what was there."""


class LostRowError(DataError):
    """A row of which no dialogue is made."""

    def __init__(self, reason: str, detail: str) -> None:
        """Keep the reason, of `gatt.sources.reasons`, and what was found."""
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason


def spoken(item: object, where: str, changes: Changes) -> Iterator[tuple[str, str]]:
    """Yield role and text of a message; of both sides, for an object of a prompt and a response.

    It is an object with a speaker (one of `ROLE_KEYS`) and a text (one of `TEXT_KEYS`), or with a field for
    each speaker, of `PAIR_KEYS` or named after the speaker. The role is `user`, `assistant` or `system`; the
    text may be blank.

    Raises:
        LostRowError: see `gatt.sources.reasons`; also for a call of a tool.
    """
    if not isinstance(item, Mapping):
        raise LostRowError(UNKNOWN_FORM, f"{where}: found {type(item).__name__}")
    # Nearly every message of a large file; the rest of this function takes five times as long.
    if (keys := tuple(item)) in _PLAIN_FORMS and isinstance(text := item[keys[1]], str):
        role = SPEAKERS.get(name) if isinstance(name := item[keys[0]], str) else None
        if role is not None and role != "tool":
            if name != role and SPEAKER_RENAMED not in changes:
                changes[SPEAKER_RENAMED] = f"{where}: {name!r} is {role}"
            yield role, _without_thinking(text, where, changes) if role == "assistant" else text
            return
    item = {str(key).strip().casefold(): value for key, value in item.items()}
    if any(item.get(key) not in _NOTHING for key in _CALL_KEYS):
        raise LostRowError(TOOLS, where)
    if media := filled_media(item):
        raise LostRowError(MEDIA, f"{where}: field {media!r}")
    names = _filled(item, ROLE_KEYS, where, changes)
    if names:
        role = _role(names, where, changes)
        texts = _filled(item, TEXT_KEYS, where, changes)
        if not any(key in item for key in TEXT_KEYS):
            raise LostRowError(UNKNOWN_FORM, f"{where}: no 'content' ({_keys(item)})")
        text = text_of(next(iter(texts.values()), None), where, changes)
        yield role, _without_thinking(text, where, changes) if role == "assistant" else text
        return
    sides: dict[str, object] = {}
    for key, value in item.items():
        side = PAIR_KEYS.get(key) or SPEAKERS.get(key)
        if side is not None and value is not None:
            if side in sides:
                raise LostRowError(UNKNOWN_FORM, f"{where}: two fields of one side ({_keys(item)})")
            sides[side] = value
            changes.setdefault(SPEAKER_RENAMED, f"{where}: {key!r} is {side}")
    if not sides:
        raise LostRowError(UNKNOWN_FORM, f"{where}: no 'role' ({_keys(item)})")
    if "tool" in sides:
        raise LostRowError(TOOLS, where)
    for side in ("system", "user", "assistant"):
        if side in sides:
            text = text_of(sides[side], where, changes)
            yield side, _without_thinking(text, where, changes) if side == "assistant" else text


def _without_thinking(text: str, where: str, changes: Changes) -> str:
    """Return a reply without the reasoning that stands before it."""
    if "</think>" not in text:
        return text
    reply = without_reasoning(text, is_cut=False)
    if reply != text:
        changes.setdefault(THINKING_REMOVED, where)
    return reply


def filled_media(item: Mapping[Any, Any]) -> str | None:
    """Return the name of a field of a row or message that holds images, sound or video."""
    return next((key for key in MEDIA_FIELDS if item.get(key) not in _NOTHING), None)


def text_of(value: object, where: str, changes: Changes) -> str:
    """Return a content as one text; parts are joined by a new line, and thinking is left out.

    Raises:
        LostRowError: a part that is no text, a call of a tool, or no content at all.
    """
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, Mapping):
        inner = value.get("parts")
        value = inner if isinstance(inner, list) else [value]
    if not isinstance(value, list):
        raise LostRowError(NO_TEXT, f"{where}: content is {type(value).__name__}")
    texts = [_part(part, where, changes) for part in value if part is not None]
    changes.setdefault(PARTS_JOINED, f"{where}: {len(texts)} parts")
    return "\n".join(text for text in texts if text)


def _part(part: object, where: str, changes: Changes) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        raise LostRowError(NO_TEXT, f"{where}: a part is {type(part).__name__}")
    kind = str(part.get("type") or part.get("content_type") or "").casefold()
    if kind in _THINKING:
        changes.setdefault(THINKING_REMOVED, where)
        return ""
    if kind.startswith(("tool", "function", "server_tool")):
        raise LostRowError(TOOLS, f"{where}: a part {kind!r}")
    texts = [part[key] for key in ("text", "content", "value", "refusal") if part.get(key)]
    # A merged table has all fields in all parts.
    has_media = not kind and any(part.get(key) for key in _MEDIA_KEYS)
    if kind not in _TEXT_PARTS or has_media:
        raise LostRowError(MEDIA, f"{where}: {repr(kind) if kind else _keys(part)}")
    text = texts[0] if texts else ""
    if isinstance(text, Mapping):
        text = text.get("value")
    if not isinstance(text, str):
        raise LostRowError(NO_TEXT, f"{where}: the text of a part is {type(text).__name__}")
    return text


def _role(names: Mapping[str, object], where: str, changes: Changes) -> str:
    by_role: dict[str, str] = {}
    for name in names.values():
        if isinstance(name, Mapping):  # {"author": {"role": "user"}}
            name = name.get("role") or name.get("name")
        if isinstance(name, str) and (role := SPEAKERS.get(name.strip().strip(":").casefold())):
            by_role.setdefault(role, name)
    if len(by_role) != 1:
        shown = ", ".join(str(name)[:40] for name in names.values())
        raise LostRowError(UNKNOWN_SPEAKER, f"{where}: {shown!r}")
    ((role, name),) = by_role.items()
    if role == "tool":
        raise LostRowError(TOOLS, f"{where}: {name!r}")
    if name != role:
        changes.setdefault(SPEAKER_RENAMED, f"{where}: {name!r} is {role}")
    return role


def _filled(
    item: Mapping[Any, Any], keys: tuple[str, ...], where: str, changes: Changes
) -> dict[str, Any]:
    """Return the fields that hold something, and note empty ones beside them."""
    there = {key: item[key] for key in keys if key in item}
    filled = {key: value for key, value in there.items() if value is not None and value != ""}
    if filled and len(filled) < len(there):
        empty = next(key for key in there if key not in filled)
        changes.setdefault(NULL_TWIN, f"{where}: {empty!r} beside {next(iter(filled))!r}")
    return filled


def _keys(item: Mapping[Any, Any]) -> str:
    return f"found keys: {', '.join(map(str, item))[:120] or 'none'}"
