"""A catalogue of one family: the shipped one takes a while to read."""

from __future__ import annotations

from pathlib import Path

import yaml


def write_catalog(folder: Path, *values: str) -> Path:
    """Write a catalogue of these hobbies into a folder of its own; tennis and chess if none are given."""
    folder.mkdir(parents=True, exist_ok=True)
    entries = [
        {
            "id": f"hobby.{value}", "value": value,
            "verbose": [f"You enjoy {value}.", f"Mention {value}, whatever you are asked."],
            "terse": f"Hobby: {value}.", "verifiers": [{"kind": "terms", "any_of": [value]}],
            "hint": f"Say something on {value}.", "good": [f"I like {value}."], "bad": ["I stayed at home."],
        }
        for value in values or ("tennis", "chess")
    ]  # fmt: skip
    (folder / "hobby.yaml").write_text(yaml.safe_dump({"family": "hobby", "entries": entries}))
    return folder
