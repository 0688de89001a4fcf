"""What a chat template writes around a reply: before it, behind it, and the token that ends the turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from gatt.data.dialogue import Message
from gatt.models.chat_template import Tokenizer, encode_text, render, shared_length, template_of
from gatt.models.control_tokens import control_ids

_QUESTION: Final = (Message("user", "a"),)


@dataclass(frozen=True)
class TemplateFrame:
    """What a chat template writes around a reply."""

    header: str
    """Text between the generation prompt and the reply, such as gpt-oss's
    `<|channel|>final<|message|>`; empty where the reply does not start at the end of the prompt."""
    tail: str
    """Text after the reply."""
    num_header: int
    """Number of control tokens in the header."""
    closing: tuple[int, ...]
    """Control tokens of the tail, up to the one that ends the turn."""
    mark: str
    """Text of the first closing token; empty without one."""
    opening: str
    """Text between the user's words and the reply: the end of every prompt."""

    @property
    def before_closing(self) -> str:
        """Text of the tail before its first closing token."""
        return self.tail.partition(self.mark)[0] if self.mark else ""


def end_of_turn(
    tokenizer: Tokenizer,
    ids: Sequence[int],
    start: int,
    num_header: int,
    closing: Sequence[int],
) -> int | None:
    """Return the index after the control token that ends the turn of the reply that starts at `start`.

    Tokens after it (a newline, an end-of-text token) are no part of a reply and are never learned.
    The reply's text has no control tokens (`refuse_control_tokens`), so only those of the header and
    the closing ones are counted.
    """
    control = control_ids(tokenizer)
    left = num_header + max(len(closing), 1)
    for index in range(start, len(ids)):
        left -= ids[index] in control
        if not left:
            return index + 1
    return None


def reply_frame(tokenizer: Tokenizer, *, in_history: bool) -> TemplateFrame:
    """Return what the chat template writes around the last reply, or around one of the history."""
    return _frame_of(tokenizer, template_of(tokenizer), in_history)


@lru_cache(maxsize=32)
def _frame_of(
    tokenizer: Tokenizer,
    template: str,  # noqa: ARG001 - part of the cache's key: a tokenizer's template may change
    in_history: bool,
) -> TemplateFrame:
    """Return what the chat template writes around a reply, either the last one or one of the history.

    Control tokens that follow both kinds close the turn, such as Cohere2's
    `<|END_RESPONSE|><|END_OF_TURN_TOKEN|>`: the turn ends with EOS if it is one of them, else with the
    last. Without a common one, the first control token after this kind ends the turn. So the newline and
    the end-of-text token that Phi 3 writes after a last reply only are not part of the turn.
    """
    before, tail = _around_reply(tokenizer, in_history)
    control = control_ids(tokenizer)
    here, other = (
        encode_text(tokenizer, text) for text in (tail, _around_reply(tokenizer, not in_history)[1])
    )
    both = here[: shared_length(here, other)]
    closing = [i for i in both if i in control] or [i for i in here if i in control][:1]
    if tokenizer.eos_token_id in closing:
        closing = closing[: closing.index(tokenizer.eos_token_id) + 1]
    prompt = render(tokenizer, _QUESTION, add_generation_prompt=True)
    header = before[len(prompt) :] if before.startswith(prompt) else ""
    num_header = sum(i in control for i in encode_text(tokenizer, header))
    added = tokenizer.added_tokens_decoder
    mark = added[closing[0]].content if closing else ""
    return TemplateFrame(header, tail, num_header, tuple(closing), mark, _opening(tokenizer))


def _opening(tokenizer: Tokenizer) -> str:
    words = "xyzzy question"
    prompt = render(tokenizer, (Message("user", words),), add_generation_prompt=True)
    return prompt.rpartition(words)[2] if words in prompt else ""


def _around_reply(tokenizer: Tokenizer, in_history: bool) -> tuple[str, str]:
    """Return the text before a reply of one letter, and the text after it."""
    later = (Message("user", "c"),) if in_history else ()
    text, other_text = (
        render(tokenizer, (*_QUESTION, Message("assistant", reply), *later), in_history)
        for reply in ("b", "d")
    )
    before = text[: shared_length(text, other_text)]
    return before, text[len(before) + 1 :]
