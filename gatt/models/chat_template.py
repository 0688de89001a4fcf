"""Messages to text and token ids, through the model's own chat template."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import date, datetime
from functools import lru_cache
from typing import Any, Final

import jinja2

from gatt.data.dialogue import Message
from gatt.errors import TemplateError

log = logging.getLogger(__name__)

Tokenizer = Any
"""A `transformers.PreTrainedTokenizerBase` with a chat template."""

_ASKS_DATE: Final = re.compile(
    r"""strftime_now\(\s*(?:format\s*=\s*)?(['"])([^'"\\]*)\1\s*,?\s*\)"""
)
_DAY: ContextVar[date | None] = ContextVar("day", default=None)


@contextmanager
def rendered_on(day: date) -> Iterator[None]:
    """Let chat templates print this date while the block runs.

    The templates of Llama 3 and SmolLM3 print the date: rows that are built again on the next day
    would differ.
    """
    before = _DAY.set(day)
    try:
        yield
    finally:
        _DAY.reset(before)


def printed_day() -> date:
    """Return the date that chat templates print now."""
    return _DAY.get() or datetime.now().astimezone().date()


@lru_cache(maxsize=16)
def _dated(template: str, day: date) -> str:
    """Return a chat template whose calls of `strftime_now` are replaced by their results."""
    dated = _ASKS_DATE.sub(
        # Line breaks are kept, so that errors name the right lines.
        lambda call: repr(day.strftime(call[2])) + "\n" * call[0].count("\n"),
        template,
    )
    if "strftime_now(" in dated:
        log.warning(
            "the chat template prints the date, and it cannot be fixed to %s: a run that is resumed on another "
            "day has other rows", day,
        )  # fmt: skip
    return dated


def template_of(tokenizer: Tokenizer) -> str:
    """Return the chat template that `render` uses: of several, the one named `default`; empty without one."""
    template = getattr(tokenizer, "chat_template", None)
    if isinstance(template, Mapping):
        template = template.get("default")
    return template if isinstance(template, str) else ""


def render(tokenizer: Tokenizer, messages: Sequence[Message], add_generation_prompt: bool) -> str:
    """Return the text of the messages under the tokenizer's chat template.

    Raises:
        TemplateError: no template, or it refuses the messages or fails; names its line.
    """
    if not getattr(tokenizer, "chat_template", None):
        raise TemplateError(
            f"{name_of(tokenizer)}: the tokenizer has no chat template: use an instruct model, "
            "or put a chat_template.jinja into its folder"
        )
    day, template = _DAY.get(), template_of(tokenizer)
    try:
        text: str = tokenizer.apply_chat_template(
            [m.as_dict() for m in messages],
            tokenize=False,
            add_generation_prompt=add_generation_prompt,
            chat_template=_dated(template, day) if day and template else None,
        )
    # A template is a program: any exception is an error of the template.
    except Exception as error:
        raise TemplateError(f"{name_of(tokenizer)}: {_told(error)}") from None
    return text


def encode(
    tokenizer: Tokenizer, messages: Sequence[Message], add_generation_prompt: bool
) -> tuple[int, ...]:
    """Return the token ids of `render`; only the template adds BOS."""
    return encode_text(tokenizer, render(tokenizer, messages, add_generation_prompt))


def encode_text(tokenizer: Tokenizer, text: str) -> tuple[int, ...]:
    """Return the token ids of a text that was rendered by a chat template."""
    return tuple(tokenizer(text, add_special_tokens=False)["input_ids"])


def shared_length(first: Sequence[object], second: Sequence[object]) -> int:
    """Return how many leading items two sequences have in common."""
    for index, (item, other) in enumerate(zip(first, second, strict=False)):
        if item != other:
            return index
    return min(len(first), len(second))


def name_of(tokenizer: Tokenizer) -> str:
    """Return the name of a tokenizer's model for messages, or the tokenizer's class."""
    return str(getattr(tokenizer, "name_or_path", "") or type(tokenizer).__name__)


def _told(error: Exception) -> str:
    """Return what went wrong in a chat template, and in which line."""
    line = _line(error)
    place = "" if line is None else f" in its line {line}"
    what = " ".join(str(error).split())
    if isinstance(error, jinja2.TemplateError):
        return f"the chat template refuses the dialogue{place}: {what}"
    kind = type(error).__name__
    return (
        f"the chat template fails{place}: {kind}: {what}: mend chat_template.jinja in the model's folder, "
        "or use another model"
    )


def _line(error: Exception) -> int | None:
    """Return the line of the template, from 1, that raised an error; None where none did."""
    if isinstance(error, jinja2.TemplateSyntaxError):
        return error.lineno
    line, frame = None, error.__traceback__
    while frame is not None:
        # Jinja marks the frames that stand for lines of the template.
        if "__jinja_exception__" in frame.tb_frame.f_globals:
            line = frame.tb_lineno
        frame = frame.tb_next
    return line
