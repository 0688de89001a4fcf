"""The instructions of IFEval by their ids, as rules of ours.

Source: IFEval, arXiv:2311.07911, table 1, and the ids and arguments of its published prompts.
Where the rules differ on purpose, tests/unit/gatt/verifiers/forms/ifeval_deviations.yaml says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gatt.errors import VerifierError
from gatt.runs.suggest import did_you_mean
from gatt.verifiers.spec import VerifierSpec
from gatt.verifiers.table import build

CONSTRAINED_RESPONSES = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
COMMAS = (",", "，", "、", "،")
# The published prompts know one Norwegian.
_LANGUAGE_CODES = {"no": "nb"}

_Arguments = Mapping[str, Any]
Params = dict[str, Any]


def _keywords(given: _Arguments) -> Params:
    return {"all_of": list(given["keywords"])}


def _bounds(number: str, relation: str) -> Callable[[_Arguments], Params]:
    """Return what turns a number and "at least" or "less than" into bounds."""

    def bounds(given: _Arguments) -> Params:
        count, word = given[number], given[relation]
        if type(count) is not int or count < 0:
            raise VerifierError(f"{number!r} is {count!r}: expected a whole number from 0 up")
        if word == "at least":
            return {"min": count}
        if word != "less than":
            raise VerifierError(f"{relation!r} is {word!r}: expected 'at least' or 'less than'")
        if count == 0:
            raise VerifierError(f"less than 0 in {number!r}: expected a number from 1 up")
        return {"max": count - 1}

    return bounds


_frequency = _bounds("frequency", "relation")
_letters = _bounds("let_frequency", "let_relation")


def _keyword_frequency(given: _Arguments) -> VerifierSpec:
    bounds = _frequency(given)
    wanted = bounds["min"] if "min" in bounds else bounds["max"] + 1
    spec = {"kind": "terms", "any_of": [given["keyword"]], "min_count": wanted}
    return VerifierSpec.from_dict(spec if "min" in bounds else {"kind": "not", "of": spec})


def _english(case: str) -> Callable[[_Arguments], Params]:
    rules = [{"kind": "letter_case", "case": case}, {"kind": "language", "language": "en"}]
    return lambda _given: {"of": rules}


def _exactly(number: str, **more: object) -> Callable[[_Arguments], Params]:
    return lambda given: {"min": given[number], "max": given[number], **more}


def _at_least(number: str) -> Callable[[_Arguments], Params]:
    return lambda given: {"min": given[number]}


_Maker = Callable[[_Arguments], Params] | Callable[[_Arguments], VerifierSpec]

IFEVAL: dict[str, tuple[str, tuple[str, ...], _Maker]] = {
    "keywords:existence": ("terms", ("keywords",), _keywords),
    "keywords:frequency": (
        "terms",
        ("keyword", "frequency", "relation"),
        _keyword_frequency,
    ),
    "keywords:forbidden_words": (
        "excludes",
        ("forbidden_words",),
        lambda given: {"terms": list(given["forbidden_words"])},
    ),
    "keywords:letter_frequency": (
        "characters",
        ("letter", "let_frequency", "let_relation"),
        lambda given: {"character": given["letter"], **_letters(given)},
    ),
    "language:response_language": (
        "language",
        ("language",),
        lambda given: {"language": _LANGUAGE_CODES.get(given["language"], given["language"])},
    ),
    "length_constraints:number_sentences": (
        "sentences",
        ("num_sentences", "relation"),
        _bounds("num_sentences", "relation"),
    ),
    "length_constraints:number_paragraphs": (
        "paragraphs",
        ("num_paragraphs",),
        _exactly("num_paragraphs", divider="***"),
    ),
    "length_constraints:number_words": (
        "words",
        ("num_words", "relation"),
        _bounds("num_words", "relation"),
    ),
    "length_constraints:nth_paragraph_first_word": (
        "paragraph_start",
        ("num_paragraphs", "nth_paragraph", "first_word"),
        lambda given: {
            "paragraph": given["nth_paragraph"],
            "any_of": [given["first_word"]],
            "num": given["num_paragraphs"],
        },
    ),
    "detectable_content:number_placeholders": (
        "placeholders",
        ("num_placeholders",),
        _at_least("num_placeholders"),
    ),
    "detectable_content:postscript": (
        "postscript",
        ("postscript_marker",),
        lambda given: {"marker": given["postscript_marker"]},
    ),
    "detectable_format:number_bullet_lists": (
        "bullets",
        ("num_bullets",),
        _exactly("num_bullets", numbered=False),
    ),
    "detectable_format:constrained_response": (
        "one_of",
        (),
        lambda _given: {"options": list(CONSTRAINED_RESPONSES)},
    ),
    "detectable_format:number_highlighted_sections": (
        "highlights",
        ("num_highlights",),
        _at_least("num_highlights"),
    ),
    "detectable_format:multiple_sections": (
        "sections",
        ("section_spliter", "num_sections"),
        lambda given: {"marker": given["section_spliter"], "min": given["num_sections"]},
    ),
    "detectable_format:json_format": ("json", (), lambda _given: {}),
    "detectable_format:title": ("title", (), lambda _given: {}),
    "combination:two_responses": (
        "responses",
        (),
        lambda _given: {"num": 2, "divider": "******"},
    ),
    "combination:repeat_prompt": (
        "repeats",
        ("prompt_to_repeat",),
        lambda given: {"text": given["prompt_to_repeat"]},
    ),
    "startend:end_checker": (
        "ends_with",
        ("end_phrase",),
        lambda given: {"any_of": [given["end_phrase"]]},
    ),
    "startend:quotation": ("wrapped", (), lambda _given: {"left": '"', "right": '"'}),
    "change_case:capital_word_frequency": (
        "capital_words",
        ("capital_frequency", "capital_relation"),
        _bounds("capital_frequency", "capital_relation"),
    ),
    "change_case:english_capital": ("all", (), _english("upper")),
    "change_case:english_lowercase": ("all", (), _english("lower")),
    "punctuation:no_comma": ("excludes", (), lambda _given: {"characters": list(COMMAS)}),
}
"""Id -> our kind, the arguments that the id takes, and how they become parameters."""


def spec_of(instruction_id: str, kwargs: Mapping[str, Any]) -> VerifierSpec:
    """Return the rule of ours for an instruction of IFEval.

    Args:
        instruction_id: such as `keywords:existence`.
        kwargs: its arguments; those that are None count as not given, as in the
            published prompts.

    Raises:
        VerifierError: an unknown id (the nearest is named), an argument that is
            missing or unknown, or values that our rule refuses, such as a
            language that it cannot tell.
    """
    if instruction_id not in IFEVAL:
        hint = did_you_mean(instruction_id, IFEVAL)
        raise VerifierError(
            f"unknown IFEval instruction {instruction_id!r}{hint} (known: {', '.join(IFEVAL)})"
        )
    kind, names, make = IFEVAL[instruction_id]
    given = {name: value for name, value in kwargs.items() if value is not None}
    for name in names:
        if name not in given:
            raise VerifierError(f"IFEval instruction {instruction_id!r}: no argument {name!r}")
    for name in given:
        if name not in names:
            raise VerifierError(
                f"IFEval instruction {instruction_id!r} has no argument {name!r}"
                f"{did_you_mean(name, names)} (known: {', '.join(names) or 'none'})"
            )
    try:
        made = make(given)
        spec = made if isinstance(made, VerifierSpec) else VerifierSpec(kind, made)
        build(spec)
    except VerifierError as error:
        raise VerifierError(f"IFEval instruction {instruction_id!r}: {error}") from None
    return spec
