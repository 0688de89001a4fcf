"""The keys that a configuration class takes: names, types, defaults, documentation. No torch here."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterator
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin


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
