"""The plan: fixed by seed and index, with its share of plain dialogues."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from data_synth.config import SynthConfig
from data_synth.plan import Plan, PlannedSample, plan_samples, sample_id
from gatt.data.catalog.choice import InstructionConfig
from gatt.data.catalog.read import Catalog, load_catalog
from gatt.data.dialogue import Dialogue
from gatt.errors import CatalogError, DataError
from tests.support.runs.stages import dialogue

DIALOGUES = [dialogue(n) for n in range(5)]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog()


def make_plan(
    catalog: Catalog,
    num: int = 40,
    plain: float = 0.15,
    seed: int = 0,
    dialogues: Sequence[Dialogue] = DIALOGUES,
    **instructions: Any,
) -> Plan:
    config = SynthConfig(
        output_dir=Path("o"),
        num_samples=num,
        plain_fraction=plain,
        seed=seed,
        instructions=InstructionConfig(**instructions),
    )
    return plan_samples(dialogues, catalog, config)


def plan(catalog: Catalog, *args: Any, **changes: Any) -> list[PlannedSample]:
    return list(make_plan(catalog, *args, **changes))


def test_a_planned_sample_is_the_same_whenever_and_in_which_order_it_is_asked_for(catalog) -> None:
    planned = make_plan(catalog)
    forwards = list(planned)
    assert [planned[index] for index in reversed(range(40))] == forwards[::-1]
    assert planned[36:] == forwards[36:]
    assert planned[-1] == forwards[-1]
    assert [p.id for p in forwards] == [sample_id(index) for index in range(40)]
    with pytest.raises(IndexError):
        planned[40]
    # A larger plan begins with the smaller one.
    assert plan(catalog, 13) == forwards[:13]


def test_the_digest_knows_dialogues_instructions_order_and_number(catalog) -> None:
    one = make_plan(catalog)
    assert one.digest == make_plan(catalog).digest
    changed = replace(catalog, entries=tuple(
        replace(e, hint="Another hint.") for e in catalog.entries
    ))  # fmt: skip
    digests = {
        one.digest, make_plan(catalog, seed=1).digest, make_plan(catalog, 41).digest,
        make_plan(catalog, dialogues=[dialogue(n) for n in (0, 1, 2, 3, 5)]).digest,
        make_plan(changed).digest, make_plan(catalog, terse_probability=1.0).digest,
    }  # fmt: skip
    assert len(digests) == 6


def test_the_seed_changes_instructions_and_in_which_order_dialogues_come_again(catalog) -> None:
    one, two = plan(catalog), plan(catalog, seed=1)
    assert [(p.id, p.dialogue) for p in one[:5]] == [(p.id, p.dialogue) for p in two[:5]]
    assert [p.instruction is None for p in one] == [p.instruction is None for p in two]
    assert [p.instruction for p in one] != [p.instruction for p in two]
    assert [p.dialogue for p in one] != [p.dialogue for p in two]


@pytest.mark.parametrize(("share", "num_plain"), [(0.0, 0), (0.15, 6), (0.5, 20), (1.0, 40)])
def test_plain_dialogues_have_their_share_all_along(catalog, share, num_plain) -> None:
    is_plain = [p.instruction is None for p in plan(catalog, plain=share)]
    assert sum(is_plain) == num_plain
    for end in range(1, 41):
        assert abs(sum(is_plain[:end]) - share * end) <= 1


def small_plan(catalog: Catalog, num: int, plain: float = 0.15) -> Plan:
    return make_plan(
        catalog,
        num,
        plain,
        dialogues=[dialogue(n) for n in range(20)],
        values=("French", "Spanish", "German"),
        num_entries=(1.0,),
    )


def test_a_small_source_never_gives_the_same_words_on_the_same_dialogue(catalog) -> None:
    drawn = [p for p in small_plan(catalog, 200) if p.instruction]
    pairs = Counter((p.dialogue.id, p.instruction.text) for p in drawn if p.instruction)
    assert len(drawn) == 170
    assert max(pairs.values()) == 1
    # Another instruction comes before another wording: the first 60 are 20 dialogues times 3.
    first = {(p.dialogue.id, p.instruction.id) for p in drawn[:60] if p.instruction}
    assert len(first) == 60
    assert set(Counter(p.dialogue.id for p in drawn).values()) == {8, 9}


def test_plain_dialogues_come_again_only_when_all_were_plain_once(catalog) -> None:
    def plain(num: int) -> list[str]:
        return [p.dialogue.id for p in small_plan(catalog, num) if p.instruction is None]

    assert len(plain(134)) == len(set(plain(134))) == 20
    assert set(Counter(plain(200)).values()) == {1, 2}


def test_more_samples_than_combinations_are_refused_with_what_can_be_made(catalog) -> None:
    # 3 languages in 4 verbose wordings and a terse one, on 20 dialogues.
    num = 20 * sum(
        len(e.verbose) + 1 for e in catalog.select((), (), ("French", "Spanish", "German"))
    )
    with pytest.raises(DataError) as caught:
        small_plan(catalog, num + 1, 0.0)
    with pytest.raises(DataError, match="no dialogue"):
        make_plan(catalog, dialogues=[])
    text = str(caught.value)
    found = re.search(
        r"num_samples is \d+, but 20 dialogues and 3 catalogue entries give (\d+) ", text
    )
    assert found, text
    most = int(found[1])
    assert 0.95 * num < most <= num
    assert f"set num_samples to {most}, or allow more dialogues or entries" in text
    assert len(small_plan(catalog, most, 0.0)) == most


def test_only_chosen_splits_are_drawn_and_combinations_come_up(catalog) -> None:
    drawn = [p.instruction for p in plan(catalog, 200, 0.0) if p.instruction]
    assert {i.split for i in drawn} == {"train"}
    assert {len(i.entries) for i in drawn} == {1, 2, 3}
    assert {i.wording for i in drawn} == {"verbose", "terse"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"values": ("Frensh",)}, "no catalogue entry with value 'Frensh', did you mean 'French'"),
        ({"families": ("hobby",), "values": ("French",)}, "no catalogue entry with families"),
        (
            {"values": ("French",), "exclude": ("language.fr",)},
            r"and values \['French'\], without \['language.fr'\]: allow more of them",
        ),
    ],
)
def test_a_choice_that_the_catalogue_has_not_is_refused(catalog, settings, message) -> None:
    with pytest.raises(CatalogError, match=message):
        make_plan(catalog, 3, 0.0, **settings)
