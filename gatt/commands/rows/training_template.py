"""The chat template that other trainers need to make the same labels of a row."""

from __future__ import annotations

from dataclasses import dataclass

from gatt.data.dialogue import Dialogue, Message
from gatt.models.chat_template import Tokenizer, encode, template_of
from gatt.models.encoded_view import encode_prompt, encode_reply

_REPLY = "b"
_VIEW = Dialogue("rows", (Message("user", "a"), Message("assistant", _REPLY)))


@dataclass(frozen=True)
class ReplyFrame:
    """What a chat template writes around the last reply."""

    header: str
    """Between prompt and reply, learned; mostly empty."""
    closing: tuple[str, ...]
    """Tokens that close the turn, learned."""
    behind: str
    """Written after those, which `gatt` never learns: ChatML's line break."""


def frame_of(tokenizer: Tokenizer) -> ReplyFrame:
    """Return what stands around a last reply.

    Raises:
        DataError: no reply can be learned under the template.
    """
    prompt = encode_prompt(tokenizer, _VIEW, 1)
    ids = encode_reply(tokenizer, _VIEW, 1, prompt.ids, _REPLY)
    whole = encode(tokenizer, _VIEW.messages, add_generation_prompt=False)
    behind = whole[len(prompt.ids) + len(ids) :] if whole[: len(prompt.ids)] == prompt.ids else ()
    words = [_decoded(tokenizer, (token,)) for token in ids]
    # A reply of one letter may share its token with a space before it.
    place = max(i for i, word in enumerate(words) if word.strip() == _REPLY)
    header = "".join(words[:place]) + words[place].removesuffix(_REPLY)
    return ReplyFrame(header, tuple(words[place + 1 :]), _decoded(tokenizer, behind))


def training_template(tokenizer: Tokenizer, frame: ReplyFrame) -> str:
    """Return the chat template of the tokenizer without what it writes behind a last reply.

    A trainer that learns all behind the prompt then learns exactly our targets. Prompts, and whatever
    ends with a generation prompt, are rendered as before. Variables that were set for the run are in it.
    """
    template = template_of(tokenizer)
    if not frame.behind:
        return template
    # Jinja drops one line break at the end, and `{{ '' }}` keeps white space beside a block.
    body = template.removesuffix("\n")
    return (
        f"{{% set whole %}}{{{{ '' }}}}{body}{{{{ '' }}}}{{% endset %}}"
        "{% if add_generation_prompt or messages[-1]['role'] != 'assistant' %}{{ whole }}"
        f"{{% else %}}{{{{ whole[:-{len(frame.behind)}] }}}}{{% endif %}}"
    )


def _decoded(tokenizer: Tokenizer, ids: tuple[int, ...]) -> str:
    return str(tokenizer.decode(list(ids), clean_up_tokenization_spaces=False))
