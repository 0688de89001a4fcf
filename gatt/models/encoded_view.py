"""Views as token ids: prompts, the spans of replies in the history, and target replies.

Spans come from the template, never from a search in the text: each prompt is rendered as the model
sees it at inference, and the ids of prompt t must be the beginning of those of prompt t+1. The ids
are compared, generation prompt included. So a template that rewrites history (Qwen3 strips reasoning
from it) is found here, and so is a token that merges text of both sides of the boundary.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gatt.data.dialogue import Dialogue, Message
from gatt.data.views import prompt_of_turn
from gatt.errors import DataError, TemplateError
from gatt.models.chat_template import (
    Tokenizer,
    encode_text,
    name_of,
    render,
    shared_length,
)
from gatt.models.control_tokens import control_ids, refuse_control_tokens
from gatt.models.reasoning import closes_reasoning
from gatt.models.reply_frame import TemplateFrame, end_of_turn, reply_frame

_MARK: Final = re.compile(r"<[^<>]*>|\[[^\[\]]*\]|◁[^◁▷]*▷")
"""A mark of roles or of reasoning, as all chat templates write them."""
_HAS_WORD: Final = re.compile(r"[^\W_]")
_ANCHORS: Final = ("", "\n")
"""Texts behind which a tokenizer may leave out the space that it adds in front of a text."""


@dataclass(frozen=True)
class Prompt:
    """The input of the model for one turn."""

    text: str
    ids: tuple[int, ...]


@dataclass(frozen=True)
class EncodedView:
    """Token ids of a view up to the prompt of its last user turn.

    The first `prompt_lengths[t-1]` tokens of `input_ids` are the prompt of turn t, which ends with the
    generation prompt. `reply_spans[t-1]` is [start, end) of the reply to turn t in the history, with
    its closing tokens; the last prompt has no reply.
    """

    input_ids: tuple[int, ...]
    prompt_lengths: tuple[int, ...]
    reply_spans: tuple[tuple[int, int], ...]


def encode_prompt(tokenizer: Tokenizer, view: Dialogue, turn: int) -> Prompt:
    """Return the prompt of a turn, counted from 1.

    Raises:
        TemplateError: no template, or it refuses the messages.
    """
    text = render(tokenizer, prompt_of_turn(view, turn), add_generation_prompt=True)
    return Prompt(text, encode_text(tokenizer, text))


def encode_view(tokenizer: Tokenizer, view: Dialogue) -> EncodedView:
    """Return ids and spans of a view of at least one turn, up to the prompt of its last user message.

    Raises:
        TemplateError: no template, or it refuses the messages.
        DataError: a prompt is not the beginning of the next one, an end-of-turn
            token is missing, or a message holds a control token of the model.
    """
    if refused := first_refused(tokenizer, view):
        raise DataError(refused[1])
    prompts = [encode_prompt(tokenizer, view, turn) for turn in range(1, view.num_turns + 1)]
    spans = tuple(
        reply_span(tokenizer, prompt, after, f"dialogue {view.id!r}, turn {turn}")
        for turn, (prompt, after) in enumerate(itertools.pairwise(prompts), start=1)
    )
    return EncodedView(prompts[-1].ids, tuple(len(p.ids) for p in prompts), spans)


def first_refused(
    tokenizer: Tokenizer, view: Dialogue, turns: Sequence[int] | None = None
) -> tuple[int, str] | None:
    """Return the first turn whose prompt holds a control token in a message, and the error; else None.

    `turns` are the numbers of the view's turns in the whole dialogue; None where it is whole.
    """
    left = iter(turns or range(1, view.num_turns + 1))
    turn = next(left)
    for message in prompt_of_turn(view, view.num_turns):
        is_reply = message.role == "assistant"
        try:
            refuse_control_tokens(tokenizer, message.content, f"dialogue {view.id!r}, turn {turn}")
        except DataError as error:
            # A reply is part of the prompts of later turns.
            return next(left) if is_reply else turn, str(error)
        turn = next(left) if is_reply else turn
    return None


def reply_span(
    tokenizer: Tokenizer, prompt: Prompt, after: Prompt, where: str, reply: str | None = None
) -> tuple[int, int]:
    """Return [start, end) of the reply to a prompt within a later prompt; `reply` is the expected text.

    Raises:
        DataError: begins with `where`. The prompt is not the beginning of the later one, there is no
            end-of-turn token, or another reply.
    """
    start = len(prompt.ids)
    if after.ids[:start] != prompt.ids:
        raise DataError(
            f"{where}: its prompt is not the beginning of the next turn's: expected a chat template "
            "and text that keep the prefix"
        )
    frame = reply_frame(tokenizer, in_history=True)
    end = end_of_turn(tokenizer, after.ids, start, frame.num_header, frame.closing)
    if end is None:
        raise DataError(
            f"{where}: no end-of-turn token after the reply in the history: expected a chat template "
            "that closes it with a special token"
        )
    if reply is not None:
        written = after.text[len(prompt.text) :]
        bodies = (written, written.removeprefix(frame.header))
        if not any(_begins_with(body, reply, frame.mark) for body in bodies):
            raise DataError(_changed(where, reply))
    return start, end


def encode_reply(
    tokenizer: Tokenizer,
    view: Dialogue,
    turn: int,
    prompt_ids: Sequence[int],
    reply: str,
    where: str | None = None,
) -> tuple[int, ...]:
    """Return the ids of a target reply to a turn (from 1), up to the token that ends the turn.

    Decoded they are, word for word, the header that the template writes between prompt and reply
    (mostly none), the reply, and what the template writes behind it, up to the token that stops generation.
    They are those of the joint text of prompt and reply; after a prompt that ends in white space, which would
    merge with the reply, they are what the model generates behind the prompt. A prompt that closes its
    reasoning (Gemma 4, DeepSeek-V3.1) is followed by the reply alone, whatever the template writes before a
    finished reply.

    Raises:
        DataError: begins with `where`. A blank reply, a control token in it, a prompt or reply that the
            template changes, or no end-of-turn token (it would never be learned).
        TemplateError: the template refuses the messages.
    """
    where = where or f"dialogue {view.id!r}, turn {turn}"
    if not reply.strip():
        raise DataError(f"{where}: the target reply is blank: expected some text")
    refuse_control_tokens(tokenizer, reply, where)
    asked = render(tokenizer, prompt_of_turn(view, turn), add_generation_prompt=True)
    messages = (*prompt_of_turn(view, turn), Message("assistant", reply))
    text = render(tokenizer, messages, add_generation_prompt=False)
    frame = reply_frame(tokenizer, in_history=False)
    written = _written(asked, text, reply, frame, where)
    start = len(prompt_ids)
    ids = encode_text(tokenizer, asked + written.text)
    if ids[:start] != tuple(prompt_ids):
        ids = (*prompt_ids, *_behind(tokenizer, asked, written, where))
    control = control_ids(tokenizer)
    marks = [token for token in encode_text(tokenizer, written.header) if token in control]
    end = end_of_turn(tokenizer, ids, start, len(marks), frame.closing)
    if end is None:
        raise DataError(
            f"{where}: no end-of-turn token after the target: the model would never stop"
        )
    controls = [token for token in ids[start:end] if token in control]
    if frame.closing and controls != [*marks, *frame.closing]:
        # Such as a tokenizer that takes a line break for a special token.
        between = tokenizer.decode([token for token in controls if token not in frame.closing])
        raise DataError(
            f"{where}: the tokenizer makes the control token {between!r} of a part of the target, which "
            "would end the turn there: remove it from the text"
        )
    return ids[start:end]


@dataclass(frozen=True)
class _Written:
    """What follows a prompt."""

    header: str
    """Before the reply."""
    reply: str
    tail: str

    @property
    def text(self) -> str:
        """All of it."""
        return self.header + self.reply + self.tail


def _written(asked: str, text: str, reply: str, frame: TemplateFrame, where: str) -> _Written:
    """Return what follows the prompt `asked` when the model gives a reply; `text` has both.

    It is what the template writes, unless the prompt closes its reasoning: then the template may omit or
    repeat before a finished reply what the prompt ends with, and the model has read it already.

    Raises:
        DataError: the reply does not follow the prompt, or the template changes it.
    """
    shared, tail, wanted = shared_length(asked, text), frame.tail, reply.strip()
    # A mark that only begins as the other text's does is another one.
    marks = (mark.span() for source in (asked, text) for mark in _MARK.finditer(source))
    shared = min((start for start, end in marks if start < shared < end), default=shared)
    rest = asked[shared:]
    if rest and not closes_reasoning(rest):
        why = f": the reply does not follow the end of the prompt, {rest!r}"
        raise DataError(_apart(where, why))
    body, header = text[shared:].removesuffix(tail), frame.header
    said = body.removeprefix(header)
    is_read = rest or closes_reasoning(asked) or header != _without_repeats(header, frame.opening)
    if is_read and body.rstrip().endswith(wanted):
        before = body.rstrip().removesuffix(wanted)
        header = _without_repeats(before, frame.opening)
        said = body[len(before) :] if header or not before else wanted
    if said.strip() != wanted or not text.endswith(tail) or _HAS_WORD.search(frame.before_closing):
        raise DataError(_changed(where, reply))
    return _Written(header, said, tail)


def _without_repeats(before: str, opening: str) -> str:
    """Return what stands before a reply without the marks that end its prompt; empty if all is blank."""
    ends = [mark.end() for mark in _MARK.finditer(before) if mark[0] in opening]
    rest = before[max(ends, default=0) :]
    return rest if rest.strip() or not ends else ""


def _behind(tokenizer: Tokenizer, asked: str, written: _Written, where: str) -> tuple[int, ...]:
    """Return the ids of a reply after a prompt that ends in white space, as the model generates them.

    At inference the prompt ends with the token of that white space. In the joint text it is a part of the
    reply's first token, which the model can no longer write there.

    Raises:
        DataError: the prompt has another end, or its ids and these are not the text.
    """
    # A reply's own white space that merges is a matter of this reply alone.
    if written.header or not asked[-1:].isspace() or written.reply[:1].isspace():
        raise DataError(
            _apart(where, f": the end of the prompt, {asked[-8:]!r}, merges with what follows")
        )

    def decoded(ids: Sequence[int]) -> str:
        return str(tokenizer.decode(list(ids), clean_up_tokenization_spaces=False))

    prompt = encode_text(tokenizer, asked)
    whole = decoded(encode_text(tokenizer, asked + written.text))
    for anchor in _ANCHORS:
        before = encode_text(tokenizer, anchor)
        ids = encode_text(tokenizer, anchor + written.text)
        behind = ids[len(before) :]
        if ids[: len(before)] == before and decoded((*prompt, *behind)) == whole:
            return behind
    why = ": the prompt ends in white space, and the tokenizer adds more before the reply"
    raise DataError(_apart(where, why))


def _apart(where: str, why: str) -> str:
    return f"{where}: prompt and target tokenise differently together than apart{why}"


def stop_token_ids(tokenizer: Tokenizer) -> frozenset[int]:
    """Return the ids that end the assistant's turn: the template's own and EOS.

    Raises:
        TemplateError: the template ends an assistant turn without a special token.
    """
    closing = reply_frame(tokenizer, in_history=False).closing
    if not closing:
        raise TemplateError(
            f"{name_of(tokenizer)}: the chat template ends the assistant's turn without a special "
            "token: the model could not learn to stop"
        )
    eos = tokenizer.eos_token_id
    return frozenset(closing) | ({eos} if eos is not None else set())


def _begins_with(written: str, reply: str, mark: str) -> bool:
    """Whether a text is a reply, but for outer white space, up to the mark that closes its turn."""
    body = written.lstrip()
    return body.startswith(reply.strip()) and body[len(reply.strip()) :].lstrip().startswith(mark)


def _changed(where: str, reply: str) -> str:
    hint = ", such as all before '</think>'" if "</think>" in reply else ""
    return (
        f"{where}: the chat template writes another text than the reply: expected the same text: remove "
        f"what the template changes{hint}"
    )
