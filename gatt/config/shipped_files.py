"""The configurations of `configs/`, which are part of the package, by name. No torch here.

`gatt/config/shipped` is a link to the folder of the checkout; a wheel holds the files themselves.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from gatt.errors import ConfigError
from gatt.runs.suggest import did_you_mean

CONFIGS: Final = Path(__file__).parent / "shipped"


def shipped_configs() -> dict[str, Path]:
    """Return the files by name: `demo`, `train/default`."""
    found = sorted(CONFIGS.rglob("*.yaml"))
    return {path.relative_to(CONFIGS).with_suffix("").as_posix(): path for path in found}


def config_file(given: Path) -> Path:
    """Return an existing file, or the shipped configuration of that name; a path with a suffix is a file.

    Raises:
        ConfigError: neither a file nor a shipped name; names the nearest one.
    """
    if given.is_file() or given.suffix:
        return given
    name, known = given.as_posix(), shipped_configs()
    if name not in known:
        hint = did_you_mean(name, known, f" (shipped: {', '.join(known)})")
        raise ConfigError(f"no file {name!r}, and no shipped configuration of that name{hint}")
    return known[name]
