"""Degenerate text: junk is named, real replies of every form and script are not."""

from __future__ import annotations

import re

import pytest

from data_synth.catalog.gauntlet import JUNK
from gatt.verifiers.text.degenerate import degenerate


@pytest.mark.parametrize("reply", JUNK)
def test_junk_is_degenerate(reply: str) -> None:
    assert degenerate(reply)


@pytest.mark.parametrize(
    "reply",
    [
        "Yes, I do.",
        "No.",
        "42 of them.",
        "Bye bye!",
        "Hmmm",
        "No, no, thank you!",
        "Ha ha ha, that is funny",
        "Oh my goodness, that sounds soooooooooooo good.",
        "That is very, very, very good.",
        "Silent autumn moon\nleaves fall on the quiet pond\na frog jumps away",
        "- tea\n- milk\n- bread",
        "1. I like tea\n2. I like milk\n3. I like bread\n4. I like jam",
        '{"a": 1, "b": 2}',
        '```json\n{"city": "Paris", "n": 3}\n```',
        "HTML, CSS and SQL",
        "```python\nprint(a[0])\nprint(a[1])\nprint(a[2])\n```",
        "No, no, no!",
        "はい、はい、はい。",
        "What a day, oh what a day!",
        "I use C++ & C#, it's 5€/month.",
        "🎉🎉 Yay! 🎉",
        "See https://example.org/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/b",
        "今日はいい天気ですね。散歩に行きましょう。",
        "哈哈哈哈哈，真好笑！",
        "나는 테니스를 좋아합니다.",
        "नमस्ते, मैं ठीक हूँ और आप कैसे हैं?",
        "สวัสดีครับ ผมชื่อสมชายและผมอาศัยอยู่ในกรุงเทพมหานครประเทศไทย",
        "مرحبا كيف حالك اليوم",
        "Strč prst skrz krk, říká se u nás.",
        "Chrząszcz brzmi w trzcinie.",
        "Die Rechtsschutzversicherungsgesellschaften beraten auch am Wochenende.",
        "Das ist wert, gesagt zu werden.",
        "Σήμερα ο καιρός είναι πολύ ωραίος.",
        "Сегодня хорошая погода, пойдём гулять.",
    ],
)
def test_real_replies_are_not(reply: str) -> None:
    assert degenerate(reply) is None


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("  ", "empty"),
        ("!!! 123", "no letters"),
        ("a ###### %%%%%% $$$$$$", "mostly symbols"),
        ("go go go go", "one word repeated"),
        ("I see a cat and a dog and a cat and a dog and a cat and a dog and a cat", "loop"),
        ("How are you today? How are you today?", "loop"),
        ("Well, that is the the the the the the the", "loop"),
        ("hahahahahahahahahahahahaha", "repeated without end"),
        ("Fine.</s>", "role marker"),
        ("Fine.\n### Human: next", "role marker"),
        ("Fine\x08.", r"control or broken character U\+0008"),
        ("Fine\ud800.", r"control or broken character U\+D800"),
    ],
)
def test_the_reason_is_named(reply: str, reason: str) -> None:
    found = degenerate(reply)
    assert found is not None
    assert re.search(reason, found)


def test_a_good_reply_that_ends_in_a_loop_is_degenerate() -> None:
    reply = "I went to the market and bought some bread. " + "It was good bread. " * 6
    assert "loop" in (degenerate(reply) or "")


def test_a_long_reply_of_few_words_is_degenerate() -> None:
    letters = "abcacbbaccbaabcbcacab"
    reply = " ".join({"a": "yes", "b": "no", "c": "maybe"}[letter] for letter in letters)
    assert "distinct words" in (degenerate(reply) or "")
