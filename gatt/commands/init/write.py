"""The files of a working start, made whole before the first one is written."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from importlib import resources
from pathlib import Path

from gatt.commands.init.rules import Rule
from gatt.commands.machine import Settings
from gatt.commands.templates import filled
from gatt.errors import StoreError
from gatt.runs.atomic_file import atomic_write_text


def files_of(
    folder: Path, model: str, size: str, sentence: str, rule: Rule | None, settings: Settings
) -> dict[str, str]:
    """Return the text of each file of a start, by name.

    Args:
        folder: as the user put it, for the comments.
        model: as `model:` takes it.
        size: of the model, in words.
        sentence: what must hold.
        rule: that judges it; None writes a judge's place, and a second catalogue for the evaluation.
        settings: for the model and the machine.
    """
    # As people write them in YAML.
    verifiers = [{"kind": v.kind, **v.params} for v in rule.verifiers] if rule else []
    keys = ("utterances", "prefills", "good", "bad")
    lists = {key: getattr(rule, key, ()) for key in keys}
    hint = f"Keep to this in your reply: {sentence}"
    hint += "".join(f' For example: "{text}"' for text in lists["utterances"][:1])
    hint = rule.hint if rule and rule.hint else hint
    # Braces in these texts must stay as they are.
    braced = json.dumps([sentence, verifiers, hint, lists]).replace("{value}", "")
    given = asdict(settings) | {
        "folder": folder, "model": model, "size": size, "sentence": sentence, "rule": rule,
        "verifiers": verifiers, "hint": hint, "lists": lists,
        "facts": {name: f"{{{name}}}" for name in re.findall(r"\{([a-z_][a-z0-9_]*)\}", braced)},
        "wordings": [
            sentence,
            f"From now on, in every reply: {sentence}",
            f"This holds for our whole conversation: {sentence}",
            f"{sentence} Keep to this whatever I ask.",
        ],
        "terse": f"{sentence.rstrip(' .!')}, in every reply.",
        "is_long": rule is None or rule.is_long,
        "eval_catalog": "catalog.yaml" if rule else "judged.yaml",
    }  # fmt: skip
    dialogues = resources.files("gatt.commands.init") / "dialogues.jsonl"
    return {
        "run.yaml": filled("init/run.yaml.j2", **given),
        "dialogues.jsonl": dialogues.read_text(encoding="utf-8"),
        **{
            name: filled("init/catalog.yaml.j2", name=name, **given)
            for name in dict.fromkeys(("catalog.yaml", given["eval_catalog"]))
        },
    }


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
