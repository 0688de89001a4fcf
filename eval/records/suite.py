"""Suites: YAML files that say what is measured, and leave who is measured to the user.

A suite holds `about` and any key of `gatt eval` but those of `FOR_THE_USER`. The
paths of `PATHS` are meant from its own folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from gatt.data.catalog.read import catalog_files, read_yaml
from gatt.errors import CatalogError, ConfigError
from gatt.runs.suggest import did_you_mean
from gatt.runs.yaml_file import Source, read_mapping

SUITES: Final = Path(__file__).parents[1] / "suites"
"""Folder of the suites that are shipped as package data."""
FOR_THE_USER: Final = (
    "output_dir", "suite", "arms", "adapters", "engine", "judge", "batch_cases", "ray",
    "baseline", "only_trained", "replies_from", "score_file", "unmeasured",
)  # fmt: skip
"""Keys that no suite may set: whose model it is, and where and how it runs."""
PATHS: Final = (("cases", ""), ("event_file", ""), ("source", "path"), ("instructions", "catalog"))
"""Keys whose values are paths, and the key inside; lists of paths among them."""


def shipped_suites() -> dict[str, Path]:
    """Return the files of the suites that are shipped, by name."""
    return {path.stem: path for path in sorted(SUITES.glob("*.yaml"))}


def suite_path(suite: str) -> Path:
    """Return the file of a suite by its name or path.

    Raises:
        ConfigError: neither is there.
    """
    shipped = shipped_suites()
    if suite in shipped:
        return shipped[suite]
    path = Path(suite)
    if not path.is_file():
        known = ", ".join(shipped) or "none"
        raise ConfigError(
            f"no suite {suite!r}{did_you_mean(suite, shipped)} (shipped: {known}), and no such file"
        )
    if ".jsonl" in path.suffixes[-2:]:
        raise ConfigError(f"{path}: a file of cases: expected a suite, a YAML file that names it")
    return path


def read_suite(path: Path) -> Source:
    """Return what a suite's file holds, `about` included.

    Raises:
        ConfigError: it cannot be read, or holds a key that is not a suite's.
    """
    source = read_mapping(path)
    problems = [
        f"{source.places[key]}: key {key!r} in a suite: give it in your own configuration, a suite says "
        "what is measured and not for whom"
        for key in FOR_THE_USER
        if key in source.values
    ]
    if problems:
        raise ConfigError("; ".join(problems))
    return source


def suite_values(suite: object) -> Source:
    """Return the values of a suite, for the keys of `gatt eval`; none for no suite.

    Raises:
        ConfigError: see `suite_path` and `read_suite`.
    """
    if not isinstance(suite, str):
        return Source({}, {})
    path = suite_path(suite)
    values, places = read_suite(path)
    values.pop("about", None)
    for key, inner in PATHS:
        holder = values.get(key) if inner else values
        name = inner or key
        if isinstance(holder, dict) and name in holder:
            is_id = holder.get("name") == "hub"
            holder[name] = _beside(path.parent, holder[name], is_id=is_id)
    _refuse_code(path, values)
    return Source(values, places)


def _refuse_code(suite: Path, values: Mapping[str, Any]) -> None:
    """Refuse a catalogue that names Python files: a suite may come from anywhere, and they would be run.

    Raises:
        ConfigError: it does.
    """
    instructions = values.get("instructions")
    places = instructions.get("catalog") if isinstance(instructions, dict) else None
    for place in places if isinstance(places, list) else ():
        try:
            files = catalog_files(Path(place))
            named = [path for path in files if read_yaml(path).get("verifiers")]
        except CatalogError:
            # Said when the catalogue is read.
            continue
        if named:
            raise ConfigError(
                f"{suite}: {named[0]} has 'verifiers': a suite runs no Python: give instructions.catalog in "
                "your own configuration and not in the suite, or install the verifiers as a package"
            )


def _beside(folder: Path, value: object, *, is_id: bool) -> object:
    """Return a path, or each of a list, in a folder; an id of the hub as it stands."""
    if isinstance(value, list):
        return [_beside(folder, item, is_id=is_id) for item in value]
    if not isinstance(value, str) or (is_id and not (folder / value).exists()):
        return value
    return str(folder / value)
