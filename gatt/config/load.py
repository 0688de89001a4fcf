"""Configuration: frozen dataclasses from YAML files and dotted overrides. No torch here.

A configuration class is a frozen, keyword-only dataclass whose fields may be
dataclasses again; `__post_init__` checks ranges by raising `ConfigError`. Each
field is documented by the string under it, which `--help` shows::

    @dataclass(frozen=True, kw_only=True)
    class TrainConfig:
        learning_rate: float = 1e-4
        \"\"\"Peak learning rate, above 0.\"\"\"

A class may have a class method `preset(values) -> Source`, whose values are used where the
configuration gives none. `gatt eval` loads its suites with it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import typing
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin

import yaml

from gatt.errors import ConfigError
from gatt.runs.atomic_file import atomic_write_text
from gatt.runs.provenance import jsonable
from gatt.runs.suggest import did_you_mean, nearest
from gatt.runs.typed import Problem, ShapeError, typed
from gatt.runs.yaml_file import Source, broken, dump_yaml, parse_yaml, read_mapping

T = TypeVar("T")
COMMAND_LINE: Final = "command line"
_OVERRIDE = re.compile(r"(?:--)?([A-Za-z_][\w-]*(?:\.[\w-]+)*)(?:=(.*))?", re.DOTALL)


def load_config(cls: type[T], path: Path | None, overrides: Sequence[str] = ()) -> T:
    """Return the validated configuration of a YAML file and overrides; a later override wins.

    Types are strict, see `gatt.runs.typed.typed`.

    Args:
        cls: the dataclass to build.
        path: a YAML mapping; None uses the defaults.
        overrides: `a.b=value` or `--a.b=value`; the value is YAML, or a text where only a text is valid.

    Raises:
        ConfigError: one message with all problems, joined by "; ", each with its dotted key and its file
            and line (or "command line").
    """
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
        found = [new for problem in error.problems for new in _split(cls, problem)]
        problems += [f"{_place(places, name)}: {text}" for name, text in found]
    if problems:
        raise ConfigError("; ".join(problems))
    return config


def _override(cls: type, values: dict[str, Any], override: str) -> str:
    """Set one override in `values` and return its dotted key."""
    match = _OVERRIDE.fullmatch(override)
    name, text = (_spelled(cls, match[1]), match[2]) if match else ("", None)
    annotation = annotation_at(cls, name)
    if text is None:
        if not mentions(annotation, bool):
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


def _spelled(cls: type, name: str) -> str:
    """Return a key with `_` where it was given with `-`; the names in a mapping stay as they are."""
    parts, keys = name.split("."), keys_of(cls)
    for end in range(len(parts), 0, -1):
        if (key := ".".join(parts[:end]).replace("-", "_")) in keys:
            return ".".join([key, *parts[end:]])
    return name


def _override_value(annotation: Any, text: str) -> Any:
    """Return the value of an override; a list needs no brackets: `a.jsonl`, `1,2,4`."""
    lists = [k for k in (annotation, *get_args(annotation)) if get_origin(k) is tuple]
    if not lists or not text or text.startswith("["):
        return _yaml_or_text(annotation, text)
    with contextlib.suppress(yaml.YAMLError):
        value = _yaml_or_text(annotation, text)
        if isinstance(value, dict) or _fits(annotation, value):
            return value
    return [_override_value(get_args(lists[0])[0], part.strip()) for part in text.split(",")]


def _yaml_or_text(annotation: Any, text: str) -> Any:
    """Return the YAML value of a text, or the text itself where only the text is valid."""
    try:
        value = parse_yaml(text)
    except yaml.YAMLError:
        if not _fits(annotation, text):
            raise
        return text
    # YAML would drop the end of a text that looks like a comment.
    is_bare = isinstance(value, str) and not text.startswith(("'", '"'))
    return text if is_bare or (_fits(annotation, text) and not _fits(annotation, value)) else value


def _fits(annotation: Any, value: Any) -> bool:
    try:
        typed(annotation, value)
    except ShapeError:
        return False
    return True


def _completed(
    cls: type, values: dict[str, Any], prefix: str, places: dict[str, str], problems: list[str]
) -> dict[str, Any]:
    """Return the values with those of the preset and nested defaults added, and `~` expanded in paths.

    A nested part may have other defaults here than in its class: they stay for the keys that are
    not set.
    """
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
    found = dict(values)
    for name, key in keys_of(cls).items():
        value = found.get(name)
        if key.holds and isinstance(value, dict):
            if isinstance(key.default, key.holds):
                value = _merged(config_dict(key.default), value)
            value = _completed(key.holds, value, f"{prefix}{name}.", places, problems)
        elif mentions(key.annotation, Path):
            value = _with_home(value)
        if name in found:
            found[name] = value
    return found


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = {**below, **above}
    for name in below.keys() & above.keys():
        if isinstance(below[name], Mapping) and isinstance(above[name], Mapping):
            merged[name] = _merged(below[name], above[name])
    return merged


def _with_home(value: Any) -> Any:
    """Return paths with `~` expanded, since shells do not expand `--key=~/x`; an empty path becomes null."""
    if isinstance(value, str):
        return os.path.expanduser(value) or None
    if isinstance(value, list):
        return [_with_home(item) for item in value]
    return {k: _with_home(v) for k, v in value.items()} if isinstance(value, dict) else value


def _place(places: Mapping[str, str], name: str) -> str:
    """Return the place of a value; for a missing one, the place of the mapping around it."""
    while name not in places:
        name = name.rpartition(".")[0]
    return places[name]


def _split(cls: type, problem: Problem) -> Iterator[tuple[str, str]]:
    """Yield key and text of each problem; `__post_init__` may join several by "; ", each with its key first."""
    name, kind, text, _ = problem
    if kind != "check":
        yield name, f"{text}{_nearest(cls, problem)}" if kind == "unknown" else text
        return
    prefix = f"{name}." if name else ""
    own = [re.escape(key.removeprefix(prefix)) for key in keys_of(cls) if key.startswith(prefix)]
    for part in re.split(rf"; (?=(?:{'|'.join(own)}) )", text):
        key = prefix + part.partition(" ")[0]
        yield key if key in keys_of(cls) else name, f"{name}: {part}" if name else part


def _nearest(cls: type, unknown: Problem) -> str:
    """Return the hint for an unknown key: a similar key of the same mapping, else of the whole tree."""
    parent, dot, last = unknown.name.rpartition(".")
    beside = nearest(last.replace("-", "_"), unknown.known)
    if beside is not None:
        return f", did you mean {f'{parent}{dot}{beside}'!r}?"
    elsewhere = [name for name in keys_of(cls) if name.rpartition(".")[2] == last]
    alike = next(iter(elsewhere), None) or nearest(unknown.name, keys_of(cls), cutoff=0.75)
    return f", did you mean {alike!r}?" if alike else f" (known: {', '.join(unknown.known)})"


def config_dict(config: object) -> dict[str, Any]:
    """Return the dataclass as values that JSON can hold, fields in order; a `Path` becomes a string."""
    found: dict[str, Any] = jsonable(config)
    return found


def to_yaml(config: object) -> str:
    """Return the resolved configuration as YAML that `load_config` reads back equal."""
    return dump_yaml(config_dict(config))


def save_config(config: object, path: Path) -> None:
    """Write the resolved configuration; its folder is created if it is missing.

    Raises:
        StoreError: the file cannot be written.
    """
    atomic_write_text(path, to_yaml(config))


@dataclasses.dataclass(frozen=True)
class Key:
    """One key of a configuration."""

    annotation: Any
    default: Any
    """`dataclasses.MISSING` where a value is required."""
    field: str
    owner: type
    """The class that has the field."""

    @property
    def holds(self) -> type | None:
        """The configuration class of its value; None where the value has no keys."""
        kinds = (self.annotation, *get_args(self.annotation))
        return next((k for k in kinds if isinstance(k, type) and dataclasses.is_dataclass(k)), None)

    @property
    def expected(self) -> str:
        """Its type in the words of YAML: "float | null", "list[str]", "comb | expanded"."""
        return _shown(self.annotation)

    @property
    def doc(self) -> str:
        """The string under the field, on one line; empty where there is none."""
        return " ".join(_docs(self.owner).get(self.field, "").split())


@cache
def keys_of(cls: type) -> dict[str, Key]:
    """Return every dotted key of a configuration class, depth first in the order of its fields."""
    return dict(_keys(cls, "", None))


def annotation_at(cls: type, name: str) -> Any:
    """Return the type of a key, or of a value in a mapping (`adapters.gatt`); None for an unknown key."""
    keys, parent = keys_of(cls), name.rpartition(".")[0]
    if name in keys or parent not in keys:
        return keys[name].annotation if name in keys else None
    return (*get_args(keys[parent].annotation), None, None)[1]


def mentions(annotation: Any, kind: type) -> bool:
    """Whether a type is part of another, as `Path` is of `tuple[Path, ...] | None`."""
    return annotation is kind or any(mentions(inner, kind) for inner in get_args(annotation))


def _shown(annotation: Any) -> str:
    kind, args = get_origin(annotation), [a for a in get_args(annotation) if a is not ...]
    if kind is Literal:
        return " | ".join(map(str, args))
    if kind in (Union, UnionType):
        return " | ".join(map(_shown, args))
    name = "list" if kind is tuple else getattr(kind or annotation, "__name__", str(annotation))
    inner = f"[{', '.join(map(_shown, args))}]" if args else ""
    return "null" if annotation is type(None) else f"{name}{inner}"


def _keys(cls: type, prefix: str, defaults: object) -> Iterator[tuple[str, Key]]:
    """Yield the keys under a prefix; `defaults` is the default instance in the class above, or None."""
    hints = typing.get_type_hints(cls)
    for field in dataclasses.fields(cls):
        default = field.default
        if defaults is not None:
            default = getattr(defaults, field.name)
        elif field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        key = Key(hints[field.name], default, field.name, cls)
        yield f"{prefix}{field.name}", key
        if key.holds is not None:
            inner = default if isinstance(default, key.holds) else None
            yield from _keys(key.holds, f"{prefix}{field.name}.", inner)


@cache
def _docs(cls: type) -> dict[str, str]:
    # Imported here: `gatt --help` imports every configuration class and must stay fast.
    from pydantic import ConfigDict, TypeAdapter

    docs: dict[str, str] = {}
    documented = ConfigDict(use_attribute_docstrings=True)
    for base in filter(dataclasses.is_dataclass, reversed(cls.__mro__)):
        # pydantic does not find the strings of inherited fields.
        schema = TypeAdapter(tuple[base], config=documented).json_schema()  # type: ignore[valid-type]
        properties = schema["$defs"][base.__name__]["properties"]
        docs |= {name: p["description"] for name, p in properties.items() if "description" in p}
    return docs


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
