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
        program: {name: ends, text: "."}  # optional: brings a plain reply into the form, see programs.py
        parts:                    # optional, in place of 'verifiers': what it asks for, one by one, with rates:
                                  # {about, verifiers, utterances, facts, asks, replies, rubric}, see
                                  # gatt/data/parts.py; without verifiers, facts and asks it is NOT judged
          - {about: "at most two sentences", verifiers: [{kind: sentences, max: 2}]}
        parameters: {city: [Lyon, Nice]}  # optional: values drawn anew for each instruction, for placeholders
        heldout_parameters: {city: [Metz]}  # optional: a second entry, '<id>.unseen', of split heldout_value
        cancel: ["..."]           # optional: ways to take it back in mid-dialogue
        good: ["..."]             # replies that must pass, at least one
        bad: ["..."]              # replies that must fail, at least one

`conflicts.yaml` beside them lists what must not stand in one instruction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gatt.data.catalog.entries import parse_entries, typed_values
from gatt.data.instruction import SPLITS, Conflicts, Entry, Instruction
from gatt.errors import CatalogError, ConfigError, VerifierError
from gatt.runs.suggest import did_you_mean
from gatt.runs.values import read_mapping
from gatt.verifiers import own_versions
from gatt.verifiers.own_kinds import read_kind_file
from gatt.verifiers.table import use_kind_files

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
        for what, names, shipped in (
            ("family", families, self.families),
            ("split", splits, SPLITS),
            ("value", (*values, *exclude), known_values),
        ):
            for name in names:
                if name not in shipped:
                    hint = did_you_mean(name, shipped, ": see `gatt catalog list`")
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
                    conflicts = typed_values(Conflicts, raw, "file")
                    pairs |= conflicts.pairs
                    repeatable |= conflicts.repeatable
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
            names = typed_values(_Kinds, {"verifiers": raw.get("verifiers")}, "file").verifiers
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
    family = typed_values(_Family, raw, "file")
    if not family.entries:
        raise CatalogError("no 'entries': expected a list with at least one")
    entries = [
        entry
        for e in family.entries
        for entry in parse_entries(family.family, {**family.defaults, **e})
    ]
    return family.family, family.about, entries
