"""YAML files and the lines of their keys. No torch here.

A plain scalar is a number where Python reads it as one (`1e-4`, `010`), and otherwise null, a truth
value or a text: `no` and `on` are texts, as in YAML 1.2. Keys are texts. A tag is an error, and so is a
key that is given twice.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple

import yaml

from gatt.errors import ConfigError
from gatt.runs.input_file import read_text

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
        found = "nothing" if values is None else f"a {type(values).__name__}"
        raise ConfigError(f"{path}: {found} in it: expected a mapping of keys to values")
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
