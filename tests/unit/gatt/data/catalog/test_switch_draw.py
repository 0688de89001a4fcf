"""Chances of changes: which are drawn, in which words, and values out of range."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest

from gatt.data.catalog.choice import InstructionConfig
from gatt.data.catalog.read import Catalog, load_catalog
from gatt.data.catalog.switch_draw import SwitchConfig, SwitchDraw
from gatt.data.catalog.switch_wording import EVALUATION, TRAINING
from gatt.data.instruction import compose
from gatt.errors import ConfigError, DataError


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog()


def drawer(catalog: Catalog, families: tuple[str, ...] = (), **settings) -> SwitchDraw:
    choice = InstructionConfig(families=families, num_entries=(1.0,))
    return SwitchDraw(SwitchConfig(**settings), catalog, choice.pool(catalog), 0.5)


def given(catalog: Catalog, *names: str):
    return compose([catalog.entry(n) for n in names], random.Random(0))


def draws(draw: SwitchDraw, instruction, num: int = 300, num_turns: int = 20, **settings):
    rngs = (random.Random(f"d/{n}") for n in range(num))
    return [draw.draw(instruction, num_turns, rng, **settings) for rng in rngs]


def test_chances_turns_and_places_are_those_of_the_configuration(catalog) -> None:
    draw = drawer(catalog, replace=0.3, add=0.1, cancel=0.2, min_turn=4, max_turn=6, system=0.25)
    found = draws(draw, given(catalog, "hobby.tennis"), 600)
    kinds = Counter(s.kind if s else None for s in found)
    # Four standard errors of a share of 600 draws are at most 0.08.
    for kind, share in (("replace", 0.3), ("add", 0.1), ("cancel", 0.2), (None, 0.4)):
        assert kinds[kind] / 600 == pytest.approx(share, abs=0.08)
    made = [s for s in found if s]
    assert {s.turn for s in made} == {4, 5, 6}
    assert sum(s.place == "system" for s in made) / len(made) == pytest.approx(0.25, abs=0.09)


def test_a_replaced_instruction_shares_no_entry_and_an_added_one_no_conflict(catalog) -> None:
    old = given(catalog, "hobby.tennis")
    for switch in draws(drawer(catalog, replace=0.5, add=0.5), old):
        if switch.kind == "replace":
            assert not set(switch.instruction.entries) & set(old.entries)
            assert switch.instruction.text in switch.text
            continue
        first, second = catalog.entries_of(switch.instruction)
        assert not catalog.conflicts.between(first, second)
        added = switch.instruction.text.removeprefix(old.text + " ")
        assert added in switch.text
        assert old.text not in switch.text
        assert switch.instruction.verifiers == (*first.verifiers, *second.verifiers)


# Two hobbies exclude each other: in their pool alone fewer go together.
@pytest.mark.parametrize(("families", "num_entries"), [((), 2), (("hobby",), 1)])
def test_a_replacement_has_as_many_entries_as_go_together(catalog, families, num_entries) -> None:
    two = given(catalog, "hobby.tennis", "behaviour.dental.insurance")
    found = draws(drawer(catalog, families, replace=1.0), two, 20)
    assert {len(switch.instruction.entries) for switch in found} == {num_entries}


def test_what_cannot_be_added_leaves_its_chance_to_the_others(catalog) -> None:
    """Nothing but forms goes with a language, and forms are held out of training."""
    french = given(catalog, "language.fr")
    families = ("language", "hobby", "figure")
    kinds = {
        s.kind if s else None for s in draws(drawer(catalog, families, add=0.5, cancel=0.5), french)
    }
    assert kinds == {"cancel"}
    assert not any(draws(drawer(catalog, families, add=1.0), french))
    only = drawer(catalog, families, replace=0.5, cancel=0.5)
    assert {s.kind for s in draws(only, french, kinds=("replace",)) if s} == {"replace"}


def test_a_dialogue_too_short_goes_without(catalog) -> None:
    draw = drawer(catalog, cancel=1.0, min_turn=5)
    old = given(catalog, "hobby.tennis")
    assert not any(draws(draw, old, 20, 4))
    assert {s.turn for s in draws(draw, old, 20, 5) if s} == {5}


def test_words_of_the_catalogue_take_an_instruction_back(catalog) -> None:
    entries = [catalog.entry("language.fr")]
    said = {TRAINING.of_end(entries, "verbose", random.Random(n)) for n in range(60)}
    assert {"You can stop speaking French now."} < said
    assert said > set(TRAINING.texts["cancel", "verbose"])
    terse = {TRAINING.of_end(entries, "terse", random.Random(n)) for n in range(60)}
    assert terse == {w.format(old="Language: French.") for w in TRAINING.texts["cancel", "terse"]}


@pytest.mark.parametrize("words", [TRAINING, EVALUATION])
def test_both_wordings_of_each_kind_hold_the_new_instruction(catalog, words) -> None:
    for terse in (0.0, 1.0):
        new = compose([catalog.entry("figure.napoleon")], random.Random(1), terse)
        for kind in ("replace", "add"):
            said = {words.of_new(kind, new, random.Random(n)) for n in range(60)}
            assert said == {w.format(new=new.text) for w in words.texts[kind, new.wording]}


def test_an_evaluation_announces_in_words_of_which_training_has_none(catalog) -> None:
    """Not even a sentence of them, or three words at a beginning."""
    assert EVALUATION.texts.keys() == TRAINING.texts.keys()

    def parts(words) -> set[str]:
        texts = [t.replace("{new}", "").replace("{old}", "") for w in words for t in w]
        sentences = {s.strip() for t in texts for s in re.split(r"[.:,]", t)} - {""}
        return sentences | {" ".join(t.split()[:3]) for t in texts}

    own = [e.cancel for e in catalog.entries if e.cancel]
    assert own
    assert not parts(EVALUATION.texts.values()) & parts([*TRAINING.texts.values(), *own])
    entries = [catalog.entry("language.fr")]
    said = {EVALUATION.of_end(entries, "verbose", random.Random(n)) for n in range(60)}
    assert said == set(EVALUATION.texts["cancel", "verbose"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "replace, add and cancel sum to 0: expected more than 0 and at most 1"),
        ({"replace": 0.7, "add": 0.5}, "sum to 1.2: expected more than 0 and at most 1"),
        ({"add": 1.0, "system": 2.0}, "system is 2.0: expected a share from 0 to 1"),
        ({"add": 1.0, "min_turn": 1}, "min_turn is 1: expected 2 or more, turn 1 holds the first"),
        ({"add": 1.0, "min_turn": 5, "max_turn": 4}, r"max_turn is 4: expected min_turn \(5\) or"),
    ],
)
def test_values_out_of_range_are_one_line(settings, message) -> None:
    with pytest.raises(ConfigError, match=message):
        SwitchConfig(**settings)


@pytest.mark.parametrize("key", ["min_turn", "max_turn"])
def test_turns_past_all_dialogues_are_one_line(key) -> None:
    # Shares that sum to one but for rounding are fine.
    config = SwitchConfig(replace=0.7, add=0.2, cancel=0.1, **{key: 30})
    longest = rf"switch\.{key} is 30, but the longest dialogue has 20 turns: lower it to 20"
    with pytest.raises(DataError, match=longest):
        config.refuse_past(20)
    config.refuse_past(30)
