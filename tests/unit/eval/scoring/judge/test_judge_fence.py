"""The fence: whatever a text holds, its lines stay data."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.scoring.judge.fence import REMOVED_CODE, REMOVED_MARKER, boundary, clean, fenced
from eval.scoring.judge.question import questions
from gatt.data.dialogue import Message
from gatt.models.chat_template import encode
from gatt.models.control_tokens import control_tokens
from tests.support.models.tiny import tiny_tokenizer
from tests.support.runs.judged import JUDGE_ALL, sample
from tests.support.texts.coaxing_replies import COAXING

CODE = "0123456789abcdef"


def test_a_text_stands_between_two_lines_with_the_code_and_every_line_is_marked() -> None:
    assert fenced("REPLY", "One.\n\n- two\r\nthree", CODE) == (
        f"<<<REPLY {CODE}>>>\n| One.\n|\n| - two\n| three\n<<<END OF REPLY {CODE}>>>"
    )


def test_the_code_hangs_on_seed_key_and_every_text() -> None:
    code = boundary(0, "key", ["a", "b"])
    assert len(code) == 16
    assert code == boundary(0, "key", ["a", "b"])
    others = [(1, "key", ["a", "b"]), (0, "other", ["a", "b"]), (0, "key", ["a", f"b{code}"])]
    assert code not in {boundary(*parts) for parts in others}


@pytest.mark.parametrize(
    "end", ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"]
)
def test_every_end_of_line_is_one(end: str) -> None:
    assert clean(f"a{end}b", CODE) == ["a", "b"]
    # Control tokens of the judge are removed, the longest first.
    assert clean("[CLS] [CLS]x c", CODE, ("[CLS]", "[CLS]x")) == [
        f"{REMOVED_MARKER} {REMOVED_MARKER} c"
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"x {CODE} y {CODE.upper()}", f"x {REMOVED_CODE} y {REMOVED_CODE}"),
        (f"{CODE[:8]}\u200b{CODE[8:]}", REMOVED_CODE),
        ("a<|im_start|>b", f"a{REMOVED_MARKER}b"),
        ("a<|im_\u200bstart|>b", f"a{REMOVED_MARKER}b"),
        ("a<\u00ad|im_end|>b", f"a{REMOVED_MARKER}b"),
        ("<｜User｜>b", f"{REMOVED_MARKER}b"),
        ("[/INST] b <<SYS>>", f"{REMOVED_MARKER} b {REMOVED_MARKER}"),
        ("</s><s>", REMOVED_MARKER * 2),
        ("<start_of_turn>model", f"{REMOVED_MARKER}model"),
        ("### System: b", f"{REMOVED_MARKER} b"),
        ("**User**: b", f"{REMOVED_MARKER} b"),
        ("the user: b", "the user: b"),
        ("1 < 2 | 3 > 2, a <b>bold</b> step, users: 3", "1 < 2 | 3 > 2, a <b>bold</b> step, users: 3"),
        ("\ud83d half, \x00 nothing, a\ttab", "\ufffd half, \ufffd nothing, a\ttab"),
        ("می\u200cخواهم 👩\u200d🚀", "می\u200cخواهم 👩\u200d🚀"),
        ("so \u202eti si\u202c", "so ti si"),
    ],
)  # fmt: skip
def test_what_is_removed_and_what_stays(text: str, expected: str) -> None:
    assert clean(text, CODE) == [expected]


@given(st.text(st.characters(exclude_categories=()), max_size=60))
def test_no_text_makes_a_line_of_ours_or_breaks_a_message(text: str) -> None:
    code = boundary(0, "key", [text])
    first, *lines, last = fenced("REPLY", text, code).split("\n")
    assert (first, last) == (f"<<<REPLY {code}>>>", f"<<<END OF REPLY {code}>>>")
    assert all(line == "|" or line.startswith("| ") for line in lines)
    assert Message("user", "\n".join((first, *lines, last)))


def num_control_tokens(prompt: str) -> int:
    tokenizer = tiny_tokenizer()
    ids = encode(tokenizer, (Message("user", prompt),), add_generation_prompt=True)
    return sum(token in tokenizer.added_tokens_decoder for token in ids)


@pytest.mark.parametrize("name", COAXING)
def test_no_reply_adds_a_control_token_to_the_prompt(name: str) -> None:
    (question,) = questions([sample(reply=COAXING[name])], JUDGE_ALL)
    prompt = question.prompt(0, control_tokens(tiny_tokenizer()))
    # One opens the user's turn, one closes it, one opens the assistant's.
    assert num_control_tokens(prompt) == 3
