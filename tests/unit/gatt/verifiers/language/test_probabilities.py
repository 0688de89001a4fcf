"""Letter groups, function words and letters, and what each of them adds."""

from __future__ import annotations

import pytest

from gatt.verifiers.language.probabilities import (
    FUNCTION_WORDS,
    LANGUAGES,
    LETTERS,
    NEIGHBOURS,
    probabilities,
)
from gatt.verifiers.language.text import plain_text, telling_text


def test_probabilities_add_up_and_hold_the_asked_language() -> None:
    found = probabilities("Jeg ved ikke, hvad jeg skal gøre.", "hu")
    assert sum(found.values()) == pytest.approx(1.0)
    assert max(found, key=lambda code: found[code]) == "da"
    assert found["hu"] < 1e-3
    assert set(found) <= set(LANGUAGES)


def test_function_words_mend_what_letter_groups_get_wrong() -> None:
    text = "el objeto con clave primaria no existe."
    assert probabilities(text, "es")["es"] > 0.9


def test_every_latin_language_has_words_and_letters() -> None:
    latin = set(LANGUAGES) - {"el", "ru", "zh", "ja", "ko"}
    assert latin <= set(FUNCTION_WORDS) == set(LETTERS) <= latin | {"ru"} | set(NEIGHBOURS)
    for code, listed in FUNCTION_WORDS.items():
        assert len(listed) >= 100 or code in NEIGHBOURS
        strange = {w for w in listed for c in w if not c.isascii() and c not in LETTERS[code]}
        assert strange == set(), code


@pytest.mark.parametrize(
    ("reply", "code", "left"),
    [
        ("Voir `a b c` et /usr/lib/x.py ou foo_bar(x)", "fr", "Voir et ou"),
        ("Le format est AAAA-MM-JJ pour DEBUG=True ici", "fr", "Le format est pour ici"),
        ("Je suis Anna Müller et j'habite à Rome.", "fr", "Je suis et j'habite à ."),
        ("Ich mag Hunde und Katzen", "de", "Ich mag Hunde und Katzen"),
        ("ALLES GROSS GESCHRIEBEN", "nl", "ALLES GROSS GESCHRIEBEN"),
        ("Мне нравится Deep Purple сегодня", "ru", "Мне нравится сегодня"),
    ],
)
def test_what_tells_the_language_is_left(reply: str, code: str, left: str) -> None:
    assert telling_text(plain_text(reply), code).split() == left.split()
