"""`inflections` and `plurals`: forms that count, and other words that do not."""

import pytest

from gatt.verifiers.text.inflection import inflections, plurals


@pytest.mark.parametrize(
    ("word", "forms"),
    [
        ("swim", {"swim", "swims", "swimming", "swam", "swum", "swimmer"}),
        ("hiking", {"hike", "hikes", "hiked", "hiker", "hikers"}),
        ("bake", {"baking", "baked", "baker", "bakers"}),
        ("study", {"studies", "studied", "studying"}),
        ("tie", {"tying"}),
        ("travel", {"travelled", "traveled", "travelling"}),
        ("knife", {"knives"}),
        ("paint", {"painting", "paintings"}),
    ],
)
def test_forms_of_a_word_count(word, forms):
    assert forms <= inflections(word)


@pytest.mark.parametrize(
    ("word", "other"),
    [("corn", "corner"), ("bat", "batter"), ("bee", "being"), ("cod", "coding"), ("car", "caring"),
     ("even", "evening")],
)  # fmt: skip
def test_another_word_is_no_form(word, other):
    assert other not in inflections(word)


def test_a_name_has_its_plural_alone():
    assert plurals("tesla") == {"tesla", "teslas"}
    assert "men" in plurals("man")
    assert plurals("human") == {"human", "humans"}
