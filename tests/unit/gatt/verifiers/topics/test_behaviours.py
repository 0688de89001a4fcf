"""Hard replies to every behaviour of the catalogue."""

from __future__ import annotations

from pathlib import Path

import yaml

from gatt.data.catalog.read import load_catalog
from gatt.verifiers import check_all, overall


def test_hard_replies_to_every_behaviour() -> None:
    text = Path(__file__).with_name("behaviour_replies.yaml").read_text(encoding="utf-8")
    cases: dict[str, dict[str, list[str]]] = yaml.safe_load(text)
    entries = {entry.id: entry for entry in load_catalog().entries if entry.family == "behaviour"}
    assert set(cases) == set(entries)
    wrong = [
        (entry_id, reply)
        for entry_id, replies in cases.items()
        for label, status in (("good", "pass"), ("bad", "fail"))
        for reply in replies[label]
        if overall(check_all(entries[entry_id].verifiers, reply)) != status
    ]
    assert wrong == []
