"""Control tokens: tokens of roles and turns, which no message may contain."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import lru_cache
from typing import Final

import jinja2

from gatt.data.dialogue import Message
from gatt.errors import DataError, TemplateError
from gatt.models.chat_template import Tokenizer, render, template_of

_WORD: Final = re.compile(r"[\w\s]*")
"""Added tokens that are ordinary text, such as the runs of line breaks in Gemma's vocabulary."""
_QUESTION: Final = (Message("user", "a"),)
_DIALOGUES: Final = (
    (*_QUESTION, Message("assistant", "b"), *_QUESTION),
    (Message("system", "c"), *_QUESTION, Message("assistant", "b")),
)


def control_tokens(tokenizer: Tokenizer) -> tuple[str, ...]:
    """Return the texts of all control tokens.

    These are the tokens that the tokenizer marks as special, and all other added tokens that the
    chat template contains: DeepSeek-R1-Distill marks its `<｜User｜>` as not special.
    """
    return _control_tokens(tokenizer, template_of(tokenizer))


def control_ids(tokenizer: Tokenizer) -> frozenset[int]:
    """Return the ids of `control_tokens`, without that of the unknown token."""
    return _control_ids(tokenizer, template_of(tokenizer))


def refuse_control_tokens(tokenizer: Tokenizer, text: str, where: str) -> None:
    """Refuse text that tokenises to a role marker or another control token.

    Raises:
        DataError: naming the token.
    """
    for token in control_tokens(tokenizer):
        if token in text:
            raise DataError(
                f"{where}: the text holds the control token {token!r}, which would change the turns: "
                "remove it from the text"
            )


@lru_cache(maxsize=16)
def _control_tokens(tokenizer: Tokenizer, template: str) -> tuple[str, ...]:
    added = tokenizer.added_tokens_decoder.values()
    special = [*tokenizer.all_special_tokens, *(t.content for t in added if t.special)]
    plain = [t.content for t in added if not t.special and not _WORD.fullmatch(t.content)]
    written = _written(tokenizer, template) if plain else ""
    return tuple(dict.fromkeys((*special, *(token for token in plain if token in written))))


@lru_cache(maxsize=16)
def _control_ids(tokenizer: Tokenizer, template: str) -> frozenset[int]:
    tokens = set(_control_tokens(tokenizer, template))
    added = {i for i, t in tokenizer.added_tokens_decoder.items() if t.content in tokens}
    ids = frozenset(tokenizer.all_special_ids) | added
    # Rare words of a reply become the unknown token, which must not end its turn.
    unknown = tokenizer.unk_token_id
    return ids if unknown == tokenizer.eos_token_id else ids - {unknown}


def _written(tokenizer: Tokenizer, template: str) -> str:
    """Return the text and strings of a chat template, without its code, and test dialogues under it."""
    try:
        pieces = jinja2.Environment().lex(template)
        parts = [text for _, kind, text in pieces if kind in ("data", "string")]
    except jinja2.TemplateSyntaxError:
        parts = [template]
    for messages in _DIALOGUES:
        with suppress(TemplateError):
            parts.append(render(tokenizer, messages, add_generation_prompt=True))
    return "\n".join(parts)
