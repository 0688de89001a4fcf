"""Configuration: frozen dataclasses from YAML files and dotted overrides. No torch here.

A configuration class is a frozen, keyword-only dataclass whose fields may be dataclasses again;
`__post_init__` checks ranges by raising `ConfigError`, and the string under a field is shown by `--help`.
A class method `preset(values) -> Source` may give values that the configuration does not (suites).
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import typing
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from operator import attrgetter
from pathlib import Path
from types import UnionType
from typing import Any, Final, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

import yaml

from gatt.errors import ConfigError
from gatt.runs.atomic_file import atomic_write_text
from gatt.runs.provenance import jsonable
from gatt.runs.suggest import did_you_mean, nearest
from gatt.runs.values import (
    Problem,
    ShapeError,
    Source,
    broken,
    dump_yaml,
    parse_yaml,
    read_mapping,
    typed,
)

T = TypeVar("T")
COMMAND_LINE: Final = "command line"
_OVERRIDE = re.compile(r"(?:--)?([A-Za-z_][\w-]*(?:\.[\w-]+)*)(?:=(.*))?", re.DOTALL)


def load_config(cls: type[T], path: Path | None, overrides: Sequence[str] = ()) -> T:
    """Return the validated configuration of a YAML file, or of a shipped one by name, and overrides.

    A later override wins. An override is `a.b=value` or `--a.b=value`; its value is YAML, or a text where
    only a text is valid.

    Raises:
        ConfigError: all problems, joined by "; ", each with its dotted key and its file and line.
    """
    path = path and config_file(path)
    values, places = Source({}, {}) if path is None else read_mapping(path)
    given = [path, COMMAND_LINE if overrides else None]
    places[""] = " with ".join(str(place) for place in given if place) or "configuration"
    problems: list[str] = []
    for override in overrides:
        try:
            name = _override(cls, values, override)
        except (ConfigError, yaml.YAMLError) as error:
            problem = broken(error) if isinstance(error, yaml.YAMLError) else error
            problems.append(f"{COMMAND_LINE}: {override!r}: {problem}")
            continue
        for stale in [key for key in places if f"{key}.".startswith(f"{name}.")]:
            del places[stale]
        while name not in places:
            places[name] = COMMAND_LINE
            name = name.rpartition(".")[0]
    values = _completed(cls, values, "", places, problems)
    try:
        config = typed(cls, values)
    except ShapeError as error:
        for name, text in (new for problem in error.problems for new in _split(cls, problem)):
            # The place of a missing value is that of the mapping around it.
            while name not in places:
                name = name.rpartition(".")[0]
            problems.append(f"{places[name]}: {text}")
    if problems:
        raise ConfigError("; ".join(problems))
    return config


def _override(cls: type, values: dict[str, Any], override: str) -> str:
    """Set one override in `values` and return its dotted key."""
    match = _OVERRIDE.fullmatch(override)
    name, text = (match[1], match[2]) if match else ("", None)
    # "-" may stand for "_", but not in the names of a mapping.
    ends = [*(dot.start() for dot in re.finditer(r"\.", name)), len(name)]
    key_ends = (end for end in reversed(ends) if name[:end].replace("-", "_") in keys_of(cls))
    end = next(key_ends, 0)
    name = name[:end].replace("-", "_") + name[end:]
    annotation = annotation_at(cls, name)
    if text is None:
        if not holds_type(annotation, bool):
            raise ConfigError("expected key=value or --key value")
        text = "true"
    *parents, last = name.split(".")
    for parent in parents:
        if values.get(parent) is None:
            values[parent] = {}
        if not isinstance(values[parent], dict):
            raise ConfigError(f"{parent!r} is {values[parent]!r}: expected a mapping")
        values = values[parent]
    values[last] = _override_value(annotation, text)
    return name


def _override_value(annotation: Any, text: str) -> Any:
    """Return the YAML value of an override, or the text itself where only a text is valid.

    A list needs no brackets: `a.jsonl`, `1,2,4`.
    """
    lists = [k for k in (annotation, *get_args(annotation)) if get_origin(k) is tuple]
    is_split = lists and text and not text.startswith("[")
    try:
        value = parse_yaml(text)
        # YAML would drop the end of a text that looks like a comment.
        is_bare = isinstance(value, str) and not text.startswith(("'", '"'))
        if is_bare or (_fits(annotation, text) and not _fits(annotation, value)):
            value = text
        if not is_split or isinstance(value, dict) or _fits(annotation, value):
            return value
    except yaml.YAMLError:
        if _fits(annotation, text):
            return text
        if not is_split:
            raise
    return [_override_value(get_args(lists[0])[0], part.strip()) for part in text.split(",")]


def _fits(annotation: Any, value: Any) -> bool:
    try:
        typed(annotation, value)
    except ShapeError:
        return False
    return True


def _completed(
    cls: type, values: dict[str, Any], prefix: str, places: dict[str, str], problems: list[str]
) -> dict[str, Any]:
    """Return the values with those of the preset and nested defaults added, and `~` expanded in paths."""
    if hasattr(cls, "preset"):
        try:
            preset: Source = cls.preset(values)
        except ConfigError as error:
            problems.append(str(error))
        else:
            values = _merged(preset.values, values)
            for name, place in preset.places.items():
                above = places.setdefault(f"{prefix}{name}", place)
                if above != place and any(n.startswith(f"{name}.") for n in preset.places):
                    places[f"{prefix}{name}"] = f"{above} with {place}"
    completed = dict(values)
    for name, key in keys_of(cls).items():
        value = completed.get(name)
        if key.holds and isinstance(value, dict):
            if isinstance(key.default, key.holds):
                value = _merged(config_dict(key.default), value)
            value = _completed(key.holds, value, f"{prefix}{name}.", places, problems)
        elif holds_type(key.annotation, Path):
            value = _with_home(value)
        if name in completed:
            completed[name] = value
    return completed


def _merged(below: Any, above: Any) -> Any:
    if not (isinstance(below, Mapping) and isinstance(above, Mapping)):
        return above
    return {**below, **{name: _merged(below.get(name), above[name]) for name in above}}


def _with_home(value: Any) -> Any:
    """Return paths with `~` expanded, since shells do not expand `--key=~/x`; an empty path becomes null."""
    if isinstance(value, dict):
        return {k: _with_home(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_with_home(item) for item in value]
    return os.path.expanduser(value) or None if isinstance(value, str) else value


def _split(cls: type, problem: Problem) -> Iterator[tuple[str, str]]:
    """Yield key and text of each problem; `__post_init__` may join several by "; ", each with its key first."""
    name, kind, text, valid = problem
    keys = keys_of(cls)
    if kind == "unknown":
        parent, dot, last = name.rpartition(".")
        # A similar key of the same mapping, else of the whole tree.
        beside = nearest(last.replace("-", "_"), valid)
        elsewhere = next((key for key in keys if key.rpartition(".")[2] == last), None)
        alike = (
            f"{parent}{dot}{beside}" if beside else elsewhere or nearest(name, keys, cutoff=0.75)
        )
        text += f", did you mean {alike!r}?" if alike else f" (known: {', '.join(valid)})"
    if kind != "check":
        yield name, text
        return
    prefix = f"{name}." if name else ""
    own = [re.escape(key.removeprefix(prefix)) for key in keys if key.startswith(prefix)]
    for part in re.split(rf"; (?=(?:{'|'.join(own)}) )", text):
        key = prefix + part.partition(" ")[0]
        yield key if key in keys else name, f"{name}: {part}" if name else part


def config_dict(config: object) -> dict[str, Any]:
    """Return the dataclass as values that JSON can hold, fields in order; a `Path` becomes a string."""
    return dict(jsonable(config))


def to_yaml(config: object) -> str:
    """Return the resolved configuration as YAML that `load_config` reads back equal."""
    return dump_yaml(config_dict(config))


def save_config(config: object, path: Path) -> None:
    """Write the resolved configuration; its folder is created. Raises `StoreError` where it cannot be."""
    atomic_write_text(path, to_yaml(config))


class ConfigKey(NamedTuple):
    """One key of a configuration: `owner` has the field; a required one has the default `MISSING`."""

    annotation: Any
    default: Any
    field: str
    owner: type

    @property
    def holds(self) -> type | None:
        """The configuration class of its value; None where the value has no keys."""
        kinds = (self.annotation, *get_args(self.annotation))
        return next((k for k in kinds if isinstance(k, type) and dataclasses.is_dataclass(k)), None)

    @property
    def doc(self) -> str:
        """The string under the field, on one line; empty where there is none."""
        return " ".join(_docs(self.owner).get(self.field, "").split())


@cache
def keys_of(cls: type) -> dict[str, ConfigKey]:
    """Return every dotted key of a configuration class, depth first in the order of its fields."""
    keys: dict[str, ConfigKey] = {}
    for field in dataclasses.fields(cls):
        made = field.default_factory
        default = field.default if made is dataclasses.MISSING else made()
        key = ConfigKey(typing.get_type_hints(cls)[field.name], default, field.name, cls)
        keys[field.name] = key
        for name, inner in keys_of(key.holds).items() if key.holds else ():
            # A part may have other defaults here than in its class.
            with contextlib.suppress(AttributeError):
                inner = inner._replace(default=attrgetter(name)(default))
            keys[f"{field.name}.{name}"] = inner
    return keys


def annotation_at(cls: type, name: str) -> Any:
    """Return the type of a key, or of a value in a mapping (`adapters.gatt`); None for an unknown key."""
    keys, parent = keys_of(cls), name.rpartition(".")[0]
    if name in keys:
        return keys[name].annotation
    return (*get_args(keys[parent].annotation), None, None)[1] if parent in keys else None


def holds_type(annotation: Any, kind: type) -> bool:
    """Whether a type is part of another, as `Path` is of `tuple[Path, ...] | None`."""
    return annotation is kind or any(holds_type(inner, kind) for inner in get_args(annotation))


def shown(annotation: Any) -> str:
    """Return a type in the words of YAML: "float | null", "list[str]", "comb | expanded"."""
    kind, args = get_origin(annotation), [a for a in get_args(annotation) if a is not ...]
    if kind is Literal:
        return " | ".join(map(str, args))
    if kind in (Union, UnionType):
        return " | ".join(map(shown, args))
    name = "list" if kind is tuple else getattr(kind or annotation, "__name__", str(annotation))
    inner = f"[{', '.join(map(shown, args))}]" if args else ""
    return "null" if annotation is type(None) else f"{name}{inner}"


@cache
def _docs(cls: type) -> dict[str, str]:
    # Imported here: `gatt --help` imports every configuration class and must stay fast.
    from pydantic import ConfigDict, TypeAdapter

    docs: dict[str, str] = {}
    documented = ConfigDict(use_attribute_docstrings=True)
    # pydantic does not find the strings of inherited fields.
    for base in filter(dataclasses.is_dataclass, reversed(cls.__mro__)):
        schema = TypeAdapter(tuple[base], config=documented).json_schema()  # type: ignore[valid-type]
        for name, about in schema["$defs"][base.__name__]["properties"].items():
            docs[name] = about.get("description", docs.get(name, ""))
    return docs


CONFIGS: Final = Path(__file__).parent / "shipped"


def shipped_configs() -> dict[str, Path]:
    """Return the files by name: `demo`, `train/default`."""
    paths = sorted(CONFIGS.rglob("*.yaml"))
    return {path.relative_to(CONFIGS).with_suffix("").as_posix(): path for path in paths}


def config_file(given: Path) -> Path:
    """Return an existing file, or the shipped configuration of that name; a path with a suffix is a file.

    Raises `ConfigError` for neither of them; it names the nearest one.
    """
    if given.is_file() or given.suffix:
        return given
    name, shipped = given.as_posix(), shipped_configs()
    if name not in shipped:
        hint = did_you_mean(name, shipped, f" (shipped: {', '.join(shipped)})")
        raise ConfigError(f"no file {name!r}, and no shipped configuration of that name{hint}")
    return shipped[name]
