"""Values of YAML and JSON: read with the line of each key, and made into dataclasses. No torch here.

In YAML a plain scalar is a number where Python reads it as one (`1e-4`, `010`), and otherwise null, a
truth value or a text: `no` and `on` are texts, as in YAML 1.2. Keys are texts. A tag is an error, and so
is a key that is given twice.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Hashable, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Final,
    NamedTuple,
    TypeVar,
    cast,
    get_args,
    get_type_hints,
)

import yaml

from gatt.errors import ConfigError
from gatt.runs.input_file import read_text
from gatt.runs.suggest import did_you_mean

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")
_MOST_BYTES: Final = 16 * 2**20
_WORDS: Final = {"": None, "~": None, "null": None, "true": True, "false": False}
_TEXT: Final = "tag:yaml.org,2002:str"


class Source(NamedTuple):
    """The mapping of a file, and the place of each of its keys."""

    values: dict[str, Any]
    places: dict[str, str]
    """Dotted key to file and line."""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    # Every plain scalar is loaded as a text, which `_scalar` reads.
    yaml_implicit_resolvers: ClassVar[dict[Any, Any]] = {}


class _Dumper(yaml.SafeDumper):
    """Quotes texts that YAML 1.1 or `_scalar` would not read back as texts."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    # Within single quotes a line break of Unicode (U+0085, U+2028, U+2029) is read as a space.
    is_broken = any(c in text for c in "\x85\u2028\u2029")
    style = '"' if is_broken else None if isinstance(_scalar(text), str) else "'"
    return dumper.represent_scalar(_TEXT, text, style=style)


_Dumper.add_representer(str, _represent_text)


def dump_yaml(value: dict[str, Any]) -> str:
    """Return YAML in the order of the mapping."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return text


def parse_yaml(text: str, lines: dict[str, int] | None = None) -> Any:
    """Return the value of one YAML document; `lines` gets the line of every dotted key.

    Raises:
        yaml.YAMLError: broken YAML, bytes that are no UTF-8, more than one document, a tag, or a key that
            is no text or is given twice.
    """
    try:
        node = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError:
        # libyaml says less of what is wrong.
        yaml.compose(text, Loader=yaml.SafeLoader)
        raise
    except UnicodeEncodeError:
        raise yaml.YAMLError("bytes that are no UTF-8") from None
    return None if node is None else _value(node, "", {} if lines is None else lines)


def read_mapping(path: Path) -> Source:
    """Return the mapping of a YAML file; raises `ConfigError` for a missing, empty or broken one."""
    lines: dict[str, int] = {}
    try:
        values = parse_yaml(read_text(path, most_bytes=_MOST_BYTES), lines)
    except OSError as error:
        raise ConfigError(f"{path}: cannot read the configuration: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: no UTF-8 text at byte {error.start}: expected YAML") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ConfigError(f"{path}{where}: {broken(error)}") from None
    if not isinstance(values, dict):
        content = "nothing" if values is None else f"a {type(values).__name__}"
        raise ConfigError(f"{path}: {content} in it: expected a mapping of keys to values")
    return Source(values, {key: f"{path} line {line}" for key, line in lines.items()})


def broken(error: yaml.YAMLError) -> str:
    """Return what is wrong with a YAML text, without its place."""
    return f"broken YAML: {getattr(error, 'problem', None) or ' '.join(str(error).split())}"


def _value(node: yaml.Node, prefix: str, lines: dict[str, int]) -> Any:
    kind = "str" if isinstance(node, yaml.ScalarNode) else type(node).__name__[:3].lower()
    if node.tag != f"tag:yaml.org,2002:{kind}":
        raise _refused(f"the tag {node.tag}, expected none", node)
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, f"{prefix}{number}.", lines) for number, item in enumerate(node.value)]
    if isinstance(node, yaml.ScalarNode):
        return node.value if node.style else _scalar(node.value)
    values: dict[str, Any] = {}
    for key, item in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _refused("a key that is a list or a mapping, expected a text", key)
        name = f"{prefix}{key.value}"
        if key.value in values:
            raise _refused(
                f"key {name!r} is already given in line {lines[name]}, expected it once", key
            )
        lines[name] = key.start_mark.line + 1
        values[key.value] = _value(item, f"{name}.", lines)
    return values


def _scalar(text: str) -> Any:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    # Python's `float` reads words as well, such as "infinity", and digits of other scripts.
    if text.isascii() and any(map(str.isdigit, text)) and text == text.strip():
        for read in (int, float):
            with contextlib.suppress(ValueError):
                return read(text)
    return text


def _refused(problem: str, place: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=place.start_mark)


class Problem(NamedTuple):
    """One mistake."""

    name: str
    """Dotted key; empty for the value as a whole."""
    kind: str
    """`unknown` (key), `missing` (key), `check` (an error of `__post_init__`) or `type`."""
    text: str
    """Found and expected; the text of a `check` does not name the place."""
    valid: tuple[str, ...] = ()
    """The keys that would be valid in place of an unknown one."""

    def __str__(self) -> str:
        """Return one line."""
        if self.kind == "unknown":
            hint = did_you_mean(
                self.name.rpartition(".")[2], self.valid, f" (known: {', '.join(self.valid)})"
            )
            return f"{self.text}{hint}"
        return f"{self.name!r}: {self.text}" if self.kind == "check" and self.name else self.text


class ShapeError(Exception):
    """A value is not of the wanted type; `problems` has one for each place."""

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
        checked: tuple[T] = _adapter(cast(Hashable, kind)).validate_json(json.dumps([value]))
        return checked[0]
    except ValidationError as error:
        raise ShapeError(_problems(kind, value, error.errors())) from None


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import ConfigDict, TypeAdapter

    # pydantic accepts no config for a plain dataclass, which inherits that of the tuple around it.
    strict = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
    return TypeAdapter(tuple[kind], config=strict)


def _problems(kind: object, value: object, errors: Sequence[Any]) -> list[Problem]:
    by_name: dict[str, Problem] = {}
    for error in errors:
        wrong, name = error["type"], _name(value, error["loc"][1:], error["type"])
        expected = error["msg"].removeprefix("Input should be ")
        if wrong == "missing":
            problem = Problem(name, "missing", f"missing key {name!r}: expected a value")
        elif wrong == "unexpected_keyword_argument":
            problem = Problem(name, "unknown", f"unknown key {name!r}", _known(kind, name))
        elif wrong == "value_error":
            problem = Problem(name, "check", str(error["ctx"]["error"]))
        elif name in by_name:
            # Each member of a union has an error of its own.
            problem = by_name[name]._replace(text=f"{by_name[name].text} or {expected}")
        else:
            problem = Problem(
                name, "type", f"{name!r} is {_shown(error['input'])}: expected {expected}"
            )
        by_name[name] = problem
    return list(by_name.values())


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
    return [owner for inner in get_args(annotation) for owner in _dataclasses(inner)]


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
