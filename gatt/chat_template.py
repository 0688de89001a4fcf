"""From a dialogue to token ids with turn spans, through the model's own chat template.

Spans come from the template, never from a search in the text: each prompt is
rendered as the model will see it at inference, and the ids of prompt t must be
the beginning of those of prompt t+1. That the ids themselves are compared,
generation prompt included, is the point: a template that rewrites history
(Qwen3 strips reasoning from it) or a merge across the boundary shows up here.
"""

from __future__ import annotations

import itertools
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Any, Final, Literal, TypeVar

import jinja2

from gatt.dialogue import Dialogue, Message
from gatt.errors import DataError, TemplateError
from gatt.views import prompt_of_turn

log = logging.getLogger(__name__)

PlacementT = TypeVar("PlacementT", bound=str)

Tokenizer = Any
"""A `transformers.PreTrainedTokenizerBase` with a chat template."""


@dataclass(frozen=True)
class TemplateFacts:
    """What a chat template can do for GAtt, found by rendering a test dialogue."""

    has_system: bool
    """It takes a system message and shows it once, in front of the first user message."""
    is_prefix_preserving: bool
    """The ids of every prompt begin those of the next, so turns can share a trunk."""
    note: str
    """Why not, in one line; empty if all is well."""
    has_later_system: bool = False
    """It shows a later system message, which may change the instruction, once and in its place."""


@dataclass(frozen=True)
class EncodedView:
    """Token ids of a view, cut after the prompt of its last user turn, or of one that is too long.

    `prompt_lengths[t-1]` tokens of `input_ids` are the prompt of turn t, which
    ends with the generation prompt. `reply_spans[t-1]` is [start, end) of the
    reply to turn t in the history, end-of-turn token included; there is one
    span fewer than prompts.
    """

    input_ids: tuple[int, ...]
    prompt_lengths: tuple[int, ...]
    reply_spans: tuple[tuple[int, int], ...]


_ASKS_DATE: Final = re.compile(
    r"""strftime_now\(\s*(?:format\s*=\s*)?(['"])([^'"\\]*)\1\s*,?\s*\)"""
)
_DAY: ContextVar[date | None] = ContextVar("day", default=None)


@contextmanager
def rendered_on(day: date) -> Iterator[None]:
    """Have chat templates that print the date print this one while the block runs.

    Llama 3's and SmolLM3's do: rows that are built again on the next day would differ.
    """
    before = _DAY.set(day)
    try:
        yield
    finally:
        _DAY.reset(before)


@lru_cache(maxsize=16)
def _dated(template: str, day: date) -> str:
    """Return a chat template with the date that it prints in place of the calls that ask for it."""
    dated = _ASKS_DATE.sub(lambda call: repr(day.strftime(call[2])), template)
    if "strftime_now(" in dated:
        log.warning(
            "the chat template prints the date in a way that cannot be held to %s: a run that goes on on "
            "another day has other rows", day,
        )  # fmt: skip
    return dated


def render(tokenizer: Tokenizer, messages: Sequence[Message], add_generation_prompt: bool) -> str:
    """Return the text of the messages under the tokenizer's chat template.

    Raises:
        TemplateError: no template, or the template refuses the messages.
    """
    if not getattr(tokenizer, "chat_template", None):
        raise TemplateError(
            f"{_name(tokenizer)}: the tokenizer has no chat template: use an instruct model, "
            "or put a chat_template.jinja into its folder"
        )
    day, template = _DAY.get(), tokenizer.chat_template
    if isinstance(template, Mapping):
        template = template.get("default")
    try:
        text: str = tokenizer.apply_chat_template(
            [m.as_dict() for m in messages],
            tokenize=False,
            add_generation_prompt=add_generation_prompt,
            chat_template=_dated(template, day) if day and isinstance(template, str) else None,
        )
    except (jinja2.TemplateError, TypeError) as error:
        raise TemplateError(
            f"{_name(tokenizer)}: the chat template refuses the dialogue: {error}"
        ) from None
    return text


def encode(
    tokenizer: Tokenizer, messages: Sequence[Message], add_generation_prompt: bool
) -> tuple[int, ...]:
    """Return the token ids of `render`; the template alone decides on BOS."""
    text = render(tokenizer, messages, add_generation_prompt)
    return tuple(tokenizer(text, add_special_tokens=False)["input_ids"])


def encode_view(tokenizer: Tokenizer, view: Dialogue, max_length: int | None = None) -> EncodedView:
    """Return ids and spans of a view, up to the prompt of its last user turn.

    Args:
        tokenizer: with a chat template.
        view: at least one turn.
        max_length: nothing behind the first prompt of more tokens is encoded, if there is one.

    Raises:
        TemplateError: no template, or it refuses the messages.
        DataError: a prompt is not the beginning of the next one, an end-of-turn
            token is missing, or a message holds a control token of the model.
    """
    for message in view.messages:
        refuse_control_tokens(tokenizer, message.content, f"dialogue {view.id!r}")
    prompts: list[tuple[int, ...]] = []
    for turn in range(1, view.num_turns + 1):
        prompts.append(encode(tokenizer, prompt_of_turn(view, turn), add_generation_prompt=True))
        if max_length is not None and len(prompts[-1]) > max_length:
            break
    spans = []
    for turn, (prompt, after) in enumerate(itertools.pairwise(prompts), start=1):
        if after[: len(prompt)] != prompt:
            raise DataError(
                f"dialogue {view.id!r}, turn {turn}: its prompt is not the beginning of the next "
                "turn's: expected a chat template and text that keep the prefix"
            )
        end = _end_of_turn(tokenizer, after, len(prompt), in_history=True)
        if end is None:
            raise DataError(
                f"dialogue {view.id!r}, turn {turn}: no end-of-turn token after the reply in the "
                "history: expected a chat template that closes it with a special token"
            )
        spans.append((len(prompt), end))
    return EncodedView(prompts[-1], tuple(len(p) for p in prompts), tuple(spans))


def encode_reply(
    tokenizer: Tokenizer, view: Dialogue, turn: int, prompt_ids: Sequence[int], reply: str
) -> tuple[int, ...]:
    """Return the ids of a target reply to a turn, its end-of-turn token last.

    The ids are those of the joint text, so what is learned is what the model
    would have to write after the prompt.

    Args:
        tokenizer: with a chat template.
        view: the training view.
        turn: which turn is answered, from 1.
        prompt_ids: ids of that turn's prompt, as in `encode_view`.
        reply: the text of the target.

    Raises:
        DataError: blank reply, control token in it, prompt not kept, or no
            end-of-turn token (it would never be learned).
    """
    where = f"dialogue {view.id!r}, turn {turn}"
    if not reply.strip():
        raise DataError(f"{where}: the target reply is blank: expected some text")
    refuse_control_tokens(tokenizer, reply, where)
    messages = (*prompt_of_turn(view, turn), Message("assistant", reply))
    ids = encode(tokenizer, messages, add_generation_prompt=False)
    start = len(prompt_ids)
    if ids[:start] != tuple(prompt_ids):
        raise DataError(f"{where}: prompt and target tokenise differently together than apart")
    end = _end_of_turn(tokenizer, ids, start, in_history=False)
    if end is None:
        raise DataError(
            f"{where}: no end-of-turn token after the target: the model would never stop"
        )
    return ids[start:end]


def refuse_control_tokens(tokenizer: Tokenizer, text: str, where: str) -> None:
    """Refuse text that tokenises to a role marker or another control token.

    Raises:
        DataError: naming the token.
    """
    for token in control_tokens(tokenizer):
        if token in text:
            raise DataError(
                f"{where}: the text holds the control token {token!r}, which would move the turns: "
                "remove it from the text"
            )


@lru_cache(maxsize=16)
def control_tokens(tokenizer: Tokenizer) -> tuple[str, ...]:
    """Return the texts of all tokens that the tokenizer marks as special."""
    added = [t.content for t in tokenizer.added_tokens_decoder.values() if t.special]
    return tuple(dict.fromkeys((*tokenizer.all_special_tokens, *added)))


def is_special(tokenizer: Tokenizer, token_id: int) -> bool:
    """Whether the id is a control token of the model (the unknown token is none)."""
    return token_id in _special_ids(tokenizer)


def stop_token_ids(tokenizer: Tokenizer) -> frozenset[int]:
    """Return the ids that end the assistant's turn: the template's own and EOS.

    Raises:
        TemplateError: the template closes an assistant turn with no special token.
    """
    question = (Message("user", "a"),)
    prompt = encode(tokenizer, question, add_generation_prompt=True)
    ids = encode(tokenizer, (*question, Message("assistant", "b")), add_generation_prompt=False)
    # Not len(prompt): some prompts open a reasoning block that the written reply has not.
    start = shared_length(prompt, ids)
    end = _end_of_turn(tokenizer, ids, start, in_history=False)
    if end is None:
        raise TemplateError(
            f"{_name(tokenizer)}: the chat template ends the assistant's turn without a special "
            "token: the model could not learn to stop"
        )
    eos = tokenizer.eos_token_id
    return frozenset({ids[end - 1]} | ({eos} if eos is not None else set()))


def inspect_template(tokenizer: Tokenizer) -> TemplateFacts:
    """Return what the chat template can do, by rendering a three-turn dialogue.

    Raises:
        TemplateError: no template, or one that refuses even the plain dialogue.
    """
    body = tuple(
        Message(role, text)  # type: ignore[arg-type]
        for role, text in (
            ("user", "first question"),
            ("assistant", "first answer"),
            ("user", "second question"),
            ("assistant", "second answer"),
            ("user", "third question"),
        )
    )
    mark = "xyzzy instruction"
    note = ""
    try:
        text = render(tokenizer, (Message("system", mark), *body), add_generation_prompt=True)
        where = text.find(mark)
        has_system = text.count(mark) == 1 and 0 <= where < text.find("first question")
        if not has_system:
            note = (
                "drops the system message"
                if where < 0
                else "repeats the system message or moves it to a later turn"
            )
    except TemplateError:
        has_system, note = False, "takes no system message"
    system = (Message("system", mark),) if has_system else ()
    try:
        encode_view(tokenizer, Dialogue("template-check", (*system, *body)))
        is_prefix_preserving = True
    except DataError:
        is_prefix_preserving = False
        note = (note + "; " if note else "") + "rewrites earlier turns when a new one comes"
    later = has_system and _shows_later_system(tokenizer, body)
    return TemplateFacts(has_system, is_prefix_preserving, note, later)


def _shows_later_system(tokenizer: Tokenizer, body: Sequence[Message]) -> bool:
    """Whether a system message in front of the last user message stands there, once."""
    mark = "plugh instruction"
    messages = (Message("system", "first"), *body[:-1], Message("system", mark), body[-1])
    try:
        text = render(tokenizer, messages, add_generation_prompt=True)
    except TemplateError:
        return False
    before, after = (text.find(m.content) for m in body[-2:])
    return text.count(mark) == 1 and before < text.find(mark) < after


def usable_placement(
    wanted: PlacementT, facts: TemplateFacts
) -> PlacementT | Literal["first_user"]:
    """Return where the instruction can stand: `first_user` where there is no system role.

    Says so in the log; call it once a run.
    """
    if facts.has_system or wanted in ("first_user", "every_turn"):
        return wanted
    log.warning("placement 'first_user' instead of %r: the chat template %s", wanted, facts.note)
    return "first_user"


def _end_of_turn(
    tokenizer: Tokenizer, ids: Sequence[int], start: int, *, in_history: bool
) -> int | None:
    """Return the index after the special token that ends the reply begun at `start`.

    What a template writes behind it (a newline, an end-of-text token) belongs
    to no reply and is never learned. The reply's own text has no special token
    (`refuse_control_tokens`), so it is the first behind those of the header.
    """
    special = _special_ids(tokenizer)
    left = _num_header_specials(tokenizer, in_history)
    for index in range(start, len(ids)):
        if ids[index] in special:
            if not left:
                return index + 1
            left -= 1
    return None


@lru_cache(maxsize=16)
def _num_header_specials(tokenizer: Tokenizer, in_history: bool) -> int:
    """Return how many special tokens stand between the generation prompt and the reply.

    Most templates have none; gpt-oss writes `<|channel|>final<|message|>` there,
    which would be taken for the end of the turn.
    """
    question = (Message("user", "a"),)
    later = (Message("user", "c"),) if in_history else ()
    prompt = render(tokenizer, question, add_generation_prompt=True)
    replies = [
        render(tokenizer, (*question, Message("assistant", reply), *later), in_history)
        for reply in ("b", "d")
    ]
    header = replies[0][: shared_length(*replies)]
    header = header[shared_length(prompt, header) :]
    special = _special_ids(tokenizer)
    return sum(i in special for i in tokenizer(header, add_special_tokens=False)["input_ids"])


@lru_cache(maxsize=16)
def _special_ids(tokenizer: Tokenizer) -> frozenset[int]:
    added = tokenizer.added_tokens_decoder
    special = frozenset(tokenizer.all_special_ids) | {i for i, t in added.items() if t.special}
    # Any odd word of a reply gives the unknown token, which would end its turn there.
    unknown = tokenizer.unk_token_id
    return special if unknown == tokenizer.eos_token_id else special - {unknown}


def shared_length(first: Sequence[object], second: Sequence[object]) -> int:
    """Return how many leading items two sequences have in common."""
    for index, (one, other) in enumerate(zip(first, second, strict=False)):
        if one != other:
            return index
    return min(len(first), len(second))


def _name(tokenizer: Tokenizer) -> str:
    return str(getattr(tokenizer, "name_or_path", "") or type(tokenizer).__name__)
