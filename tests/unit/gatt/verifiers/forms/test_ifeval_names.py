"""IFEval's ids as rules of ours: all 25, the published arguments, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from gatt.errors import VerifierError
from gatt.verifiers import build
from gatt.verifiers.ifeval import IFEVAL, spec_of

CASES: list[tuple[str, dict[str, Any], str, str]] = [
    ("keywords:existence", {"keywords": ["tea", "milk"]}, "Tea with milk.", "Tea alone."),
    (
        "keywords:frequency",
        {"keyword": "tea", "frequency": 2, "relation": "at least"},
        "Tea and more tea.",
        "One cup of tea.",
    ),
    (
        "keywords:frequency",
        {"keyword": "tea", "frequency": 2, "relation": "less than"},
        "One cup of tea.",
        "Tea and more tea.",
    ),
    ("keywords:forbidden_words", {"forbidden_words": ["tea"]}, "I like milk.", "I like tea."),
    (
        "keywords:letter_frequency",
        {"letter": "k", "let_frequency": 2, "let_relation": "less than"},
        "I like tea.",
        "I like milk.",
    ),
    (
        "keywords:letter_frequency",
        {"letter": "!", "let_frequency": 2, "let_relation": "at least"},
        "Hello! I like tea!",
        "I like tea!",
    ),
    (
        "language:response_language",
        {"language": "fr"},
        "Je pense que le tennis est un très beau sport.",
        "I think that tennis is a very nice sport.",
    ),
    (
        "length_constraints:number_sentences",
        {"num_sentences": 2, "relation": "less than"},
        "I like tea with a little milk.",
        "I like tea. You like milk.",
    ),
    (
        "length_constraints:number_paragraphs",
        {"num_paragraphs": 2},
        "I like tea.\n***\nYou like milk.",
        "I like tea.\n\nYou like milk.",
    ),
    (
        "length_constraints:number_words",
        {"num_words": 4, "relation": "at least"},
        "I like green tea.",
        "I like tea.",
    ),
    (
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "milk"},
        "Tea is good.\n\nMilk is better.",
        "Milk is good.\n\nTea is better.",
    ),
    (
        "detectable_content:number_placeholders",
        {"num_placeholders": 2},
        "Dear [name], come to [place].",
        "Dear [name], come here.",
    ),
    (
        "detectable_content:postscript",
        {"postscript_marker": "P.P.S"},
        "I like tea.\nP.P.S Bring milk.",
        "I like tea.\nP.S. Bring milk.",
    ),
    (
        "detectable_format:number_bullet_lists",
        {"num_bullets": 2},
        "* I like tea.\n* You like milk.",
        "* I like tea.\n* You like milk.\n* We eat.",
    ),
    ("detectable_format:constrained_response", {}, "My answer is no.", "I would say no."),
    (
        "detectable_format:number_highlighted_sections",
        {"num_highlights": 2},
        "I like *tea* and *milk*.",
        "I like *tea* and milk.",
    ),
    (
        "detectable_format:multiple_sections",
        {"section_spliter": "SECTION", "num_sections": 2},
        "SECTION 1\nI like tea.\nSECTION 2\nYou like milk.",
        "SECTION 1\nI like tea. You like milk.",
    ),
    ("detectable_format:json_format", {}, '["I like tea."]', "I like tea."),
    ("detectable_format:title", {}, "<<Tea>>\nI like it.", "Tea\nI like it."),
    (
        "combination:two_responses",
        {},
        "I like tea.\n******\nI like milk.",
        "I like tea. I like milk.",
    ),
    (
        "combination:repeat_prompt",
        {"prompt_to_repeat": "What is tea?"},
        "What is tea? It is a drink.",
        "It is a drink.",
    ),
    (
        "startend:end_checker",
        {"end_phrase": "Any other questions?"},
        "I like tea. Any other questions?",
        "Any other questions? I like tea.",
    ),
    ("startend:quotation", {}, '"I like tea."', "I like tea."),
    (
        "change_case:capital_word_frequency",
        {"capital_frequency": 1, "capital_relation": "less than"},
        "I like tea.",
        "I LIKE tea.",
    ),
    (
        "change_case:english_capital",
        {},
        "I REALLY LIKE TO DRINK A CUP OF TEA.",
        "I really like to drink a cup of tea.",
    ),
    (
        "change_case:english_lowercase",
        {},
        "i really like to drink a cup of tea.",
        "je pense que le tennis est un très beau sport.",
    ),
    ("punctuation:no_comma", {}, "I like tea and milk.", "I like tea, and milk."),
]


@pytest.mark.parametrize(("instruction_id", "kwargs", "good", "bad"), CASES)
def test_a_reply_that_follows_and_one_that_does_not(
    instruction_id: str, kwargs: dict[str, Any], good: str, bad: str
) -> None:
    verifier = build(spec_of(instruction_id, kwargs))
    assert verifier.check(good).status == "pass", verifier.check(good)
    assert verifier.check(bad).status == "fail", verifier.check(bad)


def test_all_25_are_there() -> None:
    assert len(IFEVAL) == 25
    assert {instruction_id for instruction_id, *_ in CASES} == set(IFEVAL)


def test_arguments_of_the_published_prompts_that_are_none_count_as_not_given() -> None:
    spec = spec_of(
        "detectable_content:number_placeholders", {"num_placeholders": 3, "letter": None}
    )
    assert spec.params == {"min": 3}


def test_norwegian_has_one_code_there() -> None:
    assert spec_of("language:response_language", {"language": "no"}).params == {"language": "nb"}


@pytest.mark.parametrize(
    ("instruction_id", "kwargs", "message"),
    [
        (
            "keywords:existance",
            {},
            "unknown IFEval instruction .*did you mean 'keywords:existence'",
        ),
        ("startend:end_checker", {}, "'startend:end_checker': no argument 'end_phrase'"),
        (
            "keywords:existence",
            {"keywords": ["tea"], "keyword": "tea"},
            r"has no argument 'keyword', did you mean 'keywords'\? \(known: keywords\)",
        ),
        ("startend:quotation", {"mark": "'"}, r"has no argument 'mark' \(known: none\)"),
        ("keywords:existence", {"keywords": []}, "'keywords:existence': verifier 'terms': no term"),
        ("language:response_language", {"language": "sw"}, "unknown language 'sw'"),
        (
            "length_constraints:number_words",
            {"num_words": 0, "relation": "less than"},
            "less than 0 in 'num_words': expected a number from 1 up",
        ),
        (
            "length_constraints:number_words",
            {"num_words": 2.5, "relation": "at least"},
            "'num_words' is 2.5: expected a whole number from 0 up",
        ),
        (
            "length_constraints:number_words",
            {"num_words": 9, "relation": "at most"},
            "'relation' is 'at most': expected 'at least' or 'less than'",
        ),
        (
            "length_constraints:nth_paragraph_first_word",
            {"num_paragraphs": 2, "nth_paragraph": 3, "first_word": "so"},
            "'paragraph' 3 is above 'num' 2",
        ),
    ],
)
def test_what_is_refused(instruction_id: str, kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(VerifierError, match=message):
        spec_of(instruction_id, kwargs)
