"""Sentences: abbreviations, initials, ellipses, quotations, lists, scripts, and what is mended."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gatt.verifiers.text.sentences import sentence_spans, sentences
from tests.unit.gatt.verifiers.text.cases import CASES


@pytest.mark.parametrize(("text", "number"), CASES["num_sentences"])
def test_sentences(text: str, number: int) -> None:
    assert len(sentences(text)) == number, sentences(text)


@pytest.mark.parametrize(("text", "expected"), CASES["sentences"])
def test_what_is_mended(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@settings(max_examples=400, deadline=None)
@given(
    st.text(st.characters(exclude_categories=()), max_size=60)
    | st.lists(
        st.sampled_from([
            *".!?…\"'“”()[]*_`#-:;, \n\r\t\u00a0\u2028\u3000\u0301\u200d。？日éİ",
            "...", "Dr", "U.S", "No", "me", "I", "e.g", "Mr", "A", "13. ", "- ", "?!", "\r\n",
            "\n\n", "a@b.com", "www.x.y", "😊", "tea", "\ud800",
        ]),
        max_size=25,
    ).map("".join)
)  # fmt: skip
@example("I\u00a0.- I U.S")
@example("\ud800 b. c")
def test_spans_lie_in_order_inside_the_text_and_lose_no_letter(text: str) -> None:
    last, letters = 0, ""
    for start, end in sentence_spans(text):
        assert last <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        last, letters = end, letters + "".join(c for c in text[start:end] if c.isalpha())
    assert letters == "".join(c for c in text if c.isalpha())


def test_long_runs_of_one_mark_are_no_trap() -> None:
    for mark in ("!", ".", '"', " ", "(", "\n", "x'", "1. "):
        assert len(sentences(mark * 5000 + "so")) <= 5001
