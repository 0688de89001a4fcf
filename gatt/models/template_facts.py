"""What a chat template supports of GAtt, found by rendering a test dialogue."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

from gatt.data.dialogue import Dialogue, Message, View
from gatt.data.views import prompt_of_turn
from gatt.errors import DataError, TemplateError
from gatt.models.chat_template import Tokenizer, name_of, render, shared_length
from gatt.models.encoded_view import encode_prompt, encode_reply, encode_view
from gatt.models.reasoning import REASONING, closes_reasoning, from_mark
from gatt.models.template_variables import read_by_template

log = logging.getLogger(__name__)

PlacementT = TypeVar("PlacementT", bound=str)

_BODY: Final = (
    Message("user", "first question"),
    Message("assistant", "first answer"),
    Message("user", "second question"),
    Message("assistant", "second answer"),
    Message("user", "third question"),
)
_ANSWER: Final = "some answer"
_ID: Final = "template-check"


@dataclass(frozen=True)
class TemplateFacts:
    """What a chat template supports."""

    has_system: bool
    """It renders a system message once, before the first user message."""
    is_prefix_preserving: bool
    """The ids of every prompt are the beginning of those of the next, so turns can share a trunk."""
    note: str
    """What it does not support, in one line; empty if it supports everything."""
    has_later_system: bool = False
    """After a first system message it renders a later one, which may change the instruction, once and in
    its place."""
    has_later_system_alone: bool = False
    """The same without a first system message."""
    target_problem: str = ""
    """Why no reply can be learned, in one line; empty if replies can."""

    def shows_later_system(self, *, is_behind_system: bool) -> bool:
        """Whether a view may have a later system message, with or without a first one."""
        return self.has_later_system if is_behind_system else self.has_later_system_alone


def inspect_template(tokenizer: Tokenizer) -> TemplateFacts:
    """Return what the chat template supports, found by rendering a three-turn dialogue.

    Raises:
        TemplateError: no template, or it refuses the plain dialogue.
    """
    mark = "xyzzy instruction"
    system = (Message("system", mark),)
    notes = []
    try:
        text = render(tokenizer, (*system, *_BODY), add_generation_prompt=True)
        if mark not in text:
            notes.append("drops the system message")
        elif text.count(mark) > 1 or text.find(mark) > text.find("first question"):
            notes.append("repeats the system message or moves it to a later turn")
    except TemplateError:
        notes.append("takes no system message")
    has_system = not notes
    view = Dialogue(_ID, (*(system if has_system else ()), *_BODY))
    is_prefix_preserving = _keeps_prefix(tokenizer, view)
    if not is_prefix_preserving:
        notes.append(_rewriting(tokenizer, view))
    later, later_alone = (
        has_system and _shows_later_system(tokenizer, first, is_prefix_preserving)
        for first in ((Message("system", "first"),), ())
    )
    problem = _target_problem(tokenizer, view)
    return TemplateFacts(
        has_system, is_prefix_preserving, "; ".join(notes), later, later_alone, problem
    )


def usable_placement(
    wanted: PlacementT, facts: TemplateFacts
) -> PlacementT | Literal["first_user"]:
    """Return the placement of the instruction: `first_user` where the template has no system role.

    A change is logged; call it once a run.
    """
    if facts.has_system or wanted in ("first_user", "every_turn"):
        return wanted
    log.warning("placement 'first_user' instead of %r: the chat template %s", wanted, facts.note)
    return "first_user"


def learnable_facts(tokenizer: Tokenizer) -> TemplateFacts:
    """Return what the chat template allows.

    Raises:
        TemplateError: no chat template, or one under which no reply can be learned: why, and what to set.
    """
    facts = inspect_template(tokenizer)
    if not facts.target_problem:
        return facts
    way_out = "use another model, or put a chat_template.jinja into its folder that writes a reply unchanged "
    way_out += "after its generation prompt"
    if switches := [n for n in sorted(read_by_template(tokenizer)) if REASONING.search(n)]:
        # Most such variables turn reasoning on.
        way_out = (
            f"try chat_template_kwargs: {{{switches[0]}: false}}, and the same for the engine that uses the "
            f"adapter; if that does not help, {way_out}"
        )
    raise TemplateError(
        f"{name_of(tokenizer)}: the chat template lets no reply be learned: {facts.target_problem}: "
        f"{way_out}"
    )


def _keeps_prefix(tokenizer: Tokenizer, view: Dialogue) -> bool:
    try:
        encode_view(tokenizer, view)
    except DataError:
        return False
    return True


def _rewriting(tokenizer: Tokenizer, view: Dialogue) -> str:
    """Return why a prompt is not the beginning of the next one."""
    first, second = (encode_prompt(tokenizer, view, turn).text for turn in (1, 2))
    if second.startswith(first) and first[-1:].isspace():
        return "ends its prompt in white space, which merges with a reply of an earlier turn"
    return "rewrites earlier turns when a new one comes"


def _shows_later_system(
    tokenizer: Tokenizer, first: Sequence[Message], is_prefix_preserving: bool
) -> bool:
    """Whether a system message before the last user message is rendered there, once, and changes nothing."""
    mark = "plugh instruction"
    view = View(_ID, (*first, *_BODY[:-1], Message("system", mark), _BODY[-1]))
    try:
        text = render(tokenizer, view.messages, add_generation_prompt=True)
        if is_prefix_preserving and not _keeps_prefix(tokenizer, view):
            return False
    except TemplateError:
        return False
    before, after = (text.find(m.content) for m in _BODY[-2:])
    return text.count(mark) == 1 and before < text.find(mark) < after


def _target_problem(tokenizer: Tokenizer, view: Dialogue) -> str:
    """Return why the first or the last turn cannot be learned; empty where both can."""
    for turn in (1, view.num_turns):
        messages = prompt_of_turn(view, turn)
        prompt = encode_prompt(tokenizer, view, turn)
        problem = ""
        try:
            encode_reply(tokenizer, view, turn, prompt.ids, _ANSWER)
        except (DataError, TemplateError) as error:
            problem = str(error).removeprefix(f"dialogue {_ID!r}, turn {turn}: ")
        # The end of the prompt that the messages alone do not have.
        bare = _rendered(tokenizer, messages)
        opened = "" if bare is None else from_mark(prompt.text[shared_length(prompt.text, bare) :])
        if not opened or closes_reasoning(opened):
            if problem:
                return problem
            continue
        text = _rendered(tokenizer, (*messages, Message("assistant", _ANSWER))) or ""
        if problem or not closes_reasoning(text[len(prompt.text) : text.rfind(_ANSWER)]):
            return f"its generation prompt opens reasoning ({opened!r}), which a written reply does not close"
    return ""


def _rendered(tokenizer: Tokenizer, messages: Sequence[Message]) -> str | None:
    """Return the text of messages without a generation prompt; None where the template refuses them."""
    try:
        return render(tokenizer, messages, add_generation_prompt=False)
    except TemplateError:
        return None
