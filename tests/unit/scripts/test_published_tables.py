"""The README and the pages of the runs hold what the results beside them say."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.support.texts.doc_pages import ROOT


def test_no_published_table_is_stale() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/published/write.py", "--check"],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": "scripts"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
