"""Every kind on the replies of `replies.yaml`, and the parameters that it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from gatt.errors import VerifierError
from gatt.verifiers import Verdict, build, check_all, overall
from gatt.verifiers.judge import is_open
from gatt.verifiers.spec import VerifierSpec

CASES = yaml.safe_load(Path(__file__).with_name("replies.yaml").read_text(encoding="utf-8"))
TEA = {"kind": "terms", "any_of": ["tea"]}
JUDGE = {"kind": "judge", "rubric": "Kind."}


def check(rule: dict[str, Any], reply: str) -> Verdict:
    return build(VerifierSpec.from_dict(rule)).check(reply)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["rule"]["kind"])
def test_verdicts(case: dict[str, Any]) -> None:
    expected = [(s, r) for s in ("pass", "fail", "undecided") for r in case.get(s, ())]
    found = [(check(case["rule"], reply), status, reply) for status, reply in expected]
    assert [one for one in found if one[0].status != one[1]] == []
    for verdict, _, reply in found:
        start, end = verdict.span or (0, 0)
        assert 0 <= start <= end <= len(reply)


@pytest.mark.parametrize(
    ("rule", "reply", "evidence", "said"),
    [
        ({"kind": "says", "any_of": ["soup"]}, "No tea. Do try our soup!", "soup", "Do try our soup!"),
        ({"kind": "says", "any_of": ["soup"]}, "We have no soup.", "denies it", "We have no soup."),
        ({"kind": "terms", "any_of": ["Hauptstrasse"]}, "In der **Haupt**straße 5 bin ich.", "Haupt",
         "Haupt**straße"),
        ({"kind": "terms", "none_of": ["sugar"]}, "Two sugars for me.", "sugars", "sugars"),
        ({"kind": "terms", "all_of": ["tea", "milk"]}, "I drink tea.", "milk", None),
        ({"kind": "not", "of": TEA}, "I like tea.", "terms: says 'tea'", "tea"),
        ({"kind": "role", "names": ["Sue"]}, "My name is Tom, and my ward is full.", "another name",
         "My name is Tom"),
        ({"kind": "language", "language": "fr"}, "Oui, c'est vrai. I live in a small town now.",
         "English", "I live in a small town now."),
    ],
)  # fmt: skip
def test_evidence_says_what_was_found_and_where(
    rule: dict[str, Any], reply: str, evidence: str, said: str | None
) -> None:
    verdict = check(rule, reply)
    assert evidence in verdict.evidence
    assert (reply[slice(*verdict.span)] if verdict.span else None) == said


@pytest.mark.parametrize(
    ("kind", "params", "fact"),
    [
        ("words", {}, "'min'"),
        ("words", {"min": -1}, "-1"),
        ("lines", {"max": 2.5}, "2.5"),
        ("sentences", {"min": True}, "True"),
        ("paragraphs", {"min": 3, "max": 1}, "'max' 1"),
        ("bullets", {"min": 0}, "from 1 up"),
        ("emoji", {"min": None}, "'max'"),
        ("number", {"min": "1"}, "'1'"),
        ("letter_case", {"case": "camel"}, "'camel'"),
        ("separated", {"by": ""}, "'by'"),
        ("separated", {"by": "*", "max": 1}, "'max' 1"),
        ("part", {"which": "first", "unit": "page", "of": TEA}, "'page'"),
        ("excludes", {}, "'characters'"),
        ("excludes", {"characters": ["ab"]}, "'ab'"),
        ("excludes", {"characters": ","}, "','"),
        ("excludes", {"terms": "tea"}, "'tea'"),
        ("starts_with", {"any_of": []}, "'any_of'"),
        ("ends_with", {"any_of": ["bye"], "exact": 1}, "'exact' is 1"),
        ("json_object", {"keys": [1]}, "'keys.0' is 1"),
        ("wrapped", {"left": " ", "right": "x"}, "'left' ' '"),
        ("wrapped", {"left": "x", "right": 3}, "'right' is 3"),
        ("haiku", {"lines": 3}, "'lines'"),
        ("terms", {}, "'none_of'"),
        ("terms", {"all_of": ["tea", 3]}, "'all_of.1' is 3"),
        ("terms", {"none_of": [" "]}, "'none_of': is [' ']"),
        ("terms", {"anyof": ["tea"]}, "did you mean 'any_of'"),
        ("term", {}, "did you mean 'terms'"),
        ("role", {"names": "Ada"}, "'names' is 'Ada'"),
        ("answer", {}, "'any_of'"),
        ("says", {"any_of": ["tea"], "place": "middle"}, "'middle'"),
        ("says", {"any_of": ["tea"], "beside": ["milk"]}, "'milk'"),
        ("says", {"any_of": ["tea"], "beside": [[]]}, "'beside.0'"),
        ("question_about", {"topics": []}, "'topics'"),
        ("language", {}, "'language'"),
        ("language", {"language": "fra"}, "did you mean 'fr'"),
        ("judge", {"rubric": "  \n"}, "'rubric'"),
        ("judge", {"rubric": None}, "'rubric' is null"),
        ("not", {"of": "words"}, "'words'"),
        ("not", {"of": {"max": 3}}, "'kind'"),
        ("not", {"of": {"kind": "words"}}, "'min'"),
        ("all", {"of": []}, "'of' is []"),
        ("all", {"of": TEA}, "'of'"),
        ("all", {"of": [TEA, JUDGE]}, "'judge'"),
        ("not", {"of": {"kind": "all", "of": [JUDGE]}}, "'judge'"),
    ],
)
def test_parameters_without_sense_are_refused(kind: str, params: dict[str, Any], fact: str) -> None:
    with pytest.raises(VerifierError) as found:
        build(VerifierSpec(kind, params))
    assert fact in str(found.value)
    assert kind in str(found.value)


def test_what_is_left_to_a_judge_is_open_and_a_rule_beside_it_can_fail_it() -> None:
    short = VerifierSpec("words", {"max": 3})
    verdicts = check_all([VerifierSpec.from_dict(JUDGE), short], "Arr, aye!")
    assert overall(verdicts) == "undecided"
    assert [is_open(verdict) for verdict in verdicts] == [True, False]
    assert not is_open(check(JUDGE, "arr arr arr arr arr arr arr arr arr arr arr arr"))
    assert not is_open(Verdict("pass", "kind", "judge", 1))
    assert (
        overall(check_all([VerifierSpec.from_dict(JUDGE), short], "Arr, that is four.")) == "fail"
    )
