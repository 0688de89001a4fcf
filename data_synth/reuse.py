"""Samples of an earlier plan that stay when dialogues, instructions or their number changed.

A stored sample stays where its dialogue and its instruction are those of a planned one, word for word; any
other change (teacher, seed, rules, filters) makes another run, which the store refuses.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from data_synth.plan import Plan, PlannedSample, sample_id
from gatt.data.answers import answers
from gatt.data.dialogue import Dialogue
from gatt.data.instruction import Entry, Instruction
from gatt.data.sample import GattSample, read_samples
from gatt.errors import StoreError
from gatt.runs.atomic_file import atomic_write_json, atomic_write_text
from gatt.runs.input_file import count_lines
from gatt.runs.set_aside import copy_aside
from gatt.runs.store import meta_path, read_meta, take_lock

log = logging.getLogger(__name__)

NUM_KEPT: Final = "num_kept"
"""Key of the store's description: how many rows at its beginning are of an earlier plan."""
PLANNING: Final = (
    "num_samples", "plain_fraction", "part", "source", "instructions", "switch", "batch_samples", "plan",
)  # fmt: skip
"""Settings that say which samples there are, and not what becomes of one."""


def keep_earlier(path: Path, plan: Plan, fingerprint: str, settings: Mapping[str, Any]) -> None:
    """Leave those rows of an earlier plan in a store that the new plan has too, and say so in the log.

    The rows come first, under the ids of the new plan; the others are to be drawn (`order_of`). The file as it
    was becomes `samples.before.jsonl`. Nothing is done if the store has no sample, or the plan is the same.

    Args:
        path: of the store.
        plan: the new one.
        fingerprint: of the settings.
        settings: as the store describes them.

    Raises:
        StoreError: no sample can stay, another process uses the store, its description is broken, or the disk
            is full.
        DataError: a row is no sample.
    """
    if not meta_path(path).exists() or not path.exists() or not path.stat().st_size:
        return
    meta = read_meta(path)
    described = meta.get("describe") or {}
    if meta.get("fingerprint") == fingerprint or _deciding(described) != _deciding(settings):
        return
    lock = take_lock(path)
    try:
        rows, why = _kept(path, plan)
        if not rows and why:
            raise StoreError(
                f"{path}: belongs to another run, and none of its samples can stay; to draw are {why}: choose "
                "another folder or delete it"
            )
        if not rows:
            return
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        copy = copy_aside(path)
        atomic_write_text(path, text)
        described = {**settings, NUM_KEPT: len(rows)}
        atomic_write_json(
            meta_path(path), {**meta, "fingerprint": fingerprint, "describe": described}
        )
    finally:
        lock.release()
    log.warning(
        "%s: %d of %d samples kept, %d to draw%s; as it was: %s",
        path, len(rows), len(plan), len(plan) - len(rows), f" ({why})" if why else "", copy.name,
    )  # fmt: skip


def num_done(path: Path, plan: Plan) -> int:
    """Return how many samples of a plan a store has, or would keep of an earlier one; nothing is written.

    Raises:
        StoreError: the description of the store is broken.
        DataError: a row is no sample.
    """
    if not meta_path(path).exists() or not path.exists():
        return 0
    described = read_meta(path).get("describe") or {}
    if (described.get("plan") or {}).get("digest") == plan.digest:
        return min(count_lines(path), len(plan))
    return len(_kept(path, plan)[0])


def order_of(path: Path, num_samples: int) -> tuple[Sequence[int], int]:
    """Return the places in the plan of all rows of a store, in the order of its file, and how many were kept.

    Rows of an earlier plan come first.
    """
    described: Mapping[str, Any] = read_meta(path).get("describe") or {}
    num_kept = described.get(NUM_KEPT, 0)
    if not num_kept:
        return range(num_samples), 0
    places = {sample_id(index): index for index in range(num_samples)}
    rows = (sample.id for sample, _ in zip(read_samples(path), range(num_kept), strict=False))
    kept = list(dict.fromkeys(places[name] for name in rows if name in places))
    return [*kept, *sorted(set(range(num_samples)) - set(kept))], len(kept)


def _deciding(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings on which a target depends, once its dialogue and its instruction are given."""
    left = {k: v for k, v in settings.items() if k not in (*PLANNING, NUM_KEPT)}
    # The source decides the mode where none is set.
    kept: dict[str, Any] = {**left, "source": (settings.get("source") or {}).get("name")}
    # As it is read back from a file.
    return dict(json.loads(json.dumps(kept)))


def _key(sample: PlannedSample | GattSample) -> str:
    """Return a hash of dialogue, instruction and changes, without expectations: other dialogues decide them."""
    said = [(message.role, message.content) for message in sample.dialogue.messages]
    held = sample.instruction and sample.instruction.as_dict()
    switches = [switch.as_dict() for switch in sample.switches or ()]
    text = json.dumps(
        [sample.dialogue.id, said, held, switches], sort_keys=True, ensure_ascii=False
    )
    return hashlib.sha256(text.encode()).hexdigest()


def _kept(path: Path, plan: Plan) -> tuple[list[dict[str, Any]], str]:
    """Return the rows that stay, and how many others are to be drawn for which reason; "" where none is."""
    rows: list[dict[str, Any]] = []
    left: dict[str, list[int]] = {}
    for index, planned in enumerate(plan):
        left.setdefault(_key(planned), []).append(index)
    before = _Before()
    for sample in read_samples(path):
        before.add(sample)
        places = left.get(_key(sample))
        if places and (row := _row(sample, plan[places[0]])) is not None:
            places.pop(0)
            rows.append(row)
        elif places:
            before.unmet.add(sample.dialogue.id)
    entries = {entry.id: entry for entry in plan.pool}
    to_draw: dict[str, list[str]] = {}
    for index in sorted(index for places in left.values() for index in places):
        source = plan.source_dialogue(index)
        reason = before.reason(source, plan[index], entries)
        to_draw.setdefault(reason, []).append(source.id)
    most = sorted(to_draw.items(), key=lambda item: -len(item[1]))
    texts = (
        f"{len(ids)} {reason}{_first(ids) if reason in _BY_DIALOGUE else ''}"
        for reason, ids in most
    )
    # Where no row stands there, nothing was lost.
    return rows, "; ".join(texts) if before.texts else ""


_NEW: Final = "on new dialogues"
_CHANGED: Final = "on changed dialogues"
_EXPECTED: Final = "on dialogues with another expectation"
_BY_DIALOGUE: Final = (_CHANGED, _EXPECTED)
"""Reasons that name the dialogues."""
_MOST_IDS: Final = 3
_CATALOG_KEYS: Final = {"programs": "program", "facts": "speaker"}
"""Keys of an instruction that have another name in a catalogue."""


def _first(ids: Sequence[str]) -> str:
    """Return the first ids and how many more there are, in brackets."""
    names = list(dict.fromkeys(ids))
    more = f" and {len(names) - _MOST_IDS} more" if len(names) > _MOST_IDS else ""
    return f" ({', '.join(names[:_MOST_IDS])}{more})"


class _Before:
    """What the stored samples were made of."""

    def __init__(self) -> None:
        self.texts: dict[str, set[str]] = {}
        """Id of a dialogue -> its messages."""
        self.unmet: set[str] = set()
        """Dialogues with a target, or a gap, that does not fit the expectations of today."""
        self._shapes: dict[str, dict[str, Any]] = {}
        """Id of an instruction -> all of it that its wording does not change."""
        self._wordings: dict[str, set[tuple[str, str]]] = {}
        """Id of an instruction -> its kinds of wording, each with its text."""

    def add(self, sample: GattSample) -> None:
        """Note one sample."""
        said = (message.content for message in sample.dialogue.messages)
        self.texts.setdefault(sample.dialogue.id, set()).update(said)
        if held := sample.instruction:
            self._shapes[held.id] = _shape(held)
            self._wordings.setdefault(held.id, set()).add((held.wording, held.text))

    def reason(self, source: Dialogue, planned: PlannedSample, entries: Mapping[str, Entry]) -> str:
        """Return why no stored sample fits a planned one."""
        if source.id not in self.texts:
            return _NEW
        if not {message.content for message in source.messages} <= self.texts[source.id]:
            return _CHANGED
        held = planned.instruction
        if held is not None and (keys := self._changed_keys(held, entries.get(held.id))):
            return f"under entry {held.id}: {', '.join(keys)}"
        return _EXPECTED if source.id in self.unmet else "in other combinations"

    def _changed_keys(self, held: Instruction, entry: Entry | None) -> list[str]:
        """Return the keys of a catalogue entry in which an instruction differs from the stored one."""
        if held.id not in self._shapes:
            return []
        now, before = _shape(held), self._shapes[held.id]
        changed = [_CATALOG_KEYS.get(key, key) for key in now if now[key] != before.get(key)]
        if entry is not None:
            texts = {"verbose": entry.verbose, "terse": (entry.terse,)}
            gone = {w for w, text in self._wordings[held.id] if text not in texts[w]}
            changed += sorted(gone & {held.wording}, reverse=True)
        return changed


def _shape(held: Instruction) -> dict[str, Any]:
    """Return all of an instruction that its wording does not change, as a file holds it."""
    raw = {k: v for k, v in held.as_dict().items() if k not in ("text", "wording")}
    return dict(json.loads(json.dumps(raw)))


def _row(sample: GattSample, planned: PlannedSample) -> dict[str, Any] | None:
    """Return an earlier sample in the form of the plan; None if a target does not meet a changed expectation.

    A sample with a gap at a turn whose expectation changed is also made anew.
    """
    for target, before, expect, user in zip(
        sample.targets,
        sample.dialogue.expectations,
        planned.dialogue.expectations,
        planned.dialogue.user_turns,
        strict=True,
    ):
        if target.reply is None:
            if expect != before:
                return None
        elif expect is not None and answers(expect, target.reply, user).status != "pass":
            return None
    return replace(sample, id=planned.id, dialogue=planned.dialogue).as_dict()
