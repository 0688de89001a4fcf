"""The catalogue: YAML files of instructions that a user edits without touching code.

A file holds one family::

    family: hobby
    about: one line on the family, shown by `gatt catalog list`
    verifiers: [rhymes.py]        # optional; Python files with kinds of your own, beside this one
    defaults:                     # optional; '{value}' and any key of 'facts' are filled in
      verbose: ["You enjoy {value} and bring it up in every answer."]
      terse: "Hobby: {value}."
    entries:
      - id: hobby.tennis          # '<family>.<name>'
        value: tennis
        facts: {city: Lyon}       # optional, for the placeholders only
        speaker: {home: [Lyon]}   # optional: facts of the speaker that a turn may ask for, right answers
        verifiers: [{kind: terms, any_of: [tennis, racket]}]
        probes: [{question: "What is your favorite hobby?", verifiers: [...]}]
        hint: "Mention tennis in your reply."
        split: train              # train | heldout_value | heldout_family
        utterances: []            # for the compose teacher
        prefills: []              # beginnings of a reply, for a teacher that misses the role
        examples: []              # a chat for the teacher to imitate: message, reply, message, reply
        program: {name: ends, text: "."}  # optional: brings a plain reply into the form, see programs.py
        parameters: {city: [Lyon, Nice]}  # optional: values drawn anew for each instruction, for placeholders
        heldout_parameters: {city: [Metz]}  # optional: a second entry, '<id>.unseen', of split heldout_value
        cancel: ["..."]           # optional: ways to take it back in mid-dialogue
        good: ["..."]             # replies that must pass, at least one
        bad: ["..."]              # replies that must fail, at least one

`conflicts.yaml` beside them lists what must not stand in one instruction.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from gatt.data.catalog.programs import apply_program
from gatt.data.instruction import SPLITS, Conflicts, Entry, Instruction
from gatt.data.variants import PLACEHOLDER, Variants, fill
from gatt.errors import CatalogError, ConfigError, VerifierError
from gatt.runs.suggest import did_you_mean
from gatt.runs.typed import ShapeError, typed
from gatt.runs.yaml_file import read_mapping
from gatt.verifiers import build, own_versions
from gatt.verifiers.own_kinds import read_kind_file
from gatt.verifiers.table import use_kind_files

T = TypeVar("T")
CONFLICTS_FILE = "conflicts.yaml"
UNSEEN = "unseen"
"""Ends the id of an entry's held-out values."""
File = tuple[Path, dict[str, Any]]
"""A catalogue file and what it holds."""


@dataclass(frozen=True)
class Catalog:
    """All entries of a folder of catalogue files, in file order."""

    entries: tuple[Entry, ...]
    conflicts: Conflicts = field(default_factory=Conflicts)
    about: Mapping[str, str] = field(default_factory=dict)

    @property
    def families(self) -> tuple[str, ...]:
        """The families, in file order."""
        return tuple(dict.fromkeys(e.family for e in self.entries))

    @property
    def own_kinds(self) -> dict[str, str]:
        """What the verdicts of kinds that are not shipped depend on, by kind; often empty."""
        probes = (probe for e in self.entries for probe in e.probes)
        specs = (*(e.verifiers for e in self.entries), *(p.verifiers for p in probes))
        return own_versions(spec for some in specs for spec in some)

    def entry(self, entry_id: str) -> Entry:
        """Return the entry of an id; of one with parameters its first form, or the one in brackets.

        Raises:
            CatalogError: no such entry; the nearest one is named.
        """
        for entry in self.entries:
            if entry.id == entry_id:
                return entry
            if entry.variants and entry_id.startswith(f"{entry.id}["):
                form: Entry | None = entry.variants.named(entry_id[len(entry.id) + 1 : -1])
                if form is not None:
                    return form
        ids = [e.id for e in self.entries]
        hint = did_you_mean(entry_id, ids, ": see `gatt catalog list`")
        raise CatalogError(f"no catalogue entry {entry_id!r}{hint}")

    def entries_of(self, instruction: Instruction) -> list[Entry]:
        """Return the entries of an instruction made of this catalogue, in the forms that it drew.

        Raises:
            CatalogError: no such entry.
        """
        return [self.entry(name) for name in instruction.id.split("+")]

    def select(
        self,
        families: Sequence[str] = (),
        splits: Sequence[str] = (),
        values: Sequence[str] = (),
        exclude: Sequence[str] = (),
    ) -> tuple[Entry, ...]:
        """Return the entries of the given families, splits and values (empty: all), but those excluded.

        Values, and what is excluded, are told by value or id.

        Raises:
            CatalogError: an unknown family, split or value, or nothing left.
        """
        known_values = [name for e in self.entries for name in (e.value, e.id)]
        for what, names, known in (
            ("family", families, self.families),
            ("split", splits, SPLITS),
            ("value", (*values, *exclude), known_values),
        ):
            for name in names:
                if name not in known:
                    hint = did_you_mean(name, known, ": see `gatt catalog list`")
                    raise CatalogError(f"no catalogue entry with {what} {name!r}{hint}")
        chosen = tuple(
            e
            for e in self.entries
            if (not families or e.family in families)
            and (not splits or e.split in splits)
            and (not values or e.value in values or e.id in values)
            and not (e.value in exclude or e.id in exclude)
        )
        if not chosen:
            raise CatalogError(
                f"no catalogue entry with families {list(families) or 'any'}, splits "
                f"{list(splits) or 'any'} and values {list(values) or 'any'}"
                f"{f', without {list(exclude)}' if exclude else ''}: allow more of them"
            )
        return chosen


def default_catalog_path() -> Path:
    """Return the folder of the catalogue that is shipped as package data."""
    return Path(__file__).parent / "shipped"


def catalog_files(place: Path) -> list[Path]:
    """Return the files of a catalogue: those of a folder, or the one file that was named.

    Raises:
        CatalogError: the folder has none.
    """
    files = [place] if place.is_file() else sorted(place.glob("*.yaml"))
    if not files:
        raise CatalogError(f"{place}: no *.yaml in it: expected catalogue files")
    return files


def load_catalog(*places: Path) -> Catalog:
    """Return the catalogue of one or more folders or files (default: the shipped one).

    The Python files that a catalogue names for kinds of its own are run.

    Raises:
        CatalogError: with file and entry, for the first problem of each file,
            all of them in one message.
    """
    entries: list[Entry] = []
    about: dict[str, str] = {}
    pairs: set[frozenset[str]] = set()
    repeatable: set[str] = set()
    problems: list[str] = []
    for place in places or (default_catalog_path(),):
        files, broken = read_files(place)
        problems += [f"{path}: {error}" for path, error in broken]
        for path, raw in files:
            try:
                if path.name == CONFLICTS_FILE:
                    found = _typed(Conflicts, raw, "file")
                    pairs |= found.pairs
                    repeatable |= found.repeatable
                else:
                    family, about[family], some = parse_family(raw)
                    entries += some
            except (CatalogError, VerifierError) as error:
                problems.append(f"{path}: {error}")
    ids = [e.id for e in entries]
    problems += [f"id {i!r} stands twice" for i in sorted(set(ids)) if ids.count(i) > 1]
    unknown = {name for pair in pairs for name in pair} | repeatable
    unknown -= {*ids, *(e.family for e in entries)}
    if unknown and not problems:
        problems.append(f"{CONFLICTS_FILE}: unknown family or entry: {', '.join(sorted(unknown))}")
    if problems:
        raise CatalogError("catalogue: " + "; ".join(problems))
    return Catalog(tuple(entries), Conflicts(frozenset(pairs), frozenset(repeatable)), about)


def read_files(place: Path) -> tuple[list[File], list[tuple[Path, Exception]]]:
    """Return the files of a catalogue, and those that cannot be used with their errors.

    The Python files that they name are run before any entry is read, since another file of the folder
    may use their kinds.

    Raises:
        CatalogError: the folder has no file.
    """
    files: list[File] = []
    broken: list[tuple[Path, Exception]] = []
    for path in catalog_files(place):
        try:
            raw = read_yaml(path)
            names = _typed(_Kinds, {"verifiers": raw.get("verifiers")}, "file").verifiers
            use_kind_files(read_kind_file(path.parent / Path(name).expanduser()) for name in names)
            files.append((path, raw))
        except (CatalogError, VerifierError) as error:
            broken.append((path, error))
    return files, broken


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the mapping of a YAML file.

    Raises:
        CatalogError: unreadable, broken, or not a mapping.
    """
    try:
        return read_mapping(path).values
    except ConfigError as error:
        raise CatalogError(str(error)) from None


@dataclass(frozen=True, kw_only=True)
class _Kinds:
    verifiers: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Family(_Kinds):
    family: str
    entries: tuple[dict[str, Any], ...]
    about: str = ""
    defaults: dict[str, Any] = field(default_factory=dict)


def parse_family(raw: Mapping[str, Any]) -> tuple[str, str, list[Entry]]:
    """Return family name, its one-line description and its entries.

    Raises:
        CatalogError: unknown or missing keys, or an entry that breaks its contract.
        VerifierError: a verifier that cannot be built.
    """
    found = _typed(_Family, raw, "file")
    if not found.entries:
        raise CatalogError("no 'entries': expected a list with at least one")
    entries = [
        entry
        for e in found.entries
        for entry in _parse_entries(found.family, {**found.defaults, **e})
    ]
    return found.family, found.about, entries


def _parse_entries(family: str, raw: dict[str, Any]) -> Iterator[Entry]:
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
        key: _fill(one, given if key in ("verifiers", "probes", "program") else texts, where)
        for key, one in raw.items()
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
    return _entry(family, _fill(raw, {"value": raw.get("value"), **facts}, where), where)


def _entry(family: str, filled: dict[str, Any], where: str) -> Entry:
    """Return the entry of texts without placeholders."""
    for holder in (filled, *_mappings(filled.get("probes"))):
        if isinstance(holder.get("verifiers"), list):
            holder["verifiers"] = [_spec(one) for one in holder["verifiers"]]
    filled["program"] = _program(filled.pop("program", None), where)
    filled["facts"] = _speaker(filled.pop("speaker", None) or {}, where)
    entry = _typed(Entry, {"family": family, **filled}, where)
    if not entry.id.startswith(f"{family}."):
        raise CatalogError(f"{where}: expected an id that starts with {family + '.'!r}")
    for key, given in vars(entry).items():
        if key == "program":
            continue
        texts = given if isinstance(given, tuple) else (given,)
        is_missing = key in ("verbose", "verifiers") and not given
        if is_missing or any(isinstance(t, str) and not t.strip() for t in texts):
            raise CatalogError(f"{where}: {key!r} is {given!r}: expected some text")
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


def _typed(kind: type[T], raw: Mapping[str, Any], where: str) -> T:
    """Return a value of the file; a key without a value is as good as none."""
    try:
        return typed(kind, {key: value for key, value in raw.items() if value is not None})
    except ShapeError as error:
        raise CatalogError(f"{where}: {error}") from None


def _mappings(value: object) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


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
