"""Sentences: abbreviations, initials, ellipses, quotations, lists, scripts, and what is mended."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gatt.verifiers.text.sentences import sentence_spans, sentences


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("I like tea.", 1),
        ("Dr. Smith met Mrs. Jones, e.g. at 5 p.m. today.", 1),
        ("He lives in the U.S. now.", 1),
        ("He lives in the U.S. It is large.", 2),
        ("It costs 3.50 dollars, i.e. less.", 1),
        ("Well... maybe.", 1),
        ("Well... I think so.", 1),
        ("I waited... Then it came.", 2),
        ('"Stop!" he said.', 1),
        ('He said: "Stop!" Then he left.', 2),
        ("What?! No way!!", 2),
        ("J. K. Rowling wrote it.", 1),
        ("hello there. how are you?", 2),
        ("Fine. 😊", 1),
        ("**Fine.** *Good.*", 2),
        ("1. Buy bread.\n2. Eat it.", 2),
        ("- buy bread\n- eat it", 2),
        ("A heading\n\nAnd a text", 2),
        ("a soft\nline break.", 1),
        ("今日は。元気？", 2),
        ("No. I do not.", 2),
    ],
)
def test_sentences(text: str, number: int) -> None:
    assert len(sentences(text)) == number, sentences(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # A whole quotation or bracket is not one sentence.
        ('"Yes, I do. It is fine."', ['"Yes, I do.', 'It is fine."']),
        ("(I feel bad. They do not.)", ["(I feel bad.", "They do not.)"]),
        ("“Yes. No,” he said. “It is.”", ["“Yes.", "No,” he said.", "“It is.”"]),
        ("It was cold (very cold!) and dark.", ["It was cold (very cold!) and dark."]),
        # Emphasis goes with the sentence that it closes.
        ("**Fine.** *Good.*", ["**Fine.**", "*Good.*"]),
        ("I am *so.* Really.", ["I am *so.*", "Really."]),
        # A quotation that opens right behind a mark is not closed there.
        ('In that case..."Go on."', ["In that case...", '"Go on."']),
        # Marks in a row, and marks with a space before them.
        ("Yeah!! i thought so.", ["Yeah!!", "i thought so."]),
        ("Thanks!!! I like it.", ["Thanks!!!", "I like it."]),
        ("it may ! that is it", ["it may !", "that is it"]),
        ("Et vous ? Oui.", ["Et vous ?", "Oui."]),
        # Words that are abbreviations elsewhere.
        ("He told me. I left.", ["He told me.", "I left."]),
        ("No. Nobody came. No. 5 did.", ["No.", "Nobody came.", "No. 5 did."]),
        ("It is ok. we can go", ["It is ok.", "we can go"]),
        ("Neither do I. I am tired.", ["Neither do I.", "I am tired."]),
        ("Tea, milk etc. I drink it all.", ["Tea, milk etc.", "I drink it all."]),
        ("I am from the U.S. I like it.", ["I am from the U.S.", "I like it."]),
        # And abbreviations in front of words that start sentences.
        ("I wait for Mr. Right to come.", ["I wait for Mr. Right to come."]),
        ("Ask things (e.g. How old?) now.", ["Ask things (e.g. How old?) now."]),
        # The number of an item is no sentence, nor is a spaced ellipsis the end of one.
        ("13. What is it?", ["13. What is it?"]),
        ("That is . . . hard.", ["That is . . . hard."]),
        ("Well...I think so.", ["Well...I think so."]),
        # Headings, and line ends of other systems.
        ("# Tea\nIt is good.\nVery.", ["# Tea", "It is good.", "Very."]),
        ("\r\nOne.\r\n\r\nTwo", ["One.", "Two"]),
        # Other languages.
        ("今天天气很好。我们去吧！好吗？", ["今天天气很好。", "我们去吧！", "好吗？"]),
        ("彼は「そうですか。」と言った。", ["彼は「そうですか。」と言った。"]),
        ("यह किताब है। वह कलम है।", ["यह किताब है।", "वह कलम है।"]),
        ("J'aime M. Dupont. Et vous ?", ["J'aime M. Dupont.", "Et vous ?"]),
        ("", []),
        (" \n 😊 — ", []),
    ],
)
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
def test_spans_lie_in_order_inside_the_text(text: str) -> None:
    last = 0
    for start, end in sentence_spans(text):
        assert last <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        last = end


def test_no_letter_is_lost() -> None:
    text = 'Dr. No said: "Well... I won\'t!" **Really?!** He did (in the U.S. at 5 p.m.) so. Fine'
    spans = sentence_spans(text)
    kept = {index for start, end in spans for index in range(start, end)}
    assert all(index in kept for index, character in enumerate(text) if character.isalnum())


def test_long_runs_of_one_mark_are_no_trap() -> None:
    for mark in ("!", ".", '"', " ", "(", "\n", "x'", "1. "):
        assert len(sentences(mark * 5000 + "so")) <= 5001
