"""Commands of the command line: those that stand in for real ones, and all of the installed package."""

from __future__ import annotations

import argparse
import importlib.metadata
import sys
from collections.abc import Callable
from types import ModuleType

import pytest

from gatt.cli import GROUP

Run = Callable[[argparse.Namespace], int]


class Commands:
    """Fake command modules behind real entry points; records what was imported."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self._entries: list[importlib.metadata.EntryPoint] = []
        monkeypatch.setattr(importlib.metadata, "entry_points", self._of_group)

    def _of_group(self, *, group: str) -> list[importlib.metadata.EntryPoint]:
        # Others look for entry points too: pydantic does for its plugins.
        return self._entries if group == GROUP else []

    def add(
        self,
        name: str,
        run: Run = lambda args: 0,
        add_arguments: Callable[[argparse.ArgumentParser], object] = lambda parser: None,
        takes_overrides: bool = False,
    ) -> None:
        module = ModuleType(f"fake_{name}")
        parts = {"HELP": f"What {name} does", "run": run, "add_arguments": add_arguments}
        if takes_overrides:
            parts["TAKES_OVERRIDES"] = True
        vars(module).update(parts)
        self._monkeypatch.setitem(sys.modules, module.__name__, module)
        self.add_entry(name, module.__name__)

    def add_entry(self, name: str, module: str) -> None:
        self._entries.append(importlib.metadata.EntryPoint(name, module, "gatt.commands"))


def stderr_line(capsys: pytest.CaptureFixture[str]) -> str:
    text = capsys.readouterr().err
    assert text.count("\n") == 1
    return text.removesuffix("\n")


def command_modules() -> dict[str, ModuleType]:
    """Return every command's module by name."""
    return {entry.name: entry.load() for entry in importlib.metadata.entry_points(group=GROUP)}
