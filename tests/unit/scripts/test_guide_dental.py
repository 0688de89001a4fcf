"""`guide_dental.sh` follows the guide: with stand-ins for the commands, what it runs and writes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from tests.support.texts.doc_pages import DOCS, ROOT, blocks

GUIDE = DOCS / "guides" / "dental_clinic.md"
STAND_IN = """#!/usr/bin/env bash
for word in NAME "$@"; do printf '%s\\0' "$word"; done >>"$RECORD"
printf '\\n' >>"$RECORD"
[[ NAME != gatt || $1 != eval ]] || cp -r "$RESULTS"/eval .
[[ NAME != transformers ]] || exec sleep 60
[[ NAME != curl ]] || grep -q transformers "$RECORD"
"""


def write_results(folder: Path, undecided: int = 0, **passed: int) -> None:
    for name, num in passed.items():
        record = {
            "arm": "gatt", "metric": "adherence", "history": "own", "split": "all", "family": "all",
            "turn": 20, "num_passed": num, "num_decided": 30 - undecided, "num_undecided": undecided,
        }  # fmt: skip
        others = [record | {"turn": 1}, record | {"family": "clinic"}, record | {"split": "train"}]
        path = folder / "eval" / name / "results.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"curves": [*others, record]}), encoding="utf-8")


def follow(tmp_path: Path, **passed: int) -> tuple[subprocess.CompletedProcess[str], Path]:
    """Run the script with stand-ins, and return what it said and its folder."""
    stand_ins, results, folder = tmp_path / "bin", tmp_path / "results", tmp_path / "clean"
    stand_ins.mkdir()
    for name in ("gatt", "transformers", "curl"):
        path = stand_ins / name
        path.write_text(STAND_IN.replace("NAME", name), encoding="utf-8")
        path.chmod(0o755)
    write_results(results, **passed)
    env = {
        **os.environ,
        "PATH": f"{stand_ins}{os.pathsep}{os.environ['PATH']}",
        "RECORD": str(tmp_path / "record"),
        "RESULTS": str(results),
    }
    done = subprocess.run(
        [str(ROOT / "scripts" / "checks" / "guide_dental.sh"), str(folder)],
        env=env, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    return done, folder


def recorded(tmp_path: Path) -> list[list[str]]:
    lines = (tmp_path / "record").read_text(encoding="utf-8").split("\0\n")
    return [line.split("\0") for line in lines if line]


def test_it_runs_the_commands_of_the_guide_in_order(tmp_path: Path) -> None:
    done, folder = follow(tmp_path, clinic=30, served_clinic=28, served_other=27)
    assert done.returncode == 0, done.stderr
    assert "the clinic's bot asked in 28 of 30; the bank's left it alone in 27 of 30" in done.stdout
    assert "eval/clinic at turn 20: 30 passed, 0 failed, 0 undecided" in done.stdout
    shell = [b for b in blocks(GUIDE) if b.language == "bash" and b.title != "installation"]
    expected = [
        words
        for block in shell
        for line in block.text.replace("{\n", "{ ").splitlines()
        if (words := line.split()[:2])[0] in ("gatt", "transformers")
    ]
    found = [words[:2] for words in recorded(tmp_path) if words[0] != "curl"]
    assert found == expected
    for block in blocks(GUIDE):
        if block.language == "yaml":
            assert (folder / block.title).read_text(encoding="utf-8") == block.text
