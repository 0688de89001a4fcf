"""The fixed strings of the arm `canned`: as good as a string can be, and no answer."""

from __future__ import annotations

import random

import pytest

from eval.cases.canned import canned_reply, with_canned
from eval.records.case import Case
from gatt.data.answers import answers
from gatt.data.bank.read import load_bank
from gatt.data.catalog.read import Catalog, load_catalog
from gatt.data.instruction import compose
from gatt.verifiers import check_all, overall
from tests.support.runs.judged import RULE, instruction
from tests.support.runs.stages import dialogue
from tests.support.runs.switched import case, to


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog()


def test_a_string_keeps_nearly_every_instruction_and_answers_hardly_any_question(catalog) -> None:
    entries = {entry.id: entry for entry in catalog.entries}
    rng = random.Random(0)
    questions = rng.sample(load_bank().questions, 10)
    kept, answered, num = 0, 0, 0
    for family in catalog.families:
        for entry in [e for e in catalog.entries if e.family == family][:4]:
            told = compose([entry], rng)
            said = canned_reply(told, entries)
            kept += overall(check_all(told.verifiers, said)) == "pass"
            num += 1
            answered += sum(
                answers(one.expectation, said, one.ask).status == "pass" for one in questions
            )
    assert kept >= 0.9 * num
    assert answered <= 0.02 * num * len(questions)


def test_an_instruction_of_a_case_file_gives_its_own_words_and_a_change_its_own_string() -> None:
    own = instruction(RULE, text="You enjoy tennis.")
    (found,) = with_canned([Case("c", dialogue(1, 2), own, None)], Catalog(()))
    assert found.canned == {own.id: "You enjoy tennis."}
    (found,) = with_canned([case(to("chess", 3))], Catalog(()))
    assert set(found.canned) == {"hobby.tennis", "hobby.chess"}
