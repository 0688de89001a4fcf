"""Instructions: what must hold for a whole dialogue. No torch here.

Source: Llama 2, arXiv:2307.09288, section 3.3: hobbies, languages and public
figures, combined at random, half of the time in a shortened wording.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal, get_args

from gatt.data.parts import Part, parts_from_json, parts_to_json
from gatt.data.variants import Variants
from gatt.errors import CatalogError
from gatt.runs.input_file import parse_json
from gatt.runs.values import ShapeError, typed
from gatt.verifiers.spec import VerifierSpec

Split = Literal["train", "heldout_value", "heldout_family"]
SPLITS: tuple[str, ...] = get_args(Split)
Wording = Literal["verbose", "terse"]

ROLE_VERIFIER = "role"
"""Kind of the verifier that, with names, marks an entry as a role: a figure or a persona."""
MOST_DRAWS = 100
"""Draws of a combination before it is called impossible: some entries exclude nearly all others."""


@dataclass(frozen=True)
class Probe:
    """A question asked off the record whose answer shows if the instruction holds."""

    question: str
    verifiers: tuple[VerifierSpec, ...]
    """All must pass. They need not be those of ordinary turns."""

    def as_dict(self) -> dict[str, Any]:
        """Return the probe as JSON takes it."""
        return {"question": self.question, "verifiers": [v.as_dict() for v in self.verifiers]}

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Probe:
        """Return the probe of its JSON form."""
        return cls(raw["question"], tuple(VerifierSpec.from_dict(v) for v in raw["verifiers"]))


@dataclass(frozen=True)
class Entry:
    """One entry of the catalogue: a single constraint in all its wordings."""

    id: str
    family: str
    value: str
    verbose: tuple[str, ...]
    terse: str
    verifiers: tuple[VerifierSpec, ...]
    probes: tuple[Probe, ...] = ()
    hint: str | None = None
    """What the teacher is told in addition, so that the reply follows the rule."""
    split: Split = "train"
    utterances: tuple[str, ...] = ()
    """Wordings that a `compose` teacher may add to a sampled reply."""
    prefills: tuple[str, ...] = ()
    """Beginnings of a reply that a teacher may be given, so that it falls into the role."""
    examples: tuple[str, ...] = ()
    """Message, reply, message, reply …: a short chat that the teacher reads first when it has a hint."""
    good: tuple[str, ...] = ()
    bad: tuple[str, ...] = ()
    cancel: tuple[str, ...] = ()
    """Wordings that cancel it during a dialogue; general wordings are used if there are none."""
    facts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What it says of the speaker: the fact that a user may ask for (`name`, `home`, …) and the right answers.
    In a catalogue file the key is `speaker`."""
    parts: tuple[Part, ...] = ()
    """The things that it asks for, if the file lists them; its verifiers are in the order of the parts."""
    program: str = ""
    """Brings a plain reply into the form: name and parameters as JSON, see `gatt.data.catalog.programs`."""
    variants: Variants | None = field(default=None, compare=False, repr=False)
    """All forms of an entry with parameters. The entry itself is then the first form."""

    @property
    def base_id(self) -> str:
        """The id without the values that were drawn: "format.bullets" of "format.bullets[3]"."""
        return self.id.partition("[")[0]

    def draw(self, rng: random.Random) -> Entry:
        """Return a form with drawn values; an entry without parameters as it is."""
        drawn: Entry = self.variants.draw(rng) if self.variants else self
        return drawn


@dataclass(frozen=True)
class Instruction:
    """One to three entries in a chosen wording: what stands before the dialogue."""

    id: str
    text: str
    wording: Wording
    entries: tuple[str, ...]
    families: tuple[str, ...]
    split: Split
    verifiers: tuple[VerifierSpec, ...]
    probes: tuple[Probe, ...] = ()
    hint: str | None = None
    utterances: tuple[str, ...] = ()
    """Those of all entries; what a reply lacks may be added from them."""
    prefills: tuple[str, ...] = ()
    """Those of one entry, since a reply has one beginning; see `compose`."""
    examples: tuple[str, ...] = ()
    """Those of the entry; none where several are combined, which no example keeps all."""
    programs: tuple[str, ...] = ()
    """Those of the entries that have one."""
    facts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Those of all entries; of two answers to the same question the first entry's."""
    parts: tuple[Part, ...] = ()
    """Those of all entries; an entry without any is one part. None where no entry has any."""

    def verifiers_of(self, part: Part) -> range:
        """Return the places of the verifiers of a part."""
        before = self.parts[: self.parts.index(part)]
        start = sum(other.num_verifiers for other in before)
        return range(start, start + part.num_verifiers)

    @property
    def family(self) -> str:
        """The family for tables: the one family, or `combined`."""
        return self.families[0] if len(self.families) == 1 else "combined"

    @property
    def rules(self) -> tuple[tuple[VerifierSpec, ...], ...]:
        """The verifiers of each entry, if there is one for each entry; else all of them together.

        Nearly all entries of the catalogue have one.
        """
        if 1 < len(self.entries) == len(self.verifiers):
            return tuple((verifier,) for verifier in self.verifiers)
        return (self.verifiers,)

    def as_dict(self) -> dict[str, Any]:
        """Return the instruction as a sample or a suite holds it."""
        plain = {n: list(v) if isinstance(v, tuple) else v for n, v in vars(self).items()}
        return plain | {
            "verifiers": [v.as_dict() for v in self.verifiers],
            "probes": [p.as_dict() for p in self.probes],
            "hint": self.hint or "",
            # One text: columnar readers see the same type in every row.
            "facts": json.dumps(
                {name: list(given) for name, given in self.facts.items()}, ensure_ascii=False
            ),
            "parts": parts_to_json(self.parts),
        }

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Instruction:
        """Return the instruction of its JSON form."""
        # Older samples have no examples, no programs, no facts and no parts.
        raw = {"examples": (), "programs": (), "facts": "{}", "parts": "[]", **raw}
        values = {f.name: raw[f.name] for f in fields(cls)}
        for name in ("entries", "families", "utterances", "prefills", "examples", "programs"):
            values[name] = tuple(values[name])
        values["verifiers"] = tuple(map(VerifierSpec.from_dict, raw["verifiers"]))
        values["probes"] = tuple(map(Probe.from_dict, raw["probes"]))
        values["hint"] = raw["hint"] or None
        values["facts"] = _read_facts(raw["facts"])
        values["parts"] = parts_from_json(raw["parts"])
        return cls(**values)


def _read_facts(text: object) -> dict[str, tuple[str, ...]]:
    try:
        return typed(
            dict[str, tuple[str, ...]], parse_json(text) if isinstance(text, str) else text
        )
    except (json.JSONDecodeError, ShapeError) as error:
        raise CatalogError(
            f"'facts' is {text!r}: expected a JSON object of lists of texts: {error}"
        ) from None


@dataclass(frozen=True)
class Conflicts:
    """Pairs that must not stand in one instruction; a side is a family or an entry id, with or without values.

    Two entries of one family always conflict unless the family is listed in
    `repeatable`.
    """

    pairs: frozenset[frozenset[str]] = frozenset()
    repeatable: frozenset[str] = frozenset()

    def between(self, a: Entry, b: Entry) -> bool:
        """Whether the two entries exclude each other."""
        if a.base_id == b.base_id or (a.family == b.family and a.family not in self.repeatable):
            return True
        others = self._others
        return any(side in others.get(x, ()) for x in _sides(a) for side in _sides(b))

    @cached_property
    def _others(self) -> Mapping[str, Set[str]]:
        """For each family or entry, the ones that conflict with it; computed once for all draws."""
        others: dict[str, set[str]] = {}
        for pair in self.pairs:
            for side in pair:
                others.setdefault(side, set()).update(pair - {side} or pair)
        return others


def _sides(entry: Entry) -> tuple[str, ...]:
    """Return the names under which a conflict may stand: family, entry, and entry with its values."""
    # The held-out values of an entry conflict as the others do.
    return (entry.family, entry.base_id, entry.base_id.removesuffix(".unseen"), entry.id)


def compose(
    entries: Sequence[Entry], rng: random.Random, terse_probability: float = 0.5
) -> Instruction:
    """Return the instruction that the entries make together, in a random wording.

    Of an entry with parameters the values are drawn; `id` names them, `entries` does not.
    Verifiers, probes, hints and utterances of all entries stand side by side.
    Prefills are those of the first entry that is a role, or else of the first
    that has any: nothing but the beginning brings a model into a role, whereas a
    hobby finds room further on.

    Up to three entries that do not conflict go together. The same state of `rng` gives the same text;
    `terse_probability` is the chance of the shortened wording ("Figure: Napoleon.").

    Raises:
        CatalogError: no entry.
    """
    if not entries:
        raise CatalogError("an instruction needs at least one catalogue entry, found none")
    entries = [entry.draw(rng) for entry in entries]
    wording: Wording = "terse" if rng.random() < terse_probability else "verbose"
    texts = [e.terse if wording == "terse" else rng.choice(e.verbose) for e in entries]
    return replace(
        _joined(entries, wording),
        text=" ".join(texts),
        entries=tuple(e.base_id for e in entries),
        families=tuple(dict.fromkeys(e.family for e in entries)),
        examples=entries[0].examples if len(entries) == 1 else (),
    )


def combine(first: Instruction, second: Instruction) -> Instruction:
    """Return two instructions as one, in the words of each; beginnings are chosen as in `compose`."""
    parts = (first, second)
    return replace(
        _joined(parts, second.wording),
        text=" ".join(p.text for p in parts),
        entries=tuple(e for p in parts for e in p.entries),
        families=tuple(dict.fromkeys(f for p in parts for f in p.families)),
    )


def _joined(parts: Sequence[Entry | Instruction], wording: Wording) -> Instruction:
    """Return several entries or instructions as one instruction; the caller sets its text."""
    roles = [
        p
        for p in parts
        if any(v.kind == ROLE_VERIFIER and v.params.get("names") for v in p.verifiers)
    ]
    return Instruction(
        id="+".join(p.id for p in parts),
        text="",
        wording=wording,
        entries=(),
        families=(),
        split=max((p.split for p in parts), key=SPLITS.index),
        verifiers=tuple(v for p in parts for v in p.verifiers),
        probes=tuple(probe for p in parts for probe in p.probes),
        hint=" ".join(p.hint for p in parts if p.hint) or None,
        utterances=tuple(dict.fromkeys(u for p in parts for u in p.utterances)),
        prefills=next((p.prefills for p in (*roles, *parts) if p.prefills), ()),
        programs=tuple(
            program
            for p in parts
            for program in (p.programs if isinstance(p, Instruction) else (p.program,))
            if program
        ),
        facts={name: given for p in reversed(parts) for name, given in p.facts.items()},
        parts=tuple(part for p in parts for part in _parts_of(p))
        if any(p.parts for p in parts)
        else (),
    )


def _parts_of(instruction: Entry | Instruction) -> tuple[Part, ...]:
    about = instruction.value if isinstance(instruction, Entry) else instruction.text
    return instruction.parts or (Part(about=about, num_verifiers=len(instruction.verifiers)),)


def with_rubrics(instruction: Instruction) -> Instruction:
    """Return an instruction in which a judge model judges all parts that no rule judges, in one rubric.

    Without such parts, or without rubrics for them, the instruction is returned unchanged.
    """
    open_parts = [part for part in instruction.parts if not part.is_judged and part.rubric]
    if not open_parts:
        return instruction
    rubric = " ".join(f"{part.rubric.rstrip('.')}." for part in open_parts)
    judged = Part(
        about="; ".join(part.about for part in open_parts), num_verifiers=1, rubric=rubric
    )
    return replace(
        instruction,
        verifiers=(*instruction.verifiers, VerifierSpec("judge", {"rubric": rubric})),
        parts=(*(part for part in instruction.parts if part not in open_parts), judged),
    )


def draw_entries(
    pool: Sequence[Entry], size: int, conflicts: Conflicts, rng: random.Random
) -> tuple[Entry, ...]:
    """Return `size` entries of the pool that do not conflict, drawn family first.

    Families are drawn before entries, so that a family of 100 figures does not
    crowd out one of 20 languages.

    Raises:
        CatalogError: the pool holds no such combination.
    """
    for _ in range(MOST_DRAWS):
        chosen = _draw_once(pool, size, conflicts, rng)
        if len(chosen) == size:
            return chosen
    raise CatalogError(
        f"cannot combine {size} entries without a conflict from {len(pool)} candidates: "
        "allow more families or fewer entries an instruction"
    )


def _draw_once(
    pool: Sequence[Entry], size: int, conflicts: Conflicts, rng: random.Random
) -> tuple[Entry, ...]:
    """Return up to `size` entries; fewer where the first ones exclude all others."""
    chosen: list[Entry] = []
    left: Sequence[Entry] = pool
    while left and len(chosen) < size:
        family = rng.choice(sorted({e.family for e in left}))
        entry = rng.choice([e for e in left if e.family == family])
        chosen.append(entry)
        if len(chosen) < size:
            left = [e for e in left if not conflicts.between(e, entry)]
    return tuple(chosen)
