"""Our rules beside another's reading of IFEval, on replies that are mutated by seed.

The other is `if-verifiable`, IFEval's published checkers without their downloads; Punkt's
English model comes from a package too. Every reply on which the two differ must be explained by
exactly one line of `ifeval_deviations.yaml`; a line that explains none fails as well.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from gatt.verifiers import build
from gatt.verifiers.ifeval import IFEVAL, spec_of
from tests.unit.gatt.verifiers.forms import ifeval_mutations as mutate
from tests.unit.gatt.verifiers.forms.ifeval_predicates import PREDICATES, Deviation
from tests.unit.gatt.verifiers.forms.ifeval_texts import CATALOG, replies_by_language

MISSING = [name for name in ("if_verifiable", "langdetect", "nltk", "punkt") if not find_spec(name)]
pytestmark = pytest.mark.skipif(
    bool(MISSING), reason=f"{', '.join(MISSING)} not installed: pip install -e '.[dev]'"
)

NUM_CASES = 420
LEAST = 100
"""Replies that pass, and replies that fail, by our rule: as many of each at least."""
FIELDS = {"id", "case", "verdicts", "differs", "example", "right", "why"}

MUTATIONS = {
    **{name: getattr(mutate, name.split(":")[1], None) for name in IFEVAL},
    "language:response_language": mutate.response_language(replies_by_language()),
    "change_case:english_capital": mutate.english_case(str.upper, replies_by_language()),
    "change_case:english_lowercase": mutate.english_case(str.lower, replies_by_language()),
}
TABLE: list[dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("ifeval_deviations.yaml").read_text(encoding="utf-8")
)
LINES = [pytest.param(line, id=f"{line['id']}-{line['case']}") for line in TABLE]


@dataclass(frozen=True, eq=False)
class Theirs:
    """The other side's checkers."""

    registry: Mapping[str, Any]

    def status(self, name: str, kwargs: Mapping[str, Any], reply: str) -> str:
        checker = self.registry[name](name)
        checker.build_description(**kwargs)
        return "pass" if checker.check_following(reply) else "fail"

    def deviation(self, name: str, kwargs: Mapping[str, Any], reply: str) -> tuple[str, Deviation]:
        """Return both verdicts as "theirs/ours", and what a predicate asks for."""
        ours = build(spec_of(name, kwargs)).check(reply).status
        found = Deviation(kwargs, reply, ours, lambda given, text: self.status(name, given, text))
        return f"{self.status(name, kwargs, reply)}/{ours}", found


@dataclass
class Comparison:
    """What the replies of one instruction came to."""

    verdicts: Counter[str] = field(default_factory=Counter)
    """By "theirs/ours"."""
    explained: dict[str, set[str]] = field(default_factory=dict)
    """Name of a line -> the verdicts that it explained."""
    open: list[str] = field(default_factory=list)
    """Deviations that no line explains, or more than one."""

    def ours(self, status: str) -> int:
        return sum(n for pair, n in self.verdicts.items() if pair.endswith(f"/{status}"))

    def agreed(self) -> int:
        return self.verdicts["pass/pass"] + self.verdicts["fail/fail"]


@pytest.fixture(scope="module")
def theirs() -> Iterator[Theirs]:
    """Yield the other's checkers, with what they would download put in their hands."""
    import langdetect
    import nltk.tokenize
    import punkt
    from if_verifiable.ifeval import instructions_registry, instructions_util

    tokenizer = punkt.PunktSentenceTokenizer(punkt.load_model("english"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(instructions_util, "_get_sentence_tokenizer", lambda: tokenizer)
        patch.setattr(nltk.tokenize, "_get_punkt_tokenizer", lambda language="english": tokenizer)
        patch.setattr(langdetect.DetectorFactory, "seed", 0)
        yield Theirs(instructions_registry.INSTRUCTION_DICT)


def _cases(name: str) -> list[mutate.Case]:
    rng, make = Random(f"ifeval {name}"), MUTATIONS[name]
    assert make is not None
    found = {repr(case): case for case in (make(rng) for _ in range(NUM_CASES))}
    return list(found.values())


def _explaining(name: str, verdicts: str, deviation: Deviation) -> list[str]:
    lines = (line for line in TABLE if line["id"] == name and verdicts in line["verdicts"])
    cases = [line["case"] for line in lines]
    return [case for case in cases if PREDICATES[name][case](deviation)]


@cache
def _compared(name: str, theirs: Theirs) -> Comparison:
    found = Comparison()
    for kwargs, reply in _cases(name):
        verdicts, deviation = theirs.deviation(name, kwargs, reply)
        found.verdicts[verdicts] += 1
        if len(set(verdicts.split("/"))) == 1:
            continue
        lines = _explaining(name, verdicts, deviation)
        if len(lines) == 1:
            found.explained.setdefault(lines[0], set()).add(verdicts)
        else:
            found.open.append(f"{verdicts} {kwargs} {reply!r}: {lines or 'no line'}")
    return found


def test_every_instruction_has_mutations_and_the_other_knows_it(theirs: Theirs) -> None:
    assert {name for name, make in MUTATIONS.items() if make} == set(IFEVAL) == set(theirs.registry)


@pytest.mark.parametrize("name", IFEVAL)
def test_every_deviation_has_one_reason(name: str, theirs: Theirs) -> None:
    found = _compared(name, theirs)
    assert not found.open, f"{len(found.open)} deviations, such as {found.open[:5]}"
    assert min(found.ours("pass"), found.ours("fail")) >= LEAST, found.verdicts


@pytest.mark.parametrize("line", LINES)
def test_every_line_occurs_and_its_example_shows_it(line: dict[str, Any], theirs: Theirs) -> None:
    name, case, example = line["id"], line["case"], line["example"]
    assert _compared(name, theirs).explained.get(case) == set(line["verdicts"])
    verdicts, deviation = theirs.deviation(name, example["arguments"], example["reply"])
    assert verdicts in line["verdicts"]
    assert _explaining(name, verdicts, deviation) == [case]


def test_the_table_is_whole() -> None:
    for line in TABLE:
        assert set(line) == FIELDS, line
        assert line["right"] in ("ours", "either"), line
        assert min(len(line["differs"]), len(line["why"])) > 20, line
        assert all(len(set(pair.split("/"))) == 2 for pair in line["verdicts"]), line
    keys = [(line["id"], line["case"]) for line in TABLE]
    assert len(keys) == len(set(keys))
    assert set(keys) == {(name, case) for name, cases in PREDICATES.items() for case in cases}


PLAIN = [
    ("keywords:existence", {"keywords": ["tea"]}, "pass", "I like milk."),
    ("keywords:frequency", {"keyword": "tea", "frequency": 1, "relation": "at least"}, "fail",
     "I like tea."),
    ("length_constraints:number_words", {"num_words": 4, "relation": "less than"}, "fail",
     "I like tea."),
    ("length_constraints:number_sentences", {"num_sentences": 2, "relation": "at least"}, "fail",
     "I like tea. You like milk."),
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}, "fail", "- tea\n- milk"),
    ("startend:quotation", {}, "fail", '"I like tea."'),
    ("startend:end_checker", {"end_phrase": "tea."}, "fail", "I like tea."),
    ("language:response_language", {"language": "fr"}, "pass", "I like tea and I like milk."),
    ("punctuation:no_comma", {}, "pass", "I like tea, and milk."),
]  # fmt: skip


@pytest.mark.parametrize(("name", "kwargs", "wrong", "reply"), PLAIN)
def test_a_wrong_verdict_of_ours_finds_no_excuse(
    name: str, kwargs: dict[str, Any], wrong: str, reply: str, theirs: Theirs
) -> None:
    right = theirs.status(name, kwargs, reply)
    assert right != wrong
    deviation = Deviation(kwargs, reply, wrong, lambda k, r: theirs.status(name, k, r))
    assert _explaining(name, f"{right}/{wrong}", deviation) == []


def test_the_summary(theirs: Theirs) -> None:
    """Print what the comparison came to, for `pytest -rP`."""
    lines = [f"{'':46} pass fail undecided agreed adjudicated"]
    for name in IFEVAL:
        found = _compared(name, theirs)
        total, agreed = found.verdicts.total(), found.agreed()
        counts = [found.ours(status) for status in ("pass", "fail", "undecided")]
        assert sum(counts) == total
        row = [*counts, agreed, total - agreed - len(found.open)]
        lines.append(f"{name:46} {row[0]:4} {row[1]:4} {row[2]:9} {row[3]:6} {row[4]:11}")
    sys.stdout.write("\n".join(lines) + "\n")


def test_the_catalogue_uses_no_kind_that_is_left_out() -> None:
    forms = yaml.safe_load((CATALOG / "formats.yaml").read_text(encoding="utf-8"))["entries"]
    used = {rule["kind"] for entry in forms for rule in entry["verifiers"]}
    # Ours beside IFEval's: what it has no instruction for.
    beside = {"emoji", "number", "haiku", "lines", "starts_with", "ends_with_question"}
    compared = {kind for kind, *_ in IFEVAL.values()} | {"letter_case", "json_object"}
    assert used <= compared | beside
