"""Provenance names versions, machine, commit and command, and imports nothing heavy for it."""

from __future__ import annotations

import json
import subprocess
import sys
import types
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from gatt.runs import provenance as module
from gatt.runs.provenance import PACKAGES, provenance


def test_it_is_json_with_versions_machine_and_utc_time() -> None:
    found = provenance(["gatt", "train"])
    assert json.loads(json.dumps(found)) == found
    assert set(found["versions"]) == set(PACKAGES)
    assert found["versions"]["ghost-attention"]
    assert found["command"] == ["gatt", "train"]
    assert found["num_cpus"] >= 1
    assert found["memory_gib"] > 0
    assert found["cpu"]
    assert datetime.fromisoformat(found["time"]).utcoffset() == timedelta(0)


def test_the_command_of_the_process_loses_its_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/private/gatt", "synth", "--seed=3"])
    assert provenance()["command"] == ["gatt", "synth", "--seed=3"]
    monkeypatch.setattr(sys, "argv", ["/somewhere/gatt/__main__.py", "synth"])
    assert provenance()["command"] == ["gatt", "synth"]


def test_gpus_are_named_once_torch_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = types.SimpleNamespace(
        is_available=lambda: True, device_count=lambda: 2, get_device_name="card {}".format
    )
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(module, "PACKAGES", ("no-such-package-at-all",))
    found = provenance()
    assert found["gpus"] == ["card 0", "card 1"]
    assert found["versions"] == {"no-such-package-at-all": None}


def test_a_checkout_gives_its_commit_and_anything_else_none(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(module, "__file__", str(tmp_path / "gatt" / "runs" / "provenance.py"))
    assert provenance()["commit"] is None
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    assert provenance()["commit"] is None
    # What an earlier run has published may have changed; no code reads it.
    published, *others = (
        tmp_path / name
        for name in ("results/run/results.json", "results/adapter/trained_on.json", "x.py")
    )
    for path in (published, *others):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1", encoding="utf-8")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "One"], check=True)
    assert len(provenance()["commit"]["id"]) == 40
    for path in (published, *others):
        path.write_text("2", encoding="utf-8")
        assert provenance()["commit"]["is_clean"] == (path == published)
        path.write_text("1", encoding="utf-8")
    assert provenance()["commit"]["is_clean"]
    monkeypatch.setenv("PATH", str(tmp_path))
    assert provenance()["commit"] is None
