"""Verifiers: rules that judge one reply, and one explicit table of their names."""

from __future__ import annotations

from gatt.verifiers.base import Examples, Status, Verdict
from gatt.verifiers.table import (
    VERIFIERS,
    build,
    check_all,
    overall,
    own_versions,
    verifier_versions,
)

__all__ = [
    "VERIFIERS",
    "Examples",
    "Status",
    "Verdict",
    "build",
    "check_all",
    "overall",
    "own_versions",
    "verifier_versions",
]
