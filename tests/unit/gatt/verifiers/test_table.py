"""The table of kinds: complete, its examples hold, junk fails, nothing ever raises."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gatt.verifiers
from data_synth.catalog_check import JUNK
from gatt.verifiers import VERIFIERS, build, check_all, overall, verifier_versions
from gatt.verifiers.base import Examples
from gatt.verifiers.judge import JUDGE
from gatt.verifiers.rule import Rule, quote
from gatt.verifiers.spec import VerifierSpec
from gatt.verifiers.table import verifier_class

CASES = [
    pytest.param(kind, examples, id=f"{kind}-{index}")
    for kind in VERIFIERS
    for index, examples in enumerate(verifier_class(kind).examples)
]


def _build(kind: str, examples: Examples) -> Rule:
    return build(VerifierSpec(kind, examples.params))


@pytest.mark.parametrize("kind", VERIFIERS)
def test_every_kind_is_importable_under_its_name(kind: str) -> None:
    cls = verifier_class(kind)
    # No rule passes a reply that is left to the judge.
    least = 0 if kind == JUDGE else 2
    assert cls.kind == kind
    assert cls.version >= 1
    assert any(len(one.good) >= least and len(one.bad) >= 2 for one in cls.examples)


def test_every_rule_of_the_package_is_in_the_table() -> None:
    named = {verifier_class(kind) for kind in VERIFIERS}
    pending, rules = [Rule], set()
    while pending:
        for cls in pending.pop().__subclasses__():
            pending.append(cls)
            if cls.__module__.startswith("gatt.") and hasattr(cls, "kind"):
                rules.add(cls)
    assert rules == named
    modules = {path.split(":")[0].rsplit(".", 1)[1] for path in VERIFIERS.values()}
    folder = Path(gatt.verifiers.__file__).parent
    assert modules <= {path.stem for path in folder.rglob("*.py")}


@pytest.mark.parametrize(("kind", "examples"), CASES)
def test_examples_hold_and_junk_fails_with_evidence(kind: str, examples: Examples) -> None:
    verifier = _build(kind, examples)
    replies = [("pass", reply) for reply in examples.good]
    for status, reply in [*replies, *(("fail", reply) for reply in (*examples.bad, *JUNK))]:
        verdict = verifier.check(reply)
        assert verdict.status == status, reply
        assert verdict.evidence.strip()
        assert (verdict.verifier, verdict.version) == (kind, verifier.version)


@pytest.mark.parametrize(
    "spec",
    [
        VerifierSpec("words", {"max": 1000}),
        VerifierSpec("sentences", {"max": 1}),
        VerifierSpec("lines", {"min": 0}),
        VerifierSpec("paragraphs", {"max": 99}),
        VerifierSpec("letter_case", {"case": "lower"}),
        VerifierSpec("excludes", {"characters": ["§"]}),
        VerifierSpec("terms", {"none_of": ["zebra"]}),
        VerifierSpec("bullets", {"min": None, "max": 3}),
        VerifierSpec("emoji", {"min": None, "max": 3}),
        VerifierSpec("number", {"min": None, "max": 3}),
        VerifierSpec("json_object", {}),
    ],
    ids=str,
)
def test_junk_fails_rules_that_ask_for_little(spec: VerifierSpec) -> None:
    verifier = build(spec)
    assert [reply for reply in JUNK if verifier.check(reply).status != "fail"] == []


@pytest.mark.parametrize(("kind", "examples"), CASES)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    reply=st.text(st.characters(exclude_categories=()), max_size=80)
    | st.lists(st.sampled_from([*'"*_`.?!,- \n1{}[]', "Dr", "I", "tea", "日", "é"])).map("".join)
)
def test_check_never_raises_and_spans_lie_inside(kind: str, examples: Examples, reply: str) -> None:
    verdict = _build(kind, examples).check(reply)
    assert verdict.status in ("pass", "fail", "undecided")
    if verdict.span:
        start, end = verdict.span
        assert 0 <= start <= end <= len(reply)


def test_equal_specs_share_one_instance() -> None:
    spec = VerifierSpec("words", {"max": 7})
    assert build(spec) is build(VerifierSpec("words", {"max": 7}))


def test_overall_never_passes_by_default() -> None:
    specs = [VerifierSpec("words", {"max": 9}), VerifierSpec("terms", {"any_of": ["tea"]})]
    assert overall(check_all(specs, "I like tea.")) == "pass"
    assert overall(check_all(specs, "I like milk.")) == "fail"
    short = [VerifierSpec("words", {"max": 9}), VerifierSpec("language", {"language": "fr"})]
    assert overall(check_all(short, "Oui !")) == "undecided"
    assert overall([]) == "undecided"


def test_versions_cover_the_table() -> None:
    assert set(verifier_versions()) == {"degenerate", "task_talk", "visible", *VERIFIERS}


def test_long_evidence_is_cut_to_one_line() -> None:
    shown = quote("word\n" * 50)
    assert "\n" not in shown
    assert len(shown) < 70
