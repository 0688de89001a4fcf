"""Every command of the installed package."""

from __future__ import annotations

import importlib
import importlib.metadata
from types import ModuleType

from gatt.cli import GROUP


def command_modules() -> dict[str, ModuleType]:
    """Return every command's module by name, those of its actions (`synth splice`) among them."""
    found = {}
    for entry in importlib.metadata.entry_points(group=GROUP):
        module = entry.load()
        found[entry.name] = module
        for word, name in getattr(module, "ACTIONS", {}).items():
            found[f"{entry.name} {word}"] = importlib.import_module(name)
    return found
