"""The origin of a result: versions, machine, commit, command, time. No torch here."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

PACKAGES: Final = (
    "ghost-attention",
    "torch",
    "transformers",
    "trl",
    "peft",
    "accelerate",
    "datasets",
)
PUBLISHED: Final = (
    "results/*.html", "results/*.png", "results/*results.json", "results/*attention*.json",
    "results/*perplexity.json",
)  # fmt: skip
"""Results that evaluations write into a checkout and no code reads: they may change between two runs."""


def provenance(command: Sequence[str] | None = None) -> dict[str, Any]:
    """Return what a reader needs to reproduce a result, as values that JSON can hold.

    GPUs are named only where torch is loaded already: nothing heavy is imported. Without `command` it is
    that of the process.
    """
    return {
        "versions": versions(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu": _cpu_model(),
        "num_cpus": _num_cpus(),
        "memory_gib": _memory_gib(),
        "gpus": _gpus(),
        "commit": _commit(),
        "command": _command() if command is None else list(command),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def cores(num: int) -> str:
    """Return a number of processors in words."""
    return f"{num} core{'s' * (num != 1)}"


def versions() -> dict[str, str | None]:
    """Return the installed version of each of `PACKAGES`; None for one that is missing."""
    installed: dict[str, str | None] = {}
    for name in PACKAGES:
        try:
            installed[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            installed[name] = None
    return installed


def _command() -> list[str]:
    # Without its folder: reports are published, and the place of an installation is private.
    called = Path(sys.argv[0])
    # `python -m gatt` is shown as `gatt`.
    name = called.absolute().parent.name if called.name == "__main__.py" else called.name
    return [name, *sys.argv[1:]]


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def _num_cpus() -> int:
    """Return the processors that this process may use, not those of the machine."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory_gib() -> float | None:
    try:
        return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1)
    except (ValueError, OSError):
        return None


def _gpus() -> list[str]:
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return []
    return [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]


def _commit() -> dict[str, Any] | None:
    """Return the commit of the checkout that this code runs from, and whether it is clean; else None.

    Changes of `PUBLISHED` do not count.
    """
    folder = Path(__file__).resolve().parents[2]
    if not (folder / ".git").exists():
        return None
    commit = _git(folder, "rev-parse", "HEAD")
    others = (f":(exclude){pattern}" for pattern in PUBLISHED)
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no", "--", ".", *others)
    if commit is None or changes is None:
        return None
    return {"id": commit, "is_clean": not changes}


def _git(folder: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words],
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def fingerprint(value: object) -> str:
    """Return 16 hex digits of the SHA-256 of a value's canonical JSON; equal values have equal ones.

    Takes what `jsonable` takes; the order of mappings does not count.
    """
    text = json.dumps(jsonable(value), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def jsonable(value: object) -> Any:
    """Return dataclasses, mappings, sequences, paths and scalars as JSON holds them; else `ValueError`."""
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value, inf_nan_mode="constants")
