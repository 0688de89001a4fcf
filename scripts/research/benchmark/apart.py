"""A measurement in a process of its own, and the file of its figures."""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gatt.runs.provenance import provenance


class TooLargeError(SystemExit):
    """The memory was too small for what was measured."""


def measured_apart(name: str, script: str, *words: str) -> dict[str, Any]:
    """Return the JSON object that a script prints last.

    Raises:
        TooLargeError: it ran out of memory.
        SystemExit: it failed; its last line says why.
    """
    command = [sys.executable, script, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL) or "MemoryError" in done.stderr:
        raise TooLargeError(f"{name}: the memory is too small for it")
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"ended with {done.returncode}"]
        raise SystemExit(f"{name}: {last[0]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def write_report(args: argparse.Namespace, report: Mapping[str, Any]) -> None:
    """Write the figures where `--json` says, with the settings and where they were made."""
    if args.json:
        settings = {k: str(v) if isinstance(v, Path) else v for k, v in vars(args).items()}
        found = {**report, "settings": settings, "provenance": provenance()}
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
