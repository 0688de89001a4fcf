"""Processes that train on the CPU, as a launcher starts them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.texts.doc_pages import ROOT

ON_CPU = {"ACCELERATE_USE_CPU": "true"}


def run_module(folder: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a module of Python in a folder; what hangs fails by its timeout."""
    fixed = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
    return subprocess.run(
        [sys.executable, "-m", *words], env=os.environ | fixed | env, cwd=folder,
        capture_output=True, text=True, timeout=500, check=False,
    )  # fmt: skip


def launched(folder: Path, name: str, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Launch two processes with a configuration that is shipped."""
    path = str(ROOT / "configs" / "accelerate" / f"{name}.yaml")
    launch = ("accelerate.commands.launch", "--config_file", path, "--num_processes", "2")
    return run_module(folder, *launch, "--main_process_port", "0", *words, **env)
