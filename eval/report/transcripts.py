"""Samples as the one JSON value that the page's script reads transcripts from.

Texts stand once in a list and are referred to by index: user messages and
references repeat in every arm, and a full run has tens of thousands of replies.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from eval.report.selection import arm_name
from eval.samples import Sample
from gatt.verifiers.base import Verdict


class Interner:
    """Texts by index, each once, in order of arrival."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}

    def add(self, text: str) -> int:
        """Return the index of a text."""
        return self._index.setdefault(text, len(self._index))

    @property
    def texts(self) -> list[str]:
        """All texts, by index."""
        return list(self._index)


def transcript_data(samples: Iterable[Sample], arms: Sequence[str]) -> dict[str, Any]:
    """Return the transcripts: one for each dialogue, instruction, history and arm.

    Args:
        samples: in any order.
        arms: all arms in the order of the charts, for colours and for sorting.

    Returns:
        `texts`; `arms` (`[key, name]`); `instructions`; and `transcripts`, sorted
        so that the arms of one dialogue stand together, turns rising, a probe
        after the ordinary reply of its turn.
    """
    interner = Interner()
    instructions: dict[tuple[str, str], dict[str, Any]] = {}
    groups: dict[tuple[Any, ...], list[Sample]] = {}
    for sample in samples:
        rank = list(arms).index(sample.arm) if sample.arm in arms else len(arms)
        groups.setdefault((*sample.case, sample.history, rank, sample.arm), []).append(sample)
    transcripts: list[dict[str, Any]] = []
    used: set[str] = set()
    for (dialogue, instruction_id, history, rank, arm), members in sorted(groups.items()):
        first = members[0]
        index = None
        if first.instruction is not None:
            key = (first.instruction.id, first.instruction.text)
            instructions.setdefault(
                key,
                {"index": len(instructions), "text": key[1], "wording": first.instruction.wording},
            )
            index = instructions[key]["index"]
        transcripts.append(
            {
                "id": _anchor((dialogue, instruction_id, history, arm), used),
                "case": f"{dialogue}\n{instruction_id}\n{history}",
                "arm": rank,
                "dialogue": dialogue,
                "history": history,
                "split": first.split,
                "family": first.family,
                "instruction": index,
                "turns": [
                    _turn(s, interner)
                    for s in sorted(members, key=lambda s: (s.turn, s.kind == "probe", s.user))
                ],
            }
        )
    return {
        "texts": interner.texts,
        "arms": [[arm, arm_name(arm)] for arm in arms],
        "instructions": list(instructions.values()),
        "transcripts": transcripts,
    }


def _turn(sample: Sample, interner: Interner) -> dict[str, Any]:
    return {
        "turn": sample.turn,
        "kind": sample.kind,
        "user": interner.add(sample.user),
        "reply": interner.add(sample.reply),
        "reference": None if sample.reference is None else interner.add(sample.reference),
        "finish": sample.finish,
        "status": sample.status,
        "verdicts": [_verdict(v) for v in sample.verdicts],
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "status": verdict.status,
        "evidence": verdict.evidence,
        "rule": f"{verdict.verifier} v{verdict.version}",
        "span": list(verdict.span) if verdict.span else None,
    }


def _anchor(parts: Sequence[str], used: set[str]) -> str:
    """Return an id that stays the same from run to run and is unique on the page."""
    slug = re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-")
    anchor, number = f"t-{slug}", 2
    while anchor in used:
        anchor, number = f"t-{slug}-{number}", number + 1
    used.add(anchor)
    return anchor


def embeddable_json(value: object) -> str:
    """Return JSON that no reply can break out of a script element with."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
