"""Configuration: frozen dataclasses from YAML files and dotted overrides. No torch here.

A configuration class is a frozen, keyword-only dataclass whose fields may be
dataclasses again; `__post_init__` checks ranges by raising `ConfigError`. Each
field is documented by the string under it, which `--help` shows::

    @dataclass(frozen=True, kw_only=True)
    class TrainConfig:
        learning_rate: float = 1e-4
        \"\"\"Peak learning rate, above 0.\"\"\"

A class with a `preset` (see `HasPreset`) takes values from a file that its
configuration names; whatever the configuration itself says stands above them.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence, Set
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol, TypeVar, get_args, runtime_checkable

from gatt.config.schema import (
    Field,
    annotation_at,
    describe,
    key_names,
    members,
    nested_class,
    nested_classes,
    type_text,
)
from gatt.config.yaml_source import apply_overrides, dump_yaml, read_mapping
from gatt.errors import ConfigError
from gatt.runs.atomic_file import atomic_write_text
from gatt.runs.suggest import nearest

__all__ = [
    "Field",
    "HasPreset",
    "config_dict",
    "describe",
    "fingerprint",
    "load_config",
    "save_config",
    "to_yaml",
]

T = TypeVar("T")

COMMAND_LINE: Final = "command line"
_TYPE_ERRORS = ("_type", "_parsing", "literal_error", "int_from_float")


@runtime_checkable
class HasPreset(Protocol):
    """A configuration class that may name a file of values for its keys."""

    preset_key: ClassVar[str]
    """The key that names it: said where a value of it is wrong."""

    @classmethod
    def preset(cls, raw: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the values that `raw` asks for by name; none if it names nothing.

        Raises:
            ConfigError: what is named cannot be had.
        """
        ...


def load_config(cls: type[T], path: Path | None, overrides: Sequence[str] = ()) -> T:
    """Return the validated configuration of a YAML file and overrides upon it.

    Types are strict: `"3"` is no int and `true` is no number; an int is a
    float, a text is a path, a list is a tuple. A later override wins.

    Args:
        cls: the dataclass to build.
        path: a YAML mapping; None starts from the defaults.
        overrides: `a.b=value`, `--a.b=value` or the two items `--a.b`, `value`.
            A value is read as YAML; for a text field it is taken as it stands.

    Raises:
        ConfigError: one message with every problem, each with its file and
            dotted key, joined by "; ".
    """
    raw, problems = read_mapping(path) if path is not None else ({}, [])
    changed = apply_overrides(cls, raw, overrides, problems)
    origins = dict.fromkeys(changed, COMMAND_LINE)
    raw = _with_defaults(cls, _with_presets(cls, raw, "", origins, problems))
    raw = {key: _with_home(annotation_at(cls, [key]), value) for key, value in raw.items()}
    config = _validate(cls, raw, str(path) if path is not None else None, origins, problems)
    if problems:
        raise ConfigError("; ".join(problems))
    if not isinstance(config, cls):
        raise TypeError(f"{cls.__name__} did not validate to itself")
    return config


def _with_presets(
    cls: type, raw: dict[str, Any], prefix: str, origins: dict[str, str], problems: list[str]
) -> dict[str, Any]:
    """Return the mapping laid over the presets that it names, at any depth.

    Args:
        cls: what is built of it.
        raw: what the user gave.
        prefix: dotted place of `raw`, empty or with a dot behind it.
        origins: dotted keys to where they come from; those of the presets are added.
        problems: what is wrong is added.
    """
    found = dict(raw)
    for name, inner in nested_classes(cls).items():
        if isinstance(found.get(name), dict):
            found[name] = _with_presets(inner, found[name], f"{prefix}{name}.", origins, problems)
    if isinstance(cls, HasPreset):
        try:
            below = cls.preset(found)
        except ConfigError as error:
            problems.append(str(error))
            return found
        origin = f"{cls.preset_key} {found.get(cls.preset_key)}"
        origins |= dict.fromkeys(_places_below(below, found, prefix), origin)
        return _laid_over(below, found)
    return found


def _with_defaults(cls: type, raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mapping with what `cls` has for the keys that a nested part of it leaves out.

    A part may have other defaults here than its own class has: one key of it that is
    set leaves the others as they are.
    """
    found = dict(raw)
    own = {field.name: field for field in dataclasses.fields(cls)}
    for name, inner in nested_classes(cls).items():
        if not isinstance(found.get(name), dict):
            continue
        field = own[name]
        factory, default = field.default_factory, field.default
        if factory is not dataclasses.MISSING:
            default = factory()
        if isinstance(default, inner):
            found[name] = _laid_over(config_dict(default), found[name])
        found[name] = _with_defaults(inner, found[name])
    return found


def _with_home(annotation: Any, value: Any) -> Any:
    """Return a value with `~` expanded where it stands for a path; an empty path becomes null.

    A shell expands no `--key=~/x`, and an empty variable would mean the current folder.
    """
    inner = nested_class(annotation)
    if inner is not None and isinstance(value, dict):
        return {k: _with_home(annotation_at(inner, [k]), v) for k, v in value.items()}
    for kind in members(annotation):
        if kind is Path and isinstance(value, str):
            return os.path.expanduser(value) or None
        arguments = get_args(kind)
        if isinstance(value, list) and arguments and arguments[0] is Path:
            return [_with_home(Path, item) for item in value]
        if isinstance(value, dict) and len(arguments) == 2 and arguments[1] is Path:
            return {key: _with_home(Path, item) for key, item in value.items()}
    return value


def _laid_over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        under = below.get(key)
        if isinstance(under, Mapping) and isinstance(value, Mapping):
            merged[key] = _laid_over(under, value)
        else:
            merged[key] = value
    return merged


def _places_below(below: Mapping[str, Any], above: Mapping[str, Any], prefix: str) -> Iterator[str]:
    """Yield the dotted keys of `below` that `above` leaves as they are."""
    for key, value in below.items():
        over = above.get(key)
        if key not in above:
            yield f"{prefix}{key}"
        elif isinstance(value, Mapping) and isinstance(over, Mapping):
            yield from _places_below(value, over, f"{prefix}{key}.")


def config_dict(config: object) -> dict[str, Any]:
    """Return the dataclass as JSON takes it, fields in order; a `Path` becomes a string."""
    value = _jsonable(config)
    if not isinstance(value, dict):
        raise TypeError(f"expected a dataclass or a mapping, found {type(config).__name__}")
    return value


def to_yaml(config: object) -> str:
    """Return the resolved configuration as YAML that `load_config` reads back equal."""
    return dump_yaml(config_dict(config))


def save_config(config: object, path: Path) -> None:
    """Write the resolved configuration, making its folder if need be.

    Raises:
        StoreError: the file cannot be written.
    """
    atomic_write_text(path, to_yaml(config))


def fingerprint(value: object) -> str:
    """Return 16 hex digits that equal values share: SHA-256 of their canonical JSON.

    Takes dataclasses, mappings, sequences, sets, paths, enums and JSON scalars;
    the order of mappings and sets does not count.
    """
    text = json.dumps(_jsonable(value), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _jsonable(value: object) -> Any:
    if isinstance(value, Enum):
        return _jsonable(value.value)
    if value is None or isinstance(value, str | int | float):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _jsonable(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, Set):
        return sorted((_jsonable(item) for item in value), key=json.dumps)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [_jsonable(item) for item in value]
    raise TypeError(f"no JSON form of {type(value).__name__}: {value!r}")


def _validate(
    cls: type[T],
    raw: dict[str, Any],
    source: str | None,
    origins: Mapping[str, str],
    problems: list[str],
) -> object:
    """Return the configuration, or None with the problems added to `problems`."""
    # Imported here: `gatt --help` imports every configuration class and must stay fast.
    from pydantic import ConfigDict, TypeAdapter, ValidationError

    # pydantic takes no config beside a dataclass, but a stdlib dataclass inherits that of what
    # holds it. JSON mode, because strict Python mode refuses lists for tuples and str for Path.
    strict = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
    adapter = TypeAdapter(tuple[cls], config=strict)  # type: ignore[valid-type]
    try:
        return adapter.validate_json(json.dumps([raw], default=str))[0]
    except ValidationError as error:
        found: dict[str, str] = {}
        for item in error.errors():
            keys = _place(raw, item["loc"][1:], item["type"])
            label = _label(".".join(keys), source, origins)
            # A union reports each of its branches at one place: one line is enough.
            found.setdefault(".".join(keys), f"{label}: {_problem(cls, item, keys)}")
        problems += found.values()
        return None


def _place(raw: object, loc: Sequence[int | str], kind: str) -> list[str]:
    """Return the keys of an error, without pydantic's names for branches of unions."""
    keys: list[str] = []
    here: Any = raw
    for index, part in enumerate(loc):
        if isinstance(here, dict) and str(part) in here:
            here = here[str(part)]
        elif isinstance(here, list) and isinstance(part, int) and part < len(here):
            here = here[part]
        elif kind != "missing" or index != len(loc) - 1:
            continue
        keys.append(str(part))
    return keys


def _label(place: str, source: str | None, origins: Mapping[str, str]) -> str:
    """Return where a value came from: the file, a preset, the command line, or several of them."""
    at = [key for key in origins if f"{place}.".startswith(f"{key}.")]
    below = [o for key, o in origins.items() if not place or key.startswith(f"{place}.")]
    above = origins[max(at, key=len)] if at else source
    found = dict.fromkeys([*([above] if above else []), *below])
    return " with ".join(found) or "configuration"


def _problem(cls: type, item: Mapping[str, Any], keys: list[str]) -> str:
    """Return what is wrong at a place, without the file."""
    place = ".".join(keys)
    if item["type"] == "value_error":
        text = str(item["ctx"]["error"])
        return f"{place}: {text}" if place else text
    annotation = annotation_at(cls, keys)
    if item["type"] == "missing":
        return f"missing key {place!r}: expected {type_text(annotation)}"
    if item["type"] == "unexpected_keyword_argument":
        return f"unknown key {place!r}{_nearest(cls, keys)}"
    if annotation is not None and item["type"].endswith(_TYPE_ERRORS):
        expected = type_text(annotation)
    else:
        expected = str(item["msg"]).removeprefix("Input should be ")
    value = item["input"]
    if value is None:
        return f"{place!r} is null: expected {expected}"
    if isinstance(value, dict):
        return f"{place!r} is a mapping: expected {expected}"
    return f"{place!r} is {value!r} ({type(value).__name__}): expected {expected}"


def _nearest(cls: type, keys: list[str]) -> str:
    """Return the hint for an unknown key: a sibling first, then any key of the tree."""
    *parents, last = keys
    place = ".".join(keys)
    names = key_names(cls)
    prefix = "".join(f"{p}." for p in parents)
    siblings = [n.removeprefix(prefix) for n in names if n.startswith(prefix)]
    siblings = [n for n in siblings if "." not in n]
    close = nearest(last.replace("-", "_"), siblings)
    if close is not None:
        return f", did you mean {prefix + close!r}?"
    elsewhere = [n for n in names if n.rpartition(".")[2] == last]
    alike = elsewhere[0] if elsewhere else nearest(place, names, cutoff=0.75)
    if alike is not None:
        return f", did you mean {alike!r}?"
    return f" (known: {', '.join(siblings)})"
