"""The checks against real servers: every key that they set is one that there is."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from data_synth.config import SynthConfig
from eval.config import EvalConfig
from gatt.config.load import load_config
from tests.support.texts.doc_pages import ROOT

SCHEMAS: dict[str, type[Any]] = {"synth": SynthConfig, "eval": EvalConfig}
ASKED = """
source scripts/research/engines/parts.sh
gatt() { printf '%s\\x1f' "$@" >>"$RECORD"; echo >>"$RECORD"; }
run=run url=http://127.0.0.1:1/v1 can_prefill=1
part_replies && part_synth
"""


def test_the_checks_of_servers_set_keys_that_there_are(tmp_path: Path) -> None:
    record = tmp_path / "record"
    env = {"RECORD": str(record), "PATH": "/usr/bin:/bin"}
    subprocess.run(["bash", "-ec", ASKED], cwd=ROOT, env=env, check=True, capture_output=True)
    commands = [line.split("\x1f")[:-1] for line in record.read_text().splitlines()]
    assert [words[0] for words in commands] == ["eval", "eval", "synth"]
    for command, *words in commands:
        config = load_config(SCHEMAS[command], None, words)
        assert str(config.output_dir).startswith("run/")
