"""A table of rows as people have them, and what becomes of each."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatt.data.dialogue import parse_dialogue
from gatt.sources.message import SPEAKERS, LostRowError
from gatt.sources.normalise import normalise

HI, HELLO = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}
BYE = {"role": "user", "content": "Bye"}
PAIR = [HI, HELLO]


def user(content: object, **more: object) -> dict[str, object]:
    return {"role": "user", "content": content, **more}


def said(*messages: dict[str, object]) -> dict[str, object]:
    return {"messages": list(messages)}


def share(*turns: tuple[object, object]) -> dict[str, object]:
    return {"conversations": [{"from": name, "value": value} for name, value in turns]}


CHANGED: dict[str, tuple[object, list[dict[str, Any]], set[str]]] = {
    "nothing to do": (said(HI, HELLO), PAIR, set()),
    "sharegpt": (share(("human", "Hi"), ("gpt", "Hello")), PAIR, {"speaker renamed"}),
    "capitals and spaces": (
        said({"role": "User", "content": "Hi"}, {"role": " ASSISTANT", "content": "Hello"}), PAIR,
        {"speaker renamed"},
    ),
    "from with content": (
        said({"from": "human", "content": "Hi"}, {"role": "gpt", "value": "Hello"}), PAIR,
        {"speaker renamed"},
    ),
    "speaker and text": (
        said({"speaker": "user", "text": "Hi"}, {"sender": "bot", "message": "Hello"}), PAIR,
        {"speaker renamed"},
    ),
    "null twins": (
        said(
            {**HI, "from": None, "value": None},
            {"role": None, "content": None, "from": "gpt", "value": "Hello"},
        ),
        PAIR,
        {"empty twin of a field ignored", "speaker renamed"},
    ),
    "both fields agree": (said({**HI, "from": "Human"}, HELLO), PAIR, set()),
    "a name beside the role": (said({**HI, "speaker": "Ann"}, HELLO), PAIR, set()),
    "null column beside a good one": (
        {"messages": None, "conversations": [], "conversation": PAIR}, PAIR, set(),
    ),
    "text parts": (
        said(
            user([{"type": "text", "text": "Hi"}, "you", {"text": "there", "image": None}]),
            {"role": "assistant", "content": {"type": "output_text", "text": "Hello"}},
        ),
        [user("Hi\nyou\nthere"), HELLO],
        {"text parts joined"},
    ),
    "thinking part, refusal part, value inside text": (
        said(
            user({"content_type": "text", "parts": ["Hi"]}),
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": {"value": "Hello"}},
                    {"type": "refusal", "refusal": "No."},
                ],
            },
        ),
        [HI, {"role": "assistant", "content": "Hello\nNo."}],
        {"text parts joined", "thinking removed"},
    ),
    "empty system": (
        said({"role": "system", "content": ""}, HI, HELLO), PAIR, {"empty system message removed"},
    ),
    "null system": (
        said({"role": "system", "content": None}, HI, HELLO), PAIR, {"empty system message removed"},
    ),
    "system field": (
        {"system": "Be kind.", "conversations": PAIR}, [{"role": "system", "content": "Be kind."}, *PAIR],
        {"system field put in front"},
    ),
    "system field said again": (
        {"system": "Be kind.", "messages": [{"role": "system", "content": "Be kind."}, *PAIR]},
        [{"role": "system", "content": "Be kind."}, *PAIR], {"system field put in front"},
    ),
    "blank system field": ({"system": " ", "messages": PAIR}, PAIR, set()),
    "developer is system, two of them": (
        said({"role": "developer", "content": "A"}, {"role": "system", "content": "B"}, HI, HELLO),
        [{"role": "system", "content": "A\nB"}, *PAIR], {"speaker renamed", "messages of one speaker merged"},
    ),
    "one speaker in a row": (
        said(HI, user("you"), HELLO, {"role": "assistant", "content": "!"}),
        [user("Hi\nyou"), {"role": "assistant", "content": "Hello\n!"}], {"messages of one speaker merged"},
    ),
    "system in the middle": (
        said(HI, HELLO, {"role": "system", "content": "New rules."}, BYE), [HI, HELLO, BYE],
        {"system message in the middle removed"},
    ),
    "begins with the assistant": (
        said({"role": "system", "content": "S"}, HELLO, HELLO, HI, HELLO),
        [{"role": "system", "content": "S"}, HI, HELLO], {"opening by the assistant cut"},
    ),
    "open last turn stays for `select`": (said(HI, HELLO, BYE), [HI, HELLO, BYE], set()),
    "blank messages in the middle": (
        said(HI, {"role": "assistant", "content": " \n"}, BYE, HELLO, user(None), HELLO),
        [user("Hi\nBye"), {"role": "assistant", "content": "Hello\nHello"}],
        {"blank message removed", "messages of one speaker merged"},
    ),
    "expect is passed on, the last one where merged": (
        said(
            user("Hi", expect={"any": ["a"]}), user("you", expect={"any": ["b"], "kind": None}),
            {**HELLO, "expect": {"any": None}},
        ),
        [user("Hi\nyou", expect={"any": ["b"]}), HELLO],
        {"messages of one speaker merged"},
    ),
    "null expect, expect of a reply, other fields": (
        said(user("Hi", expect={"any": None}, weight=1), {**HELLO, "expect": {}, "id": 3}), PAIR, set(),
    ),
    "fields named after the speakers": (
        {"conversation": [{"input": "Hi", "output": "Hello"}, {"User": "Bye"}]}, [HI, HELLO, BYE],
        {"speaker renamed"},
    ),
    "list in a list": ({"dialog": [PAIR]}, PAIR, {"messages unwrapped"}),
    "JSON text": ({"messages": json.dumps(PAIR)}, PAIR, {"messages unwrapped"}),
    "Python text": ({"messages": str(PAIR)}, PAIR, {"messages unwrapped"}),
    "object of lists": (
        {"messages": {"role": ["user", "assistant"], "content": ["Hi", "Hello"]}}, PAIR,
        {"messages unwrapped"},
    ),
    "an object around the messages": ({"conversation": {"messages": PAIR}}, PAIR, {"messages unwrapped"}),
    "capitals and colons": (
        said({"Role": "Human:", "Content": "Hi"}, {"Role": "Assistant", "Content": "Hello"}), PAIR,
        {"speaker renamed"},
    ),
    "an author who is an object": (
        said({"author": {"role": "user"}, "content": "Hi"}, {"author": {"role": "assistant"}, "text": "Hello"}),
        PAIR, set(),
    ),
    "reasoning before a reply": (
        said(HI, {"role": "assistant", "content": "<think>\nHm.\n</think>\n\nHello"}), PAIR,
        {"thinking removed"},
    ),
    "a message of invisible characters": (said(user("\xa0\u200b"), HI, HELLO), PAIR, {"blank message removed"}),
    "a bare list": (PAIR, PAIR, set()),
    "unused tools": (
        {"tools": [{"name": "f"}], "messages": [{**HI, "tool_calls": [], "images": None}, HELLO]}, PAIR,
        set(),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("row", "messages", "changes"), CHANGED.values(), ids=CHANGED)
def test_what_becomes_of_a_row(row: object, messages: object, changes: set[str]) -> None:
    found = normalise(row)
    assert found.messages == messages
    assert set(found.changes) == changes


LOST: dict[str, tuple[object, str, str]] = {
    "image part": (
        said(user([{"type": "image_url", "image_url": {"url": "x"}}]), HELLO),
        "images or other parts that are no text", "message 1: 'image_url'",
    ),
    "image part without a type": (
        said(HI, {"role": "assistant", "content": [{"text": "See", "image": "x.png"}]}),
        "images or other parts that are no text", "message 2",
    ),
    "image field": (
        {"images": ["x.png"], "messages": PAIR}, "images or other parts that are no text", "'images'",
    ),
    "image field of a message": (
        said(user("Hi", images=["x.png"]), HELLO), "images or other parts that are no text",
        "message 1: field 'images'",
    ),
    "tool role": (said(HI, {"role": "tool", "content": "3"}, HELLO), "tool calls", "'tool'"),
    "tool call": (
        said(HI, {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}), "tool calls",
        "message 2",
    ),
    "sharegpt tools": (share(("human", "Hi"), ("observation", "3")), "tool calls", "observation"),
    "tool part": (
        said(HI, {"role": "assistant", "content": [{"type": "tool_use"}]}), "tool calls", "message 2",
    ),
    "another speaker": (share(("narrator", "Hi")), "unknown speaker", "message 1: 'narrator'"),
    "a list as speaker": (share((["human"], "Hi")), "unknown speaker", "human"),
    "two speakers": (said({**HI, "from": "gpt"}), "unknown speaker", "user, gpt"),
    "no speaker": (said({"content": "Hi"}), "messages of an unknown form", "content"),
    "no text": (said({"role": "user"}), "messages of an unknown form", "found keys: role"),
    "number": (said(user(5), HELLO), "content that is no text", "message 1: content is int"),
    "text": ({"conversations": "Hi"}, "messages of an unknown form", "'conversations' is str"),
    "strings": ({"dialog": ["Hi", "Hello"]}, "messages of an unknown form", "message 1: found str"),
    "several": ({"messages": [PAIR, PAIR]}, "messages of an unknown form", "found list"),
    "empty": ({"messages": []}, "no whole exchange", "'messages' is empty"),
    "no user": (said(HELLO), "no whole exchange", ""),
    "nothing": ({"text": "Hi"}, "no messages", "found keys: text"),
    "scalar": (3, "messages of an unknown form", "int"),
    "one exchange": ({"prompt": "Hi", "response": "Hello"}, "one prompt with one response", "prompt"),
    "alpaca": ({"instruction": "Hi", "input": "", "output": "x"}, "one prompt with one response", ""),
    "one message": ({"role": "user", "content": "Hi"}, "one message a row", "role, content"),
    "half of an emoji": (said(user("\ud83d"), HELLO), "half a character", "message 1"),
    "half of an emoji in the id": ({"id": "\ud83d", **said(*PAIR)}, "half a character", "'id'"),
    "odd id": ({"id": {"$oid": "1"}, **said(*PAIR)}, "id that is no text", "'id' is dict"),
}  # fmt: skip


@pytest.mark.parametrize(("row", "reason", "fact"), LOST.values(), ids=LOST)
def test_of_what_no_dialogue_is_made(row: object, reason: str, fact: str) -> None:
    with pytest.raises(LostRowError) as caught:
        normalise(row)
    assert caught.value.reason == reason
    assert fact in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "identity"),
    [
        ({}, None),
        ({"id": None, "uuid": "u"}, "u"),
        ({"id": " ", "conversation_id": 7}, "7"),
        ({"id": 0, "uuid": "u"}, "0"),
    ],
)
def test_ids(fields: dict[str, object], identity: str | None) -> None:
    assert normalise({**fields, "messages": PAIR}).identity == identity


TEXTS = st.sampled_from([None, "", " ", "a", "b\n", [], ["a", {"text": "b"}]])
TURNS = st.lists(
    st.tuples(st.sampled_from([name for name, role in SPEAKERS.items() if role != "tool"]), TEXTS),
    max_size=8,
)


@settings(max_examples=60)
@given(TURNS)
def test_whatever_is_kept_is_a_dialogue_and_stays_as_it_is(turns: list[tuple[str, object]]) -> None:
    try:
        found = normalise(share(*turns))
    except LostRowError:
        return
    assert parse_dialogue({"id": "d", "messages": found.messages}).num_turns
    again = normalise(said(*found.messages))
    assert again.messages == found.messages
    assert again.changes == {}
