"""What a configuration class takes: keys, types, defaults, documentation. No torch here."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import itertools
import json
import textwrap
import types
import typing
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

_UNION = (Union, types.UnionType)
_NAMES = {type(None): "null", Path: "path", Any: "any value", dict: "mapping", list: "list"}


@dataclasses.dataclass(frozen=True)
class Field:
    """One configuration key, for a reader."""

    name: str
    """Dotted, from the root of the configuration."""
    type: str
    default: str | None
    """As YAML would hold it; None where a value is required."""
    doc: str
    """The string under the field, on one line; empty where there is none."""


def describe(cls: type) -> list[Field]:
    """Return every key of a configuration class, depth first in the order of its fields."""
    return _describe(cls, "", None)


def key_names(cls: type) -> list[str]:
    """Return all dotted keys, those that hold further keys included."""
    names = []
    for name, annotation in _hints(cls).items():
        names.append(name)
        inner = nested_class(annotation)
        if inner is not None:
            names += [f"{name}.{key}" for key in key_names(inner)]
    return names


def nested_classes(cls: type) -> dict[str, type]:
    """Return the fields of a configuration class that hold another, with its class."""
    found = {name: nested_class(annotation) for name, annotation in _hints(cls).items()}
    return {name: inner for name, inner in found.items() if inner is not None}


def annotation_at(cls: type, keys: Sequence[str]) -> Any | None:
    """Return the type of the value at a place, or None for a place that does not exist."""
    here: Any = cls
    for key in keys:
        inner = nested_class(here)
        if inner is not None:
            if key not in _hints(inner):
                return None
            here = _hints(inner)[key]
            continue
        items = [
            a for a in members(here) if get_origin(a) in (list, tuple, dict, Mapping, Sequence)
        ]
        arguments = get_args(items[0]) if items else ()
        if not arguments:
            return None
        if get_origin(items[0]) is tuple and arguments[-1] is not Ellipsis:
            if not key.isdigit() or int(key) >= len(arguments):
                return None
            here = arguments[int(key)]
        else:
            here = arguments[0] if arguments[-1] is Ellipsis else arguments[-1]
    return here


def nested_class(annotation: Any) -> type | None:
    """Return the dataclass that an annotation holds (`X` or `X | None`), if any."""
    found = [a for a in members(annotation) if isinstance(a, type) and dataclasses.is_dataclass(a)]
    return found[0] if len(found) == 1 else None


def members(annotation: Any) -> list[Any]:
    """Return the branches of a union; of anything else, itself."""
    if get_origin(annotation) is Annotated:
        return members(get_args(annotation)[0])
    if get_origin(annotation) in _UNION:
        return [m for a in get_args(annotation) for m in members(a)]
    return [annotation]


def is_text(annotation: Any) -> bool:
    """Whether only texts (and null) fit, so that a value needs no YAML reading."""
    kinds = [m for m in members(annotation) if m is not type(None)]
    return bool(kinds) and all(
        m in (str, Path)
        or (get_origin(m) is Literal and all(isinstance(a, str) for a in get_args(m)))
        for m in kinds
    )


def type_text(annotation: Any) -> str:
    """Return a type as a user reads it: "float or null", "'comb' or 'auto'", "list of str"."""
    texts: list[str] = []
    for member in members(annotation):
        origin, arguments = get_origin(member), get_args(member)
        if origin is Literal:
            texts += [repr(a) for a in arguments]
        elif origin is tuple and arguments and arguments[-1] is not Ellipsis:
            texts.append(f"list of {len(arguments)} ({', '.join(map(type_text, arguments))})")
        elif origin in (list, tuple, set, frozenset, Sequence):
            texts.append(f"list of {type_text(arguments[0])}")
        elif origin in (dict, Mapping):
            texts.append(f"mapping of {type_text(arguments[0])} to {type_text(arguments[1])}")
        elif isinstance(member, type) and dataclasses.is_dataclass(member):
            texts.append(f"mapping ({', '.join(f.name for f in dataclasses.fields(member))})")
        else:
            texts.append(_NAMES.get(member, getattr(member, "__name__", str(member))))
    return " or ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def _describe(cls: type, prefix: str, defaults: object) -> list[Field]:
    """Return the fields under `prefix`; `defaults` is the parent's own default instance."""
    found: list[Field] = []
    docs = field_docs(cls)
    for item in dataclasses.fields(cls):
        annotation = _hints(cls)[item.name]
        default = _default(item) if defaults is None else getattr(defaults, item.name)
        inner = nested_class(annotation)
        name = f"{prefix}{item.name}"
        if inner is None or default is None:
            text = None if default is dataclasses.MISSING else _default_text(default)
            found.append(Field(name, type_text(annotation), text, docs.get(item.name, "")))
        if inner is not None:
            own = default if dataclasses.is_dataclass(default) else None
            found += _describe(inner, f"{name}.", own)
    return found


def _default(item: dataclasses.Field[Any]) -> Any:
    if item.default_factory is not dataclasses.MISSING:
        return item.default_factory()
    return item.default


def _default_text(default: object) -> str:
    if isinstance(default, str | Path):
        return str(default) or "''"
    if isinstance(default, float):
        return repr(default)
    return json.dumps(default, default=str, ensure_ascii=False)


@cache
def _hints(cls: type) -> dict[str, Any]:
    hints = typing.get_type_hints(cls, include_extras=True)
    return {f.name: hints[f.name] for f in dataclasses.fields(cls)}


@cache
def field_docs(cls: type) -> dict[str, str]:
    """Return the string under each field, on one line; base classes included.

    A class without source (made in an interactive session) has none.
    """
    docs: dict[str, str] = {}
    for base in reversed(cls.__mro__[:-1]):
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(base)))
        except (OSError, TypeError, SyntaxError):
            continue
        body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
        for statement, following in itertools.pairwise(body):
            if (
                isinstance(statement, ast.AnnAssign)
                and isinstance(statement.target, ast.Name)
                and isinstance(following, ast.Expr)
                and isinstance(following.value, ast.Constant)
                and isinstance(following.value.value, str)
            ):
                docs[statement.target.id] = " ".join(following.value.value.split())
    return docs
