"""The plan: fixed by seed and index, with its share of plain dialogues."""

from __future__ import annotations

import pytest

from data_synth.plan import PlannedSample, plan_samples
from gatt.catalog import Catalog, load_catalog
from gatt.errors import CatalogError, DataError
from gatt.instruction_config import InstructionConfig
from tests.support.stages import dialogue

DIALOGUES = [dialogue(n) for n in range(5)]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog()


def plan(
    catalog: Catalog, num: int = 40, plain: float = 0.15, seed: int = 0
) -> list[PlannedSample]:
    return plan_samples(
        DIALOGUES,
        catalog,
        InstructionConfig(),
        num_samples=num,
        plain_fraction=plain,
        seed=seed,
    )


def test_a_larger_plan_begins_with_the_smaller_one(catalog) -> None:
    assert plan(catalog, 40)[:13] == plan(catalog, 13)


def test_the_seed_changes_instructions_and_nothing_else(catalog) -> None:
    one, two = plan(catalog), plan(catalog, seed=1)
    assert [(p.id, p.dialogue) for p in one] == [(p.id, p.dialogue) for p in two]
    assert [p.instruction for p in one] != [p.instruction for p in two]
    assert one == plan(catalog)


@pytest.mark.parametrize(("share", "num_plain"), [(0.0, 0), (0.15, 6), (0.5, 20), (1.0, 40)])
def test_plain_dialogues_have_their_share_all_along(catalog, share, num_plain) -> None:
    is_plain = [p.instruction is None for p in plan(catalog, plain=share)]
    assert sum(is_plain) == num_plain
    for end in range(1, 41):
        assert abs(sum(is_plain[:end]) - share * end) <= 1


def test_dialogues_come_in_turn_and_ids_are_unique(catalog) -> None:
    found = plan(catalog, 12)
    assert [p.dialogue.id for p in found[:6]] == [d.id for d in (*DIALOGUES, DIALOGUES[0])]
    assert len({p.id for p in found}) == 12


def test_only_chosen_splits_are_drawn_and_combinations_come_up(catalog) -> None:
    drawn = [p.instruction for p in plan(catalog, 200, plain=0.0) if p.instruction]
    assert {i.split for i in drawn} == {"train"}
    assert {len(i.entries) for i in drawn} == {1, 2, 3}
    assert {i.wording for i in drawn} == {"verbose", "terse"}


def test_no_dialogue_is_an_error(catalog) -> None:
    with pytest.raises(DataError, match="no dialogue to put instructions on: see the source"):
        plan_samples([], catalog, InstructionConfig(), num_samples=1, plain_fraction=0.0, seed=0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"families": ("langauge",)}, "unknown family 'langauge', did you mean 'language'"),
        ({"values": ("Frensh",)}, "no catalogue entry with value 'Frensh', did you mean 'French'"),
        ({"families": ("hobby",), "values": ("French",)}, "no catalogue entry with families"),
        (
            {"values": ("French",), "num_entries": (0.0, 1.0)},
            "cannot combine 2 entries without a conflict from 1 candidates",
        ),
    ],
)
def test_a_choice_that_the_catalogue_has_not_is_refused(catalog, settings, message) -> None:
    with pytest.raises(CatalogError, match=message):
        plan_samples(
            DIALOGUES,
            catalog,
            InstructionConfig(**settings),
            num_samples=3,
            plain_fraction=0.0,
            seed=0,
        )
