"""Names of a package that are imported at their first use, so that what needs no torch loads none."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def short_names(
    package: str, places: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package; `places` has the module of each name."""

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(places[name]), name)

    def listed() -> list[str]:
        return sorted({*vars(importlib.import_module(package)), *places})

    return get, listed
