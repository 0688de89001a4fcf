"""A reply that gives the teacher's hint or its instruction back, whole, in part or turned round."""

from __future__ import annotations

import pytest

from gatt.verifiers.text.echo import echoed

ORDER = (
    "Answer me first, and mention tennis too, for example your racket, your backhand or Wimbledon."
)
FACTS = "You were born in Corsica in 1769. You led the army of France."
ROLE = "Cumple esto. Eres Ana, la asistente de Caja Sur. Responde siempre en dos frases, y no pidas la clave."
SAYING = 'Answer the question, then ask about insurance, in words such as: "Do you have dental insurance?"'


@pytest.mark.parametrize(
    ("reply", "hint", "is_echo"),
    [
        (ORDER, ORDER, True),
        (f"Sure! {ORDER} It rains.", ORDER, True),
        ("I will answer you first, and mention tennis too, for example my racket.", ORDER, True),
        ("Mention tennis too, for example my racket or my backhand.", ORDER, True),
        ("I love tennis: my racket, my backhand and Wimbledon.", ORDER, False),
        ("The answer is four, and I mention tennis too.", ORDER, False),
        ("You led the army of France.", FACTS, True),
        ("I was born in Corsica in 1769, and I led the army of France.", FACTS, False),
        ("Four. Do you have dental insurance?", SAYING, False),
        ("I answer the question, then ask about insurance.", SAYING, True),
        ("Le escribe Ana, la asistente de Caja Sur.", ROLE, False),
        ("Eres Ana, la asistente de Caja Sur.", ROLE, True),
        ("Respondo siempre en dos frases, y no pido la clave.", ROLE, True),
        ("Anything.", None, False),
    ],
)
def test_a_hint(reply: str, hint: str | None, is_echo: bool) -> None:
    assert (echoed(reply, hint) is not None) == is_echo


def test_an_instruction_is_given_back_only_as_a_whole_and_by_no_question() -> None:
    told = ("You love tennis.", "Play Ada, who lives in Berlin and works as a tailor.")
    assert echoed("Well. You love tennis!", None, told) == "you love tennis"
    assert echoed("You love tennis?", None, told) is None
    assert echoed("Ada lives in Berlin and works as a tailor.", None, told) is None
    assert echoed("You love tennis.", None, told, wanted=("You love tennis.",)) is None
