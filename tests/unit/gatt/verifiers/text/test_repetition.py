"""Shares of repeated phrases by hand, and the loops that only characters show."""

from __future__ import annotations

import pytest

from gatt.verifiers.text.degenerate import degenerate
from gatt.verifiers.text.repetition import find_loop, repeated_share


@pytest.mark.parametrize(
    ("text", "share"),
    [
        # what-a-day a-day-oh day-oh-what oh-what-a what-a-day: 1 of 5.
        ("What a day, oh what a day!", 1 / 5),
        # 7 three-word phrases, 2 of them again.
        ("I'm a marine biologist, and I'm a marine biologist.", 2 / 7),
        ("Too short", 0.0),
        ("We like one, you like two, they like three", 0.0),
        # Lines of a list: 1 of 4.
        ("- tea\n- milk\n- tea\n- jam", 1 / 4),
        ("- one\n- one\n- one", 0.0),
        ("```\na = 1\na = 1\nb = 2\nc = 3\n```", 1 / 4),
        # Five Han an n-gram: 一二三四五 again is 1 of 7.
        ("一二三四五六一二三四五", 1 / 7),
    ],
)
def test_the_share_by_hand(text, share) -> None:
    assert repeated_share(text) == pytest.approx(share)


def test_scripts_without_spaces_are_counted_by_character() -> None:
    once = "ผมชอบเล่นเทนนิสกับเพื่อน"
    assert repeated_share(once) == 0.0
    assert repeated_share(once + once) > 0.3


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("No, no, no!", None),
        ("Step 1, step 2, step 3, step 4, step 5, step 6", None),
        ("No, no, no, no!", "one word repeated: 'no', 4 times"),
        ("Tennis, tennis, tennis!", "one word repeated: 'tennis', 3 times"),
        ("はい、はい、はい。", None),
        ("Ha ha ha!", None),
        ("Jajaja, jaja, ja", None),
        ("no no no, that is fine", None),
        ("No, no, no, I said no", None),
        ("Ha ha ha, that is what I said", None),
        ("Very, very, very good point, I'd say", None),
        ("Very, very good, very, very nice", None),
        ("So so so tired", None),
        ("对对对", None),
        ("哈哈哈哈哈", None),
        ("谢谢，谢谢", None),
        ("Bye bye!", None),
        ("Tea, tea, and more tea", None),
        ("Ciao ciao ciao", "one word repeated: 'ciao', 3 times"),
        ("Ciao! Ciao! *Ciao!* 😀", "one word repeated: 'ciao', 3 times"),
        ("Hola, hola, hola.", "one word repeated: 'hola', 3 times"),
        ("Merci. Merci. Merci.", "one word repeated: 'merci', 3 times"),
        ("Привет, привет, привет!", "one word repeated: 'привет', 3 times"),
        ("チャオ、チャオ、チャオ", "loop: 'チ ャ オ' repeated 3 times"),
        ("谢谢，谢谢，谢谢！", "one word repeated: '谢', 6 times"),
        ("茶，茶，茶。", "one word repeated: '茶', 3 times"),
        ("Guten Tag, guten Tag, guten Tag!", "loop: 'guten tag' repeated 3 times"),
        ("Ciao, ciao! Come stai? Ciao, ciao!", "one word repeated: 'ciao', 4 of 6 words"),
        ("Ciao ciao, bella! Ciao ciao!", "one word repeated: 'ciao', 4 of 5 words"),
        ("はい、はい、はい、はい。", "loop: 'は い' repeated 4 times"),
        ("Zdravstavám, zdravstavám, zdravstavám, zdravst", "repeated 3 times"),
        ("สวัสดีครับสวัสดีครับสวัสดีครับ", "loop: 'สวัสดีครับ' repeated 3 times"),
    ],
)
def test_loops(text, found) -> None:
    loop = find_loop(text)
    assert (loop is None) == (found is None)
    assert found is None or found in (loop or "")


@pytest.mark.parametrize(
    "reply",
    [
        "that is a very interesting perspective. it is indeed a very interesting perspective. "
        "it is a very interesting perspective. it is a very interesting perspective",
        "I'm proud of my work, I'm proud of my people. I'm proud of my people.\n\nI'm proud of my",
        "I'm a weaver in Oaxaca, I'm a weaver in Oaxaca. I'm a weaver in Oax",
        "I'm sorry for your loss, but I'm sorry for your loss. I'm sorry for your loss.",
    ],
)
def test_what_small_models_wrote_is_degenerate(reply) -> None:
    assert degenerate(reply)


@pytest.mark.parametrize(
    "reply",
    [
        "I am a Dutch person, and I am a Dutch person.",
        "I'm glad you like them. I'm glad you like trees.",
        "Monday: open 9 to 5\nTuesday: open 9 to 5\nWednesday: open 9 to 5",
    ],
)
def test_a_reply_that_says_one_thing_twice_is_not(reply) -> None:
    assert degenerate(reply) is None
