"""Suites: YAML files that say what is measured; the user chooses the model.

A suite has `about` and any key of `gatt eval` except those of `FOR_THE_USER`. The paths of
`PATHS` are relative to the suite's folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from gatt.data.catalog.read import catalog_files, read_yaml
from gatt.errors import CatalogError, ConfigError
from gatt.runs.suggest import did_you_mean
from gatt.runs.values import Source, read_mapping

SUITES: Final = Path(__file__).parents[1] / "suites"
"""Folder of the shipped suites."""
FOR_THE_USER: Final = (
    "output_dir", "suite", "arms", "adapters", "engine", "judge", "batch_cases", "ray",
    "baseline", "only_trained", "replies_from", "unmeasured",
)  # fmt: skip
"""Keys that no suite may set: which model is measured, and where and how it runs."""
PATHS: Final = (("cases", ""), ("source", "path"), ("instructions", "catalog"))
"""Keys whose values are paths, and the key inside; lists of paths among them."""


def shipped_suites() -> dict[str, Path]:
    """Return the files of the shipped suites, by name."""
    return {path.stem: path for path in sorted(SUITES.glob("*.yaml"))}


def suite_path(suite: str) -> Path:
    """Return the file of a suite by its name or path; raises `ConfigError` for anything else."""
    shipped = shipped_suites()
    if suite in shipped:
        return shipped[suite]
    path = Path(suite)
    if not path.is_file():
        listed = ", ".join(shipped) or "none"
        raise ConfigError(
            f"no suite {suite!r}{did_you_mean(suite, shipped)} (shipped: {listed}), and no such file"
        )
    if ".jsonl" in path.suffixes[-2:]:
        raise ConfigError(f"{path}: a file of cases: expected a suite, a YAML file that names it")
    return path


def read_suite(path: Path) -> Source:
    """Return the values of a suite's file, `about` included.

    Raises:
        ConfigError: the file cannot be read, or has a key that a suite may not set.
    """
    source = read_mapping(path)
    problems = [
        f"{source.places[key]}: key {key!r} in a suite: expected it in your own configuration, a suite "
        "says only what is measured"
        for key in FOR_THE_USER
        if key in source.values
    ]
    if problems:
        raise ConfigError("; ".join(problems))
    return source


def suite_values(suite: object) -> Source:
    """Return the values of a suite, for the keys of `gatt eval`; none for no suite. Raises as `read_suite`."""
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
    """Refuse a suite whose catalogue names Python files: they would be run, and a suite may be foreign."""
    instructions = values.get("instructions")
    places = instructions.get("catalog") if isinstance(instructions, dict) else None
    for place in places if isinstance(places, list) else ():
        try:
            files = catalog_files(Path(place))
            named = [path for path in files if read_yaml(path).get("verifiers")]
        except CatalogError:
            # Reading the catalogue raises this error again.
            continue
        if named:
            raise ConfigError(
                f"{suite}: {named[0]} has 'verifiers': a suite runs no Python: give instructions.catalog in "
                "your own configuration and not in the suite"
            )


def _beside(folder: Path, value: object, *, is_id: bool) -> object:
    """Return a path, or each path of a list, below a folder; an id of the hub stays as it is."""
    if isinstance(value, list):
        return [_beside(folder, item, is_id=is_id) for item in value]
    if not isinstance(value, str) or (is_id and not (folder / value).exists()):
        return value
    return str(folder / value)
