"""One fixed string an instruction, which ignores every message: the replies of the arm `canned`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from eval.records.case import Case
from gatt.data.catalog.programs import apply_programs
from gatt.data.catalog.read import Catalog
from gatt.data.instruction import Entry, Instruction
from gatt.verifiers import check_all, overall


def with_canned(cases: Sequence[Case], catalog: Catalog) -> tuple[Case, ...]:
    """Return the cases with the fixed string of each of their instructions."""
    entries = {entry.id: entry for entry in catalog.entries}
    made: dict[str, str] = {}
    with_texts = []
    for case in cases:
        held = [i for i in (case.instruction, *(s.instruction for s in case.switches)) if i]
        for instruction in held:
            if instruction.id not in made:
                made[instruction.id] = canned_reply(instruction, entries)
        with_texts.append(replace(case, canned={i.id: made[i.id] for i in held}))
    return tuple(with_texts)


def canned_reply(instruction: Instruction, entries: Mapping[str, Entry]) -> str:
    """Return the first candidate that keeps the instruction by its rules; without any the first one.

    Candidates are "I am NAME." of a person, "I love HOBBY." of a hobby, an utterance of a behaviour, the
    first good example of a language or a format (where needed brought into the form that was drawn), and
    all of them in a row where several entries are joined. An instruction of no entry gives its utterance,
    or its own words. `entries` are those of the catalogue, by id.
    """
    parts = [
        part for name in instruction.entries if name in entries for part in _parts(entries[name])
    ]
    firsts = [next(_parts(entries[name])) for name in instruction.entries if name in entries]
    candidates = [" ".join(firsts), *parts, *instruction.utterances[:1], instruction.text]
    usable = [text for text in candidates if text.strip()]
    # A form with drawn values has no good example of its own.
    in_form = (apply_programs(instruction.programs, text) or text for text in usable)
    for text in (*usable, *in_form):
        if instruction.verifiers and overall(check_all(instruction.verifiers, text)) == "pass":
            return text
    return usable[0]


def _parts(entry: Entry) -> Iterator[str]:
    if name := entry.facts.get("name"):
        yield f"I am {name[0]}."
    if hobby := entry.facts.get("hobby"):
        yield f"I love {hobby[0]}."
    yield from (*entry.utterances[:1], *entry.good[:1])
    yield f"I love {entry.value}." if entry.family == "hobby" else f"I am {entry.value}."
