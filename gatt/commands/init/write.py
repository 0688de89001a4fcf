"""The files of a working start, made whole before the first one is written."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gatt.commands.init.data import Data
from gatt.commands.init.rule import PartChecks, SentencePart
from gatt.commands.init.rules import ANY_WORDS, read_table
from gatt.commands.templates import filled
from gatt.errors import StoreError
from gatt.runs.atomic_file import atomic_write_text
from gatt.stages.machine import Settings
from gatt.verifiers.language.probabilities import language_of


@dataclass(frozen=True)
class Start:
    """What a user gave, and what follows from it."""

    folder: Path
    """As the user put it, for the comments."""
    model: str
    """As `model:` takes it."""
    size: str
    """Of the model, in words."""
    sentence: str
    parts: tuple[SentencePart, ...]
    """Of the sentence."""
    rule: PartChecks | None
    """Of all parts; None where nothing judges any of them."""
    settings: Settings
    data: Data
    server: str | None = None
    """Address of a server for the teacher."""


def files_of(start: Start) -> dict[str, str]:
    """Return the text of each file of a start, by name.

    A sentence of which nothing is judged gets a judge's place, and a second catalogue for the evaluation.
    """
    rule, sentence, parts = start.rule, start.sentence, start.parts
    lists = {key: getattr(rule, key, ()) for key in ("prefills", "good", "bad")}
    frames = _frames(sentence)
    hint = frames["hint"].format(sentence=sentence)
    hint = rule.hint if rule and rule.hint and len(parts) == 1 else hint
    listed = [_part(part) for part in parts] if rule else []
    if rule and not any(part["verifiers"] for part in listed):
        listed[0]["verifiers"] = [{"kind": ANY_WORDS.kind, **ANY_WORDS.params}]
    # Braces in these texts must stay as they are.
    braced = json.dumps([sentence, listed, hint, lists]).replace("{value}", "")
    given = asdict(start.settings) | {
        "start": start, "folder": start.folder, "model": start.model, "size": start.size,
        "sentence": sentence, "rule": rule, "parts": listed, "hint": hint, "lists": lists, "data": start.data,
        "unjudged": "; ".join(part.about for part in parts),
        "speaker": {fact: list(some) for fact, some in rule.facts.items()} if rule else {},
        "program": json.loads(rule.program) if rule and rule.program else None,
        "facts": {name: f"{{{name}}}" for name in re.findall(r"\{([a-z_][a-z0-9_]*)\}", braced)},
        "wordings": [sentence, *(frame.format(sentence=sentence) for frame in frames["wordings"])],
        "terse": _terse(sentence, parts, frames["terse"]),
        "is_long": rule is None or rule.is_long,
        "eval_catalog": "catalog.yaml" if rule else "judged.yaml",
    }  # fmt: skip
    dialogues = {"dialogues.jsonl": start.data.text} if start.data.text else {}
    return {
        "run.yaml": filled("init/run.yaml.j2", **given),
        **dialogues,
        **{
            name: filled("init/catalog.yaml.j2", name=name, **given)
            for name in dict.fromkeys(("catalog.yaml", given["eval_catalog"]))
        },
    }


def _part(part: SentencePart) -> dict[str, Any]:
    """Return a part as the catalogue holds it: empty lists are left out there."""
    rule = part.rule
    return {
        "about": part.about,
        "is_judged": part.is_judged,
        # As people write them in YAML.
        "verifiers": [{"kind": v.kind, **v.params} for v in rule.verifiers] if rule else [],
        "lists": {
            "utterances": list(rule.utterances) if rule else [],
            "facts": list(rule.facts) if rule else [],
            "asks": list(part.asks),
            "replies": list(part.replies),
        },
        "rubric": "" if part.is_judged else f"The reply keeps to this: {part.about}",
    }


def _frames(sentence: str) -> Mapping[str, Any]:
    """Return what is put around a sentence, in its language; in English where the table has not got it."""
    frames: Mapping[str, Mapping[str, Any]] = read_table()["frames"]
    return frames.get(language_of(sentence, "en"), frames["en"])


def _terse(sentence: str, parts: Sequence[SentencePart], frame: str) -> str:
    if len(parts) < 2:
        return frame.format(sentence=sentence.rstrip(" .!"))
    short = [re.sub(r"(?i)^(?:please |always |you must )+", "", part.about) for part in parts]
    return "; ".join(dict.fromkeys(short)) + "."


def write_new(folder: Path, files: Mapping[str, str]) -> None:
    """Write files into a folder that has none of them.

    Raises:
        StoreError: one of them is there, the folder is a file, or it cannot be written; nothing is
            written then.
    """
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"{folder}: is a file: expected a folder, new or without these files")
    there = [name for name in files if (folder / name).exists() or (folder / name).is_symlink()]
    if there:
        raise StoreError(
            f"{folder}: has {', '.join(there)} already, and nothing is overwritten: give another folder, or "
            "move the files away"
        )
    for name, text in files.items():
        atomic_write_text(folder / name, text)
