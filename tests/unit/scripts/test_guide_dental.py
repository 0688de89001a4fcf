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


def test_it_runs_the_commands_of_the_guide_in_order(tmp_path: Path) -> None:
    stand_ins, results, folder = tmp_path / "bin", tmp_path / "results", tmp_path / "clean"
    record = tmp_path / "record"
    stand_ins.mkdir()
    for name in ("gatt", "transformers", "curl"):
        (stand_ins / name).write_text(STAND_IN.replace("NAME", name), encoding="utf-8")
        (stand_ins / name).chmod(0o755)
    for name, num in {"clinic": 30, "served_clinic": 28, "served_other": 27}.items():
        curve = {
            "arm": "gatt", "metric": "adherence", "history": "own", "split": "all", "family": "all",
            "turn": 20, "num_passed": num, "num_decided": 30, "num_undecided": 0,
        }  # fmt: skip
        others = [curve | {"turn": 1}, curve | {"family": "clinic"}, curve | {"split": "train"}]
        path = results / "eval" / name / "results.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"curves": [*others, curve]}), encoding="utf-8")
    env = {"PATH": f"{stand_ins}{os.pathsep}{os.environ['PATH']}", "RECORD": str(record)}
    done = subprocess.run(
        [str(ROOT / "scripts" / "checks" / "guide_dental.sh"), str(folder)],
        env=os.environ | env | {"RESULTS": str(results)},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
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
    lines = record.read_text(encoding="utf-8").split("\0\n")
    ran = [line.split("\0") for line in lines if line]
    found = [words[:2] for words in ran if words[0] != "curl"]
    assert found == expected
    for block in blocks(GUIDE):
        if block.language == "yaml":
            assert (folder / block.title).read_text(encoding="utf-8") == block.text
