"""The files of a working start, made whole before the first one is written."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import Any, Final

import jinja2

from gatt.commands.init.rules import Rule, flat
from gatt.commands.init.settings import Settings
from gatt.errors import StoreError
from gatt.runs.atomic_file import atomic_write_text

_PLACEHOLDER: Final = re.compile(r"\{([a-z_][a-z0-9_]*)\}")
_NOTES: Final = {
    "utterances": "  # added to a reply whose every draw broke the rule",
    "prefills": "  # beginnings of a reply that a local teacher may be given",
    "good": "  # replies that must pass; `gatt catalog check` tries them",
    "bad": "  # and that must not",
}


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
    bare = sentence.rstrip(" .!")
    wordings = [
        sentence,
        f"From now on, in every reply: {sentence}",
        f"This holds for our whole conversation: {sentence}",
        f"{sentence} Keep to this whatever I ask.",
    ]
    eval_catalog = "catalog.yaml" if rule else "judged.yaml"
    common: dict[str, Any] = {
        **asdict(settings), "folder": folder, "model": json.dumps(model), "size": size,
        "sentence": sentence, "wordings": wordings, "terse": f"{bare}, in every reply.", "rule": rule,
        "is_long": rule is None or rule.is_long, "eval_catalog": eval_catalog,
    }  # fmt: skip
    files = {
        "run.yaml": _render("run.yaml.j2", common),
        "catalog.yaml": _catalog("catalog.yaml", common, rule),
        "dialogues.jsonl": _resource("dialogues.jsonl").read_text(encoding="utf-8"),
    }
    if rule is None:
        files[eval_catalog] = _catalog(eval_catalog, common, rule)
    return files


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


def _resource(name: str) -> Any:
    return resources.files("gatt.commands.init") / name


def _catalog(name: str, common: Mapping[str, Any], rule: Rule | None) -> str:
    lists = {key: getattr(rule, key, ()) for key in _NOTES}
    hint = f"Keep to this in your reply: {common['sentence']}"
    hint += "".join(f' For example: "{text}"' for text in lists["utterances"][:1])
    given = {
        **common,
        "name": name,
        "is_eval": name != "catalog.yaml",
        "verifiers": [dict(flat(spec)) for spec in rule.verifiers] if rule else [],
        "judge": {"kind": "judge", "rubric": f"The reply follows this instruction: {common['sentence']}"},
        "hint": rule.hint if rule and rule.hint else hint,
        "lists": lists,
        "notes": _NOTES,
    }  # fmt: skip
    whole = json.dumps([given[key] for key in ("sentence", "verifiers", "hint", "lists")])
    names = dict.fromkeys(_PLACEHOLDER.findall(whole.replace("{value}", "")))
    return _render("catalog.yaml.j2", given | {"facts": {name: f"{{{name}}}" for name in names}})


def _render(name: str, given: Mapping[str, Any]) -> str:
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    # JSON is YAML, whatever a user's sentence holds.
    environment.filters["text"] = lambda value: json.dumps(value, ensure_ascii=False)
    template = environment.from_string(_resource(name).read_text(encoding="utf-8"))
    return template.render(given)
