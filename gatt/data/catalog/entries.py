"""One entry of a catalogue file: placeholders, parameters, checks. `read` says what a file holds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from gatt.data.catalog.programs import apply_program
from gatt.data.instruction import Entry
from gatt.data.variants import PLACEHOLDER, Variants, fill
from gatt.errors import CatalogError, VerifierError
from gatt.runs.values import ShapeError, typed
from gatt.verifiers import build

T = TypeVar("T")
UNSEEN = "unseen"
"""Ends the id of an entry's held-out values."""


def parse_entries(family: str, raw: dict[str, Any]) -> Iterator[Entry]:
    """Yield the entry, or its form of the first values; then the same of the values that are held out."""
    where = f"entry {raw.get('id', '?')!r}"
    parameters = raw.pop("parameters", None)
    held_out = raw.pop("heldout_parameters", None)
    if parameters is None:
        if held_out is not None:
            raise CatalogError(f"{where}: 'heldout_parameters' without 'parameters'")
        yield _parse_entry(family, raw)
        return
    yield _parametric(family, raw, parameters, where)
    if held_out is not None:
        unseen = {**raw, "id": f"{raw.get('id')}.{UNSEEN}", "split": "heldout_value"}
        unseen["good"] = _of_any_form(raw.get("good"))
        yield _parametric(family, unseen, held_out, where)


def _parametric(family: str, raw: dict[str, Any], parameters: object, where: str) -> Entry:
    """Return the form of the first values of an entry with parameters; each value is tried once."""
    usable = parameters if isinstance(parameters, dict) else {}
    if not usable or not all(isinstance(some, list) and some for some in usable.values()):
        raise CatalogError(
            f"{where}: parameters {parameters!r}: expected a mapping of names to lists of values"
        )
    values = {str(name): tuple(some) for name, some in usable.items()}
    others = {key: _of_any_form(raw.get(key)) for key in ("good", "bad")}
    variants = Variants(values, partial(_form, family, {**raw, **others}))
    for place, some in enumerate(values.values()):
        for value in some[1:]:
            firsts = [options[0] for options in values.values()]
            firsts[place] = value
            variants.of(firsts)
    first = _form(family, raw, variants.facts([options[0] for options in values.values()]))
    return replace(first, id=first.base_id, variants=variants)


def _of_any_form(replies: Sequence[str] | None) -> list[str]:
    """Return the replies with a placeholder; the others are good or bad in the first form alone."""
    return [reply for reply in replies or () if PLACEHOLDER.search(reply)]


def _form(family: str, raw: Mapping[str, Any], facts: Mapping[str, Any]) -> Entry:
    """Return one form of an entry with parameters."""
    name = f"{raw.get('id')}[{facts['form']}]"
    where = f"entry {name!r}"
    given = {**_facts(raw, where), **facts}
    given["value"] = _fill(raw.get("value"), given, where)
    # A rule or program takes a number as one; elsewhere it is text.
    texts = {key: str(fact) for key, fact in given.items()}
    filled: dict[str, Any] = {
        key: _fill(value, given if key in ("verifiers", "probes", "program") else texts, where)
        for key, value in raw.items()
    }
    filled.pop("facts", None)
    return _entry(family, {**filled, "id": name}, where)


def _parse_entry(family: str, raw: dict[str, Any]) -> Entry:
    """Return one entry, its placeholders filled in and its verifiers built once."""
    where = f"entry {raw.get('id', '?')!r}"
    value = raw.get("value")
    # A number reads as it was written, `true` does not.
    if isinstance(value, int | float) and not isinstance(value, bool):
        raw["value"] = str(value)
    facts = _facts(raw, where)
    raw.pop("facts", None)
    given = {"value": raw.get("value"), **facts}
    raw["speaker"] = _speaker(_fill(raw.get("speaker") or {}, given, where), where)
    given |= {f"speaker.{fact}": some for fact, some in raw["speaker"].items()}
    return _entry(family, _fill(raw, given, where), where)


def _entry(family: str, filled: dict[str, Any], where: str) -> Entry:
    """Return the entry of texts without placeholders."""
    if filled.get("parts") is not None:
        filled = _with_parts(filled, where)
    for holder in (filled, *_mappings(filled.get("probes"))):
        if isinstance(holder.get("verifiers"), list):
            holder["verifiers"] = [_spec(verifier) for verifier in holder["verifiers"]]
    filled["program"] = _program(filled.pop("program", None), where)
    filled["facts"] = _speaker(filled.pop("speaker", None) or {}, where)
    entry = typed_values(Entry, {"family": family, **filled}, where)
    if not entry.id.startswith(f"{family}."):
        raise CatalogError(f"{where}: expected an id that starts with {family + '.'!r}")
    for key, value in vars(entry).items():
        if key == "program":
            continue
        texts = value if isinstance(value, tuple) else (value,)
        is_missing = key in ("verbose", "verifiers") and not value
        if is_missing or any(isinstance(t, str) and not t.strip() for t in texts):
            raise CatalogError(f"{where}: {key!r} is {value!r}: expected some text")
    if len(entry.examples) % 2:
        raise CatalogError(
            f"{where}: 'examples' has {len(entry.examples)} texts: expected a reply after each message"
        )
    for spec in (*entry.verifiers, *(v for p in entry.probes for v in p.verifiers)):
        try:
            build(spec)
        except (VerifierError, TypeError) as error:
            raise VerifierError(f"{where}: {error}") from None
    return entry


_OF_PART = ("verifiers", "utterances")
"""What a part of an entry has, and the entry of its parts together."""


def _with_parts(raw: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return an entry with the verifiers and utterances of its parts as its own."""
    parts = raw["parts"]
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise CatalogError(f"{where}: 'parts' is {parts!r}: expected a list of mappings")
    given = {key: raw[key] for key in _OF_PART if raw.get(key)}
    if "verifiers" in given:
        raise CatalogError(f"{where}: 'verifiers' beside 'parts': expected them in the parts")
    lists = {key: [item for part in parts for item in part.get(key) or ()] for key in _OF_PART}
    lists["utterances"] += given.get("utterances", [])
    counted = [
        {key: value for key, value in part.items() if key not in _OF_PART}
        | {"num_verifiers": len(part.get("verifiers") or ())}
        for part in parts
    ]
    return {**raw, **lists, "parts": counted}


def typed_values(kind: type[T], raw: Mapping[str, Any], where: str) -> T:
    """Return a value of the file; a key without a value is as good as none."""
    try:
        return typed(kind, {key: value for key, value in raw.items() if value is not None})
    except ShapeError as error:
        raise CatalogError(f"{where}: {error}") from None


def _mappings(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _spec(raw: object) -> object:
    """Return a verifier as `VerifierSpec` holds it; in YAML its parameters stand beside its kind."""
    if not isinstance(raw, dict) or "kind" not in raw:
        return raw
    return {"kind": raw["kind"], "params": {k: v for k, v in raw.items() if k != "kind"}}


def _facts(raw: Mapping[str, Any], where: str) -> dict[str, str]:
    """Return the texts for placeholders that an entry gives."""
    facts = raw.get("facts") or {}
    if not isinstance(facts, dict) or not all(isinstance(f, str | int) for f in facts.values()):
        raise CatalogError(f"{where}: 'facts' is {facts!r}: expected a mapping of names to texts")
    return {name: str(fact) for name, fact in facts.items()}


def _program(raw: object, where: str) -> str:
    """Return the program of an entry as an instruction holds it; "" for none."""
    if raw is None:
        return ""
    text = json.dumps(raw, ensure_ascii=False)
    try:
        apply_program(text, "That is fine with me.")
    except (TypeError, ValueError) as error:
        raise CatalogError(f"{where}: program {text}: {error}") from None
    return text


def _speaker(raw: object, where: str) -> dict[str, list[str]]:
    """Return the facts of a speaker; an answer alone stands for a list of one."""
    is_usable = isinstance(raw, dict) and all(isinstance(fact, str) for fact in raw)
    lists = (
        {k: v if isinstance(v, list) else [v] for k, v in raw.items()}
        if isinstance(raw, dict)
        else {}
    )
    answers = [answer for some in lists.values() for answer in some]
    if not is_usable or not all(lists.values()) or not all(map(_is_answer, answers)):
        raise CatalogError(
            f"{where}: 'speaker' is {raw!r}: expected a mapping of facts to right answers, such as "
            "{name: [Maria], age: [34]}"
        )
    return {fact: [str(answer) for answer in some] for fact, some in lists.items()}


def _is_answer(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and bool(str(value).strip())


def _fill(value: Any, facts: Mapping[str, Any], where: str) -> Any:
    """Fill '{name}' placeholders in every text of a nested value."""
    try:
        return fill(value, facts)
    except KeyError as error:
        raise CatalogError(
            f"{where}: placeholder '{{{error.args[0]}}}' is no fact (known: {', '.join(facts)})"
        ) from None
