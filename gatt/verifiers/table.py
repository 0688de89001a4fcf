"""The table of verifier kinds, and how a spec becomes a verifier."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any, cast

from gatt.errors import VerifierError
from gatt.runs.suggest import did_you_mean
from gatt.runs.values import ShapeError, typed
from gatt.verifiers.base import Status, Verdict
from gatt.verifiers.own_kinds import KindFile, own_class, own_kinds, own_version, run_kind_files
from gatt.verifiers.rule import Rule
from gatt.verifiers.spec import VerifierSpec
from gatt.verifiers.text.degenerate import VERSION as DEGENERATE_VERSION
from gatt.verifiers.text.markup import VERSION as VISIBLE_VERSION
from gatt.verifiers.text.task_talk import VERSION as TASK_TALK_VERSION

VERIFIERS: dict[str, str] = {
    "all": "gatt.verifiers.logic:All",
    "answer": "gatt.verifiers.answers.rule:Answer",
    "bullets": "gatt.verifiers.forms.counts:Bullets",
    "characters": "gatt.verifiers.forms.counts:Characters",
    "declines": "gatt.verifiers.topics.declines:Declines",
    "emoji": "gatt.verifiers.forms.counts:Emoji",
    "ends_with": "gatt.verifiers.forms.openings:EndsWith",
    "ends_with_question": "gatt.verifiers.forms.openings:EndsWithQuestion",
    "excludes": "gatt.verifiers.topics.terms:Excludes",
    "haiku": "gatt.verifiers.forms.whole:Haiku",
    "ifeval": "gatt.verifiers.ifeval:IFEval",
    "json_object": "gatt.verifiers.forms.whole:JsonObject",
    "judge": "gatt.verifiers.judge:Judge",
    "language": "gatt.verifiers.language.rule:Language",
    "letter_case": "gatt.verifiers.forms.whole:LetterCase",
    "lines": "gatt.verifiers.forms.counts:Lines",
    "markup": "gatt.verifiers.forms.counts:Markup",
    "not": "gatt.verifiers.logic:Not",
    "number": "gatt.verifiers.forms.counts:Number",
    "occurrences": "gatt.verifiers.forms.counts:Occurrences",
    "one_of": "gatt.verifiers.topics.terms:OneOf",
    "paragraphs": "gatt.verifiers.forms.counts:Paragraphs",
    "part": "gatt.verifiers.forms.part:PartRule",
    "price": "gatt.verifiers.topics.terms:Price",
    "question_about": "gatt.verifiers.topics.question_about:QuestionAbout",
    "role": "gatt.verifiers.role:RoleRule",
    "says": "gatt.verifiers.topics.says:Says",
    "separated": "gatt.verifiers.forms.separated:Separated",
    "sentences": "gatt.verifiers.forms.counts:Sentences",
    "starts_with": "gatt.verifiers.forms.openings:StartsWith",
    "terms": "gatt.verifiers.topics.terms:TermsRule",
    "words": "gatt.verifiers.forms.counts:Words",
    "wrapped": "gatt.verifiers.forms.openings:Wrapped",
}
"""Kind -> `module:Class`. A new kind is one file, one line here, one test; `own_kinds` has the others."""


def all_kinds() -> tuple[str, ...]:
    """Return the kinds that are known: shipped, and of the files run so far."""
    return (*sorted(VERIFIERS), *own_kinds())


def use_kind_files(files: Iterable[KindFile]) -> None:
    """Make the kinds of Python files known to this process, as `run_kind_files` does."""
    if run_kind_files(files, VERIFIERS):
        _build.cache_clear()


def verifier_class(kind: str) -> type[Rule]:
    """Return the class of a kind.

    Raises:
        VerifierError: no such kind, the nearest known one is named.
    """
    if own := own_class(kind):
        return own
    if kind not in VERIFIERS:
        hint = did_you_mean(kind, all_kinds())
        raise VerifierError(
            f"unknown verifier kind {kind!r}{hint} (known: {', '.join(all_kinds())}; one of your own needs "
            "its catalogue in instructions.catalog)"
        )
    module, _, name = VERIFIERS[kind].partition(":")
    cls: type[Rule] = getattr(import_module(module), name)
    return cls


def build(spec: VerifierSpec) -> Rule:
    """Return the verifier of a spec; equal specs share one instance.

    Raises:
        VerifierError: unknown kind, unknown parameter, or a value it refuses.
    """
    return _build(spec.kind, json.dumps(spec.params, sort_keys=True, ensure_ascii=False))


@lru_cache(maxsize=4096)
def _build(kind: str, params_json: str) -> Rule:
    cls: Any = verifier_class(kind)
    params = json.loads(params_json)
    try:
        rule: Rule = cast(Any, typed)(cls, params) if is_dataclass(cls) else cls(**params)
        return rule
    except (ShapeError, TypeError) as error:
        raise VerifierError(f"verifier {kind!r}: {error}") from None


def check_all(specs: Iterable[VerifierSpec], reply: str) -> tuple[Verdict, ...]:
    """Return the verdict of every spec on one reply, in order."""
    return tuple(build(spec).check(reply) for spec in specs)


def overall(verdicts: Sequence[Verdict]) -> Status:
    """Return what several verdicts say together.

    One fail fails; else one undecided leaves it undecided; else it passes. No
    verdict at all is `undecided`: nothing was checked, so nothing passed.
    """
    statuses = {v.status for v in verdicts} or {"undecided"}
    order: tuple[Status, ...] = ("fail", "undecided", "pass")
    return next(status for status in order if status in statuses)


def verifier_versions() -> dict[str, int]:
    """Return the version of every kind, and of what all kinds refuse first, for fingerprints."""
    return {
        "degenerate": DEGENERATE_VERSION,
        "task_talk": TASK_TALK_VERSION,
        "visible": VISIBLE_VERSION,
        **{kind: verifier_class(kind).version for kind in sorted(VERIFIERS)},
    }


def own_versions(specs: Iterable[VerifierSpec]) -> dict[str, str]:
    """Return what the verdicts of kinds that are not shipped depend on, for fingerprints; often none."""
    kinds = {kind for spec in specs for kind in _kinds_in(spec.kind, spec.params)}
    versions = {kind: own_version(kind) for kind in sorted(kinds - set(VERIFIERS))}
    return {kind: version for kind, version in versions.items() if version is not None}


def _kinds_in(kind: str, params: Mapping[str, Any]) -> Iterator[str]:
    """Yield the kind of a rule and those of the rules in its parameter `of`."""
    yield kind
    inner = params.get("of")
    for rule in inner if isinstance(inner, list | tuple) else [inner]:
        if isinstance(rule, Mapping) and "kind" in rule:
            yield from _kinds_in(rule["kind"], rule)


def check_loose(specs: Sequence[VerifierSpec], reply: str) -> Status:
    """Return what the specs say together of a reply, read loosely.

    Each spec for itself also passes if it passes without the first line, without the last, or without
    both, each also without asterisks: "Sure, here it is:" and emphasis are no reason to fail. Reported
    beside the strict reading, and it can only turn a fail into a pass.

    Source: IFEval, arXiv:2311.07911, section 2.2.
    """
    verdicts = check_all(specs, reply)
    if overall(verdicts) != "fail":
        return overall(verdicts)
    lines = reply.split("\n")
    cut = ["\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1])]
    readings = {text for one in (reply, *cut) for text in (one, one.replace("*", ""))}

    def loosely(spec: VerifierSpec, strict: Verdict) -> Verdict:
        loose_verdicts = (build(spec).check(text) for text in readings if text.strip())
        passed = (verdict for verdict in loose_verdicts if verdict.status == "pass")
        return next(passed, strict) if strict.status == "fail" else strict

    return overall(list(map(loosely, specs, verdicts)))
