"""Words, syllables, spellings of chats, negations: what the rules count and read."""

from __future__ import annotations

import pytest

from gatt.verifiers.forms.whole import syllables
from gatt.verifiers.text.matching import inflections, plurals
from gatt.verifiers.text.words import words
from gatt.verifiers.topics.addressed import as_meant, clauses_around, is_denied
from tests.unit.gatt.verifiers.text.cases import CASES


def test_words_of_several_scripts() -> None:
    spelt = ["I", "don't", "like", "well-known", "3.14", "ok"]
    assert words("I don't like well-known 3.14, ok?") == spelt
    assert words("我喜欢tea") == ["我", "喜", "欢", "tea"]
    assert len(words("नमस्ते दुनिया")) == 2


@pytest.mark.parametrize(
    ("word", "number"),
    [("cat", 1), ("silence", 2), ("water", 2), ("apple", 2), ("jumped", 1), ("wanted", 2),
     ("poet", 2), ("lion", 2), ("nation", 2), ("the", 1), ("beautiful", 3), ("moonlight", 2),
     ("queen", 1), ("leaves", 1), ("don't", 1)],
)  # fmt: skip
def test_syllables(word: str, number: int) -> None:
    assert syllables(word) == number


@pytest.mark.parametrize(
    ("typed", "terms", "meant"),
    [
        ("whats ur order nr?", [], "what's your order number?"),
        ("your policy no.?", [], "your policy number?"),
        ("no. tea", [], "no. tea"),
        ("medecine", ["medicine"], "medicine"),
        ("ariving", ["arriving"], "arriving"),
        ("breakafst", ["breakfast"], "breakfast"),
        # Other words, no slips.
        ("advised", ["adviser"], "advised"),
        ("driving", ["arriving"], "driving"),
    ],
)
def test_spellings_of_chats(typed: str, terms: list[str], meant: str) -> None:
    assert as_meant(typed, tuple(terms)) == meant


@pytest.mark.parametrize(("clause", "denied"), CASES["negations"])
def test_negations_are_counted(clause: str, denied: bool) -> None:
    assert is_denied(clause) is denied


def test_a_clause_is_cut_where_another_subject_begins() -> None:
    text = "we have no lift, but you can use the stairs, which are wide"
    start = text.index("stairs")
    [clause] = clauses_around(text, start, start + 1)
    assert clause.strip() == "but you can use the stairs"


@pytest.mark.parametrize(
    ("word", "forms"),
    [
        ("swim", {"swim", "swims", "swimming", "swam", "swum", "swimmer"}),
        ("hiking", {"hike", "hikes", "hiked", "hiker", "hikers"}),
        ("bake", {"baking", "baked", "baker", "bakers"}),
        ("study", {"studies", "studied", "studying"}),
        ("travel", {"travelled", "traveled", "travelling"}),
        ("knife", {"knives"}),
    ],
)
def test_forms_of_a_word_count(word: str, forms: set[str]) -> None:
    assert forms <= inflections(word)


def test_another_word_is_no_form() -> None:
    pairs = {"corn": "corner", "bat": "batter", "bee": "being", "cod": "coding", "even": "evening"}
    assert [word for word, other in pairs.items() if other in inflections(word)] == []
    assert plurals("tesla") == {"tesla", "teslas"}
    assert "men" in plurals("man")
    assert plurals("human") == {"human", "humans"}
