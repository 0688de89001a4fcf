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
        speaker: {home: [Lyon]}   # optional: facts of the speaker that a turn may ask for, right answers;
                                  # '{speaker.home}' stands for the whole list, as in any_of: "{speaker.home}"
        verifiers: [{kind: terms, any_of: [tennis, racket]}]
        probes: [{question: "What is your favorite hobby?", verifiers: [...]}]
        hint: "Mention tennis in your reply."
        split: train              # train | heldout_value | heldout_family
        utterances: []            # for the compose teacher
        prefills: []              # beginnings of a reply, for a teacher that misses the role
        examples: []              # a chat for the teacher to imitate: message, reply, message, reply
        cancel: ["..."]           # optional: ways to take it back in mid-dialogue
        good: ["..."]             # replies that must pass, at least one
        bad: ["..."]              # replies that must fail, at least one

`conflicts.yaml` beside them lists what must not stand in one instruction.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from gatt.data.instruction import SPLITS, Conflicts, Entry
from gatt.errors import CatalogError, ConfigError, VerifierError
from gatt.runs.suggest import did_you_mean
from gatt.runs.typed import ShapeError, typed
from gatt.runs.yaml_file import read_mapping
from gatt.verifiers import build, own_versions
from gatt.verifiers.own_kinds import read_kind_file
from gatt.verifiers.table import use_kind_files

T = TypeVar("T")
CONFLICTS_FILE = "conflicts.yaml"
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
        """Return the entry of an id.

        Raises:
            CatalogError: no such entry; the nearest one is named.
        """
        for entry in self.entries:
            if entry.id == entry_id:
                return entry
        ids = [e.id for e in self.entries]
        hint = did_you_mean(entry_id, ids, ": see `gatt catalog list`")
        raise CatalogError(f"no catalogue entry {entry_id!r}{hint}")

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
    entries = [_parse_entry(found.family, {**found.defaults, **e}) for e in found.entries]
    return found.family, found.about, entries


def _parse_entry(family: str, raw: dict[str, Any]) -> Entry:
    """Return one entry, its placeholders filled in and its verifiers built once."""
    where = f"entry {raw.get('id', '?')!r}"
    value = raw.get("value")
    # A number reads as it was written, `true` does not.
    if isinstance(value, int | float) and not isinstance(value, bool):
        raw["value"] = str(value)
    facts = raw.pop("facts", None) or {}
    if not isinstance(facts, dict) or not all(isinstance(f, str | int) for f in facts.values()):
        raise CatalogError(f"{where}: 'facts' is {facts!r}: expected a mapping of names to texts")
    given = {"value": raw.get("value"), **facts}
    speaker = _speaker(_fill(raw.pop("speaker", None) or {}, given, where), where)
    given |= {f"speaker.{fact}": some for fact, some in speaker.items()}
    filled = _fill(raw, given, where)
    for holder in (filled, *_mappings(filled.get("probes"))):
        if isinstance(holder.get("verifiers"), list):
            holder["verifiers"] = [_spec(one) for one in holder["verifiers"]]
    filled["facts"] = speaker
    entry = _typed(Entry, {"family": family, **filled}, where)
    if not entry.id.startswith(f"{family}."):
        raise CatalogError(f"{where}: expected an id that starts with {family + '.'!r}")
    for key, found in vars(entry).items():
        texts = found if isinstance(found, tuple) else (found,)
        is_missing = key in ("verbose", "verifiers") and not found
        if is_missing or any(isinstance(t, str) and not t.strip() for t in texts):
            raise CatalogError(f"{where}: {key!r} is {found!r}: expected some text")
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
    """Fill '{name}' placeholders in every text of a nested value; a text that is one of a list becomes it."""
    if isinstance(value, str):
        if isinstance(whole := facts.get(value.removeprefix("{").removesuffix("}")), list):
            return list(whole)

        def fact(match: re.Match[str]) -> str:
            if match[1] not in facts:
                raise CatalogError(
                    f"{where}: placeholder {match[0]!r} is no fact (known: {', '.join(facts)})"
                )
            given = facts[match[1]]
            return str(given[0] if isinstance(given, list) else given)

        return re.sub(r"\{([a-z_][a-z0-9_]*(?:\.[a-z_]+)?)\}", fact, value)
    if isinstance(value, Mapping):
        return {k: _fill(v, facts, where) for k, v in value.items()}
    if isinstance(value, list):
        return [_fill(v, facts, where) for v in value]
    return value
