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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from gatt.data.instruction import SPLITS, Conflicts, Entry, Probe
from gatt.errors import CatalogError, VerifierError
from gatt.runs.input_file import read_text
from gatt.runs.suggest import did_you_mean
from gatt.runs.yaml_file import parse_yaml, refuse_deep
from gatt.verifiers import build, own_versions
from gatt.verifiers.own_kinds import read_kind_file
from gatt.verifiers.spec import VerifierSpec
from gatt.verifiers.table import use_kind_files

ENTRY_KEYS = (
    "id", "value", "facts", "verbose", "terse", "verifiers", "probes", "hint", "split",
    "utterances", "prefills", "examples", "good", "bad", "cancel",
)  # fmt: skip
FILE_KEYS = ("family", "about", "verifiers", "defaults", "entries")
CONFLICTS_FILE = "conflicts.yaml"
_MOST_BYTES: Final = 16 * 2**20


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
        for family in families:
            if family not in self.families:
                hint = did_you_mean(family, self.families)
                raise CatalogError(
                    f"unknown family {family!r}{hint} (known: {', '.join(self.families)})"
                )
        for split in splits:
            if split not in SPLITS:
                raise CatalogError(f"unknown split {split!r} (known: {', '.join(SPLITS)})")
        for value in (*values, *exclude):
            if value not in {e.value for e in self.entries} | {e.id for e in self.entries}:
                values_known = [e.value for e in self.entries]
                hint = did_you_mean(value, values_known, ": see `gatt catalog list`")
                raise CatalogError(f"no catalogue entry with value {value!r}{hint}")
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
        files = catalog_files(place)
        read: list[tuple[Path, dict[str, Any]]] = []
        for path in files:
            try:
                raw = read_yaml(path)
                # Before any entry is read: another file of the folder may use them.
                use_own_kinds(path, raw)
                read.append((path, raw))
            except (CatalogError, VerifierError) as error:
                problems.append(f"{path if places else path.name}: {error}")
        for path, raw in read:
            try:
                if path.name == CONFLICTS_FILE:
                    some_pairs, some_repeatable = parse_conflicts(raw)
                    pairs |= some_pairs
                    repeatable |= some_repeatable
                else:
                    family, line, found = parse_family(raw)
                    about[family] = line
                    entries += found
            except (CatalogError, VerifierError) as error:
                problems.append(f"{path if places else path.name}: {error}")
    entry_ids = [e.id for e in entries]
    problems += [f"id {i!r} stands twice" for i in sorted(set(entry_ids)) if entry_ids.count(i) > 1]
    names = set(entry_ids) | {e.family for e in entries}
    unknown = sorted({n for pair in pairs for n in pair if n not in names} | repeatable - names)
    if unknown and not problems:
        problems.append(f"{CONFLICTS_FILE}: unknown family or entry: {', '.join(unknown)}")
    if problems:
        raise CatalogError("catalogue: " + "; ".join(problems))
    return Catalog(tuple(entries), Conflicts(frozenset(pairs), frozenset(repeatable)), about)


def use_own_kinds(path: Path, raw: Mapping[str, Any]) -> None:
    """Run the Python files that a catalogue file names, so that their kinds are known.

    Args:
        path: of the catalogue file; the names are meant from its folder.
        raw: what it holds.

    Raises:
        CatalogError: `verifiers` is no list of paths.
        VerifierError: one of the files cannot be used.
    """
    names = raw.get("verifiers") or []
    if not _is_names(names):
        raise CatalogError(f"'verifiers' is {names!r}: expected a list of Python files")
    use_kind_files(read_kind_file(path.parent / Path(name).expanduser()) for name in names)


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the mapping of a YAML file.

    Raises:
        CatalogError: unreadable, broken, or not a mapping.
    """
    try:
        text = read_text(path, most_bytes=_MOST_BYTES)
        raw = parse_yaml(text, is_large=True)
    except OSError as error:
        raise CatalogError(f"cannot read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise CatalogError(f"no UTF-8 text at byte {error.start}: expected YAML") from None
    except yaml.YAMLError as error:
        raise CatalogError(f"broken YAML: {' '.join(_in_full(text, error).split())}") from None
    if not isinstance(raw, dict):
        raise CatalogError(f"found {type(raw).__name__}: expected a mapping")
    return raw


def _in_full(text: str, error: yaml.YAMLError) -> str:
    """Return what is wrong as PyYAML itself says it: libyaml leaves out what was found."""
    try:
        refuse_deep(text, yaml.SafeLoader)
    except yaml.YAMLError as fuller:
        return str(fuller)
    return str(error)


def parse_conflicts(raw: Mapping[str, Any]) -> tuple[set[frozenset[str]], set[str]]:
    """Return the pairs that do not go together, and what may stand twice in an instruction.

    Raises:
        CatalogError: unknown keys, or other values than lists of names.
    """
    _refuse_unknown(raw, ("pairs", "repeatable"), "file")
    pairs, repeatable = raw.get("pairs") or [], raw.get("repeatable") or []
    if not isinstance(pairs, list) or not all(_is_names(p) and len(p) > 1 for p in pairs):
        raise CatalogError(f"'pairs' is {pairs!r}: expected a list of lists of two or more names")
    if not _is_names(repeatable):
        raise CatalogError(f"'repeatable' is {repeatable!r}: expected a list of names")
    return {frozenset(pair) for pair in pairs}, set(repeatable)


def _is_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def parse_family(raw: Mapping[str, Any]) -> tuple[str, str, list[Entry]]:
    """Return family name, its one-line description and its entries.

    Raises:
        CatalogError: unknown or missing keys, or an entry that breaks its contract.
    """
    _refuse_unknown(raw, FILE_KEYS, "file")
    family = raw.get("family")
    if not isinstance(family, str) or not family:
        raise CatalogError("no 'family': expected its name")
    defaults = raw.get("defaults") or {}
    _refuse_unknown(defaults, ENTRY_KEYS, "defaults")
    entries = raw.get("entries")
    if not isinstance(entries, list) or not entries:
        raise CatalogError("no 'entries': expected a list with at least one")
    return family, str(raw.get("about", "")), [parse_entry(family, defaults, e) for e in entries]


def parse_entry(family: str, defaults: Mapping[str, Any], raw: Mapping[str, Any]) -> Entry:
    """Return one entry, its placeholders filled in and its verifiers built once.

    Raises:
        CatalogError: with the entry's id.
        VerifierError: with the entry's id, for a verifier that cannot be built.
    """
    where = f"entry {raw.get('id', '?')!r}" if isinstance(raw, Mapping) else f"entry {raw!r}"
    if not isinstance(raw, Mapping):
        raise CatalogError(f"{where}: expected a mapping")
    _refuse_unknown(raw, ENTRY_KEYS, where)
    merged = {**defaults, **raw}
    for key in ("id", "value", "verbose", "terse", "verifiers"):
        if not merged.get(key):
            raise CatalogError(f"{where}: no {key!r}")
    if not str(merged["id"]).startswith(f"{family}."):
        raise CatalogError(f"{where}: expected an id that starts with {family + '.'!r}")
    if merged.get("split", "train") not in SPLITS:
        raise CatalogError(
            f"{where}: unknown split {merged['split']!r} (known: {', '.join(SPLITS)})"
        )
    facts = {"value": merged["value"], **_facts(merged, where)}
    filled = {key: _fill(value, facts, where) for key, value in merged.items() if key != "facts"}
    try:
        entry = Entry(
            id=_text(filled, "id", where),
            family=family,
            value=_text(filled, "value", where),
            verbose=_texts(filled, "verbose", where),
            terse=_text(filled, "terse", where),
            verifiers=_verifiers(filled, where),
            probes=_probes(filled, where),
            hint=_text(filled, "hint", where) if filled.get("hint") is not None else None,
            split=filled.get("split", "train"),
            utterances=_texts(filled, "utterances", where),
            prefills=_texts(filled, "prefills", where),
            examples=_chat(filled, where),
            good=_texts(filled, "good", where),
            bad=_texts(filled, "bad", where),
            cancel=_texts(filled, "cancel", where),
        )
    except TypeError as error:
        raise CatalogError(f"{where}: {error}") from None
    for spec in (*entry.verifiers, *(v for p in entry.probes for v in p.verifiers)):
        try:
            build(spec)
        except (VerifierError, TypeError) as error:
            raise VerifierError(f"{where}: {error}") from None
    return entry


def _text(raw: Mapping[str, Any], key: str, where: str) -> str:
    value = raw.get(key)
    # A number reads as it was written, `true` does not.
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        raise CatalogError(f"{where}: {key!r} is {value!r}: expected a text, in quotes if need be")
    return value


def _facts(raw: Mapping[str, Any], where: str) -> dict[str, str]:
    facts = raw.get("facts") or {}
    if not isinstance(facts, Mapping):
        raise CatalogError(f"{where}: 'facts' is {facts!r}: expected a mapping of names to texts")
    return {str(name): _text(facts, name, f"{where}: facts") for name in facts}


def _verifiers(raw: Mapping[str, Any], where: str) -> tuple[VerifierSpec, ...]:
    found = raw.get("verifiers")
    if not isinstance(found, list) or not found:
        raise CatalogError(f"{where}: 'verifiers' is {found!r}: expected a list with at least one")
    try:
        return tuple(VerifierSpec.from_dict(one) for one in found)
    except CatalogError as error:
        raise CatalogError(f"{where}: {error}") from None


def _probes(raw: Mapping[str, Any], where: str) -> tuple[Probe, ...]:
    found = raw.get("probes") or []
    if not isinstance(found, list) or not all(isinstance(one, Mapping) for one in found):
        raise CatalogError(
            f"{where}: 'probes' is {found!r}: expected a list of a question with its verifiers each"
        )
    probes = []
    for number, one in enumerate(found, start=1):
        place = f"{where}: probe {number}"
        _refuse_unknown(one, ("question", "verifiers"), place)
        probes.append(Probe(_text(one, "question", place), _verifiers(one, place)))
    return tuple(probes)


def _texts(raw: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    value = raw.get(key) or ()
    if not isinstance(value, list | tuple) or not all(
        isinstance(v, str) and v.strip() for v in value
    ):
        raise CatalogError(f"{where}: {key!r} is {value!r}: expected a list of texts")
    return tuple(value)


def _chat(raw: Mapping[str, Any], where: str) -> tuple[str, ...]:
    texts = _texts(raw, "examples", where)
    if len(texts) % 2:
        raise CatalogError(
            f"{where}: 'examples' has {len(texts)} texts: expected a reply after each message"
        )
    return texts


def _fill(value: Any, facts: Mapping[str, Any], where: str) -> Any:
    """Fill '{name}' placeholders in every text of a nested value."""
    if isinstance(value, str):

        def fact(match: re.Match[str]) -> str:
            if match[1] not in facts:
                raise CatalogError(
                    f"{where}: placeholder {match[0]!r} is no fact (known: {', '.join(facts)})"
                )
            return str(facts[match[1]])

        return re.sub(r"\{([a-z_][a-z0-9_]*)\}", fact, value)
    if isinstance(value, Mapping):
        return {k: _fill(v, facts, where) for k, v in value.items()}
    if isinstance(value, list):
        return [_fill(v, facts, where) for v in value]
    return value


def _refuse_unknown(raw: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    known = list(known)
    for key in raw:
        if key not in known:
            hint = did_you_mean(key, known, f" (known: {', '.join(known)})")
            raise CatalogError(f"{where}: unknown key {key!r}{hint}")
