"""Values of JSON or YAML as dataclasses, checked by pydantic: all mistakes at once, each with its place."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import (
    TYPE_CHECKING,
    Any,
    NamedTuple,
    TypeVar,
    cast,
    get_args,
    get_type_hints,
)

from gatt.runs.suggest import did_you_mean

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")


class Problem(NamedTuple):
    """One mistake."""

    name: str
    """Dotted key; empty for the value as a whole."""
    kind: str
    """`unknown` (key), `missing` (key), `check` (an error of `__post_init__`) or `type`."""
    text: str
    """Found and expected; the text of a `check` does not name the place."""
    known: tuple[str, ...] = ()
    """The keys that would be valid in place of an unknown one."""

    def __str__(self) -> str:
        """Return one line."""
        if self.kind == "unknown":
            hint = did_you_mean(
                self.name.rpartition(".")[2], self.known, f" (known: {', '.join(self.known)})"
            )
            return f"{self.text}{hint}"
        return f"{self.name!r}: {self.text}" if self.kind == "check" and self.name else self.text


class ShapeError(Exception):
    """A value is not of the wanted type; callers turn it into a `GattError`.

    Attributes:
        problems: one for each place.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = tuple(problems)


def typed(kind: type[T], value: object) -> T:
    """Return a value of JSON as a type, such as a dataclass; raises `ShapeError` with every problem.

    Types are strict: `"3"` is no int and `true` is no number. An int is accepted as a float, a text as a
    path, a list as a tuple. Unknown keys are mistakes, and so is a `ValueError` of `__post_init__`.
    """
    # Imported here: `gatt --help` imports every configuration class and must stay fast.
    from pydantic import ValidationError

    try:
        # Strict Python mode would refuse a list for a tuple and a str for a Path; JSON mode takes them.
        found: tuple[T] = _adapter(cast(Hashable, kind)).validate_json(json.dumps([value]))
        return found[0]
    except ValidationError as error:
        raise ShapeError(_problems(kind, value, error.errors())) from None


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import ConfigDict, TypeAdapter

    # pydantic accepts no config for a plain dataclass, which inherits that of the tuple around it.
    strict = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
    return TypeAdapter(tuple[kind], config=strict)


def _problems(kind: object, value: object, errors: Sequence[Any]) -> list[Problem]:
    found: dict[str, Problem] = {}
    for error in errors:
        wrong, name = error["type"], _name(value, error["loc"][1:], error["type"])
        expected = error["msg"].removeprefix("Input should be ")
        if wrong == "missing":
            problem = Problem(name, "missing", f"missing key {name!r}: expected a value")
        elif wrong == "unexpected_keyword_argument":
            problem = Problem(name, "unknown", f"unknown key {name!r}", _known(kind, name))
        elif wrong == "value_error":
            problem = Problem(name, "check", str(error["ctx"]["error"]))
        elif name in found:
            # Each member of a union has an error of its own.
            problem = found[name]._replace(text=f"{found[name].text} or {expected}")
        else:
            problem = Problem(
                name, "type", f"{name!r} is {_shown(error['input'])}: expected {expected}"
            )
        found[name] = problem
    return list(found.values())


def _known(kind: object, name: str) -> tuple[str, ...]:
    """Return the keys of the dataclass that a dotted key belongs to."""
    owners = _dataclasses(kind)
    for part in name.split(".")[:-1]:
        hints = {key: hint for owner in owners for key, hint in get_type_hints(owner).items()}
        # The number of an item and the key of a mapping do not change the class.
        owners = _dataclasses(hints[part]) if part in hints else owners
    return tuple(field.name for owner in owners for field in fields(owner))


def _dataclasses(annotation: object) -> list[Any]:
    if isinstance(annotation, type) and is_dataclass(annotation):
        return [annotation]
    return [found for inner in get_args(annotation) for found in _dataclasses(inner)]


def _name(value: Any, loc: Sequence[int | str], kind: str) -> str:
    """Return the dotted key of an error, without pydantic's names for members of unions."""
    names = []
    for part in loc:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            if kind != "missing" or part is not loc[-1]:
                continue
        names.append(str(part))
    return ".".join(names)


def _shown(value: object) -> str:
    if value is None or isinstance(value, dict):
        return "null" if value is None else "a mapping"
    return f"{value!r} ({type(value).__name__})"
