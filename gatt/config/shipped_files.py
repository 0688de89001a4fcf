"""The configurations that come with the package: those of `configs/`, by name. No torch here.

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
    """Return a file that is there, or the shipped one of that name, see `shipped_configs`.

    A path that ends in `.yaml` or the like is a file's alone.

    Raises:
        ConfigError: a name without suffix that is neither; names the nearest one.
    """
    if given.is_file() or given.suffix:
        return given
    name, known = given.as_posix(), shipped_configs()
    if name not in known:
        hint = did_you_mean(name, known, f" (shipped: {', '.join(known)})")
        raise ConfigError(f"no file {name!r}, and no shipped configuration of that name{hint}")
    return known[name]
