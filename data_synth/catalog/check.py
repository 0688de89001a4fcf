"""What `gatt catalog check` does: every file, entry and verifier against its own examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data_synth.catalog.gauntlet import (
    DENIAL_JUNK,
    JUNK,
    NAME_JUNK,
    TERM_JUNK,
    passing_talk,
    talk_about,
)
from gatt.data.catalog.read import (
    CONFLICTS_FILE,
    catalog_files,
    load_catalog,
    parse_family,
    read_yaml,
    use_own_kinds,
)
from gatt.data.instruction import Entry
from gatt.errors import CatalogError, VerifierError
from gatt.verifiers import Examples, build, check_all, overall
from gatt.verifiers.persona.speaker import is_of_oneself
from gatt.verifiers.spec import VerifierSpec
from gatt.verifiers.table import all_kinds, verifier_class

VERIFIER_TABLE = "verifiers"
"""Stands for the file in problems of a verifier's own examples."""
SHOWN_CHARACTERS = 60


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong; printed as `file entry: what`."""

    file: str
    entry: str
    what: str

    def __str__(self) -> str:
        return f"{self.file} {self.entry}: {self.what}"


@dataclass(frozen=True)
class CheckReport:
    """What a check found."""

    entries: tuple[Entry, ...]
    """Entries that could be read, those with problems included."""
    problems: tuple[Problem, ...]
    num_replies: int
    """Good, bad, junk and other replies that were put before a verifier."""


def check_catalog(place: Path) -> CheckReport:
    """Check the catalogue of one folder or file, and the examples of every verifier kind.

    Every kind is one that is shipped, comes from an installed package, or from a Python file that the
    catalogue names, which is run.

    All good replies of an entry must pass its verifiers together, no bad and no
    junk reply may, nor one that speaks of a figure or persona from outside or
    only talks about the instruction (`catalog_gauntlet`); no junk reply may pass
    the verifiers of a probe. Wordings are unique over the folder, values within
    their family.

    Raises:
        CatalogError: the folder holds no catalogue file.
    """
    files = [path for path in catalog_files(place) if path.name != CONFLICTS_FILE]
    if not files:
        raise CatalogError(f"{place}: no catalogue file: expected at least one '<family>.yaml'")
    problems: list[Problem] = []
    read: list[tuple[str, Entry]] = []
    raw: dict[Path, dict[str, Any]] = {}
    for path in files:
        try:
            raw[path] = read_yaml(path)
            use_own_kinds(path, raw[path])
        except (CatalogError, VerifierError) as error:
            raw.pop(path, None)
            problems.append(Problem(path.name, "file", str(error)))
    for path in raw:
        entries, found = _read_entries(path, raw[path])
        read += [(path.name, entry) for entry in entries]
        problems += found
    if not problems:
        problems += _check_together(place)
    problems += find_duplicates(read)
    num_replies = 0
    for file, entry in read:
        problems += [Problem(file, entry.id, what) for what in check_entry(entry)]
        num_replies += len(entry.good) + len(entry.bad) + len(JUNK) * (1 + len(entry.probes))
        num_replies += len(replies_out_of_character(entry.verifiers))
        num_replies += sum(1 for _ in talk_about(entry))
    for kind in all_kinds():
        problems += [Problem(VERIFIER_TABLE, kind, what) for what in check_verifier(kind)]
        num_replies += _num_example_replies(kind)
    return CheckReport(tuple(entry for _, entry in read), tuple(problems), num_replies)


def check_entry(entry: Entry) -> list[str]:
    """Return what is wrong with the replies and verifiers of one entry."""
    try:
        return _check_replies(entry)
    except VerifierError as error:
        # A kind that is not shipped fails on one of the replies.
        return [str(error)]


def _check_replies(entry: Entry) -> list[str]:
    found = [f"no {name!r} reply: expected at least one" for name in ("good", "bad")
             if not getattr(entry, name)]  # fmt: skip
    found += [
        f"good reply {_shown(reply)} does not pass: {_evidence(entry.verifiers, reply)}"
        for reply in entry.good
        if overall(check_all(entry.verifiers, reply)) != "pass"
    ]
    found += [
        f"bad reply {_shown(reply)} passes: {_evidence(entry.verifiers, reply)}"
        for reply in entry.bad
        if overall(check_all(entry.verifiers, reply)) == "pass"
    ]
    found += [f"junk {_shown(reply)} passes" for reply in _passing_junk(entry.verifiers)]
    found += [
        f"out of character {_shown(reply)} passes"
        for reply in replies_out_of_character(entry.verifiers)
        if overall(check_all(entry.verifiers, reply)) == "pass"
    ]
    found += [
        f"talk about the instruction {_shown(reply)} passes: expected wordings that speak of replies "
        '("in every reply") or verifiers that such talk fails'
        for reply in passing_talk(entry)
    ]
    for probe in entry.probes:
        found += [
            f"probe {probe.question!r}: junk {_shown(reply)} passes"
            for reply in _passing_junk(probe.verifiers)
        ]
    return found


def replies_out_of_character(specs: Sequence[VerifierSpec]) -> list[str]:
    """Return the junk made of the names and terms of every `in_character` and `likes` of an entry.

    A term of one's own ("my knives") is left out: whoever says it has them.
    """
    replies = []
    for spec in specs:
        if spec.kind == "in_character":
            terms = spec.params["any_of"]
            replies += [text.format(name=terms[0]) for text in NAME_JUNK]
            replies += [
                text.format(term=term)
                for term in terms[1:]
                if not is_of_oneself(term)
                for text in TERM_JUNK
            ]
        elif spec.kind == "likes":
            replies += [
                text.format(term=term)
                for term in spec.params["any_of"]
                if " my " not in f" {term} "
                for text in DENIAL_JUNK
            ]
    return replies


def check_verifier(kind: str) -> list[str]:
    """Return what is wrong with a verifier kind by its own examples and by junk."""
    try:
        all_examples = verifier_class(kind).examples
    except VerifierError as error:
        return [str(error)]
    if not all_examples:
        return ["no examples: expected at least one set"]
    found = []
    for examples in all_examples:
        spec = VerifierSpec(kind, examples.params)
        try:
            found += _check_examples(spec, examples)
        except VerifierError as error:
            found.append(f"examples cannot be judged: {error}")
    return found


def _num_example_replies(kind: str) -> int:
    try:
        sets = verifier_class(kind).examples
    except VerifierError:
        return 0
    return sum(len(one.good) + len(one.bad) + len(JUNK) for one in sets)


def _check_examples(spec: VerifierSpec, examples: Examples) -> list[str]:
    verifier = build(spec)
    good = [(reply, verifier.check(reply)) for reply in examples.good]
    bad = [(reply, verifier.check(reply)) for reply in examples.bad]
    return [
        *(
            f"good example {_shown(reply)} does not pass: {verdict.evidence}"
            for reply, verdict in good
            if verdict.status != "pass"
        ),
        *(
            f"bad example {_shown(reply)} passes: {verdict.evidence}"
            for reply, verdict in bad
            if verdict.status == "pass"
        ),
        *(
            f"junk {_shown(reply)} passes with {dict(spec.params)}"
            for reply in _passing_junk([spec])
        ),
    ]


def find_duplicates(read: Sequence[tuple[str, Entry]]) -> list[Problem]:
    """Return wordings that stand twice anywhere, and values that stand twice in a family."""
    problems = []
    wordings: dict[str, str] = {}
    values: dict[tuple[str, str], str] = {}
    for file, entry in read:
        for text in (*entry.verbose, entry.terse):
            first = wordings.setdefault(text.casefold(), entry.id)
            if first != entry.id or _is_repeated(text, entry):
                problems.append(
                    Problem(file, entry.id, f"wording {_shown(text)} already stands in {first}")
                )
        first = values.setdefault((entry.family, entry.value.casefold()), entry.id)
        if first != entry.id:
            problems.append(
                Problem(file, entry.id, f"value {entry.value!r} already stands in {first}")
            )
    return problems


def count_by_split(entries: Sequence[Entry]) -> dict[str, Counter[str]]:
    """Return the number of entries per family and split, families in order."""
    counts: dict[str, Counter[str]] = {}
    for entry in entries:
        counts.setdefault(entry.family, Counter())[entry.split] += 1
    return counts


def _read_entries(path: Path, raw: dict[str, Any]) -> tuple[list[Entry], list[Problem]]:
    """Return the entries that can be read, and every problem and not only the first."""
    try:
        return parse_family(raw)[2], []
    except (CatalogError, VerifierError) as error:
        whole_file = Problem(path.name, "file", str(error))
    listed = raw.get("entries")
    entries: list[Entry] = []
    problems: dict[str, Problem] = {}
    for number, item in enumerate(listed if isinstance(listed, list) else [], start=1):
        name = (
            str(item.get("id", f"entry {number}")) if isinstance(item, dict) else f"entry {number}"
        )
        try:
            entries += parse_family({**raw, "entries": [item]})[2]
        except (CatalogError, VerifierError) as error:
            # What is wrong with the head of the file comes back with every entry.
            problems.setdefault(str(error), Problem(path.name, name, str(error)))
    return entries, list(problems.values()) or [whole_file]


def _check_together(place: Path) -> list[Problem]:
    try:
        load_catalog(place)
    except CatalogError as error:
        return [Problem(place.name, "catalogue", str(error))]
    return []


def _is_repeated(text: str, entry: Entry) -> bool:
    own = [t.casefold() for t in (*entry.verbose, entry.terse)]
    return own.count(text.casefold()) > 1


def _passing_junk(specs: Sequence[VerifierSpec]) -> Iterator[str]:
    return (reply for reply in JUNK if overall(check_all(specs, reply)) == "pass")


def _evidence(specs: Sequence[VerifierSpec], reply: str) -> str:
    verdicts = check_all(specs, reply)
    told = [v for v in verdicts if v.status != "pass"] or list(verdicts)
    return "; ".join(f"{v.verifier} says {v.status} ({v.evidence})" for v in told) or "no verifier"


def _shown(text: str) -> str:
    return repr(text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…")
