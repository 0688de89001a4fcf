"""Reading YAML files and command-line overrides into one raw mapping. No torch here.

Scalars follow YAML 1.2: `1e-4` is a number, `no` and `on` are texts (a language
code among them), `010` is ten. A key that stands twice is an error, because
plain YAML would keep the last one without a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import yaml

from gatt.config.schema import annotation_at, is_text, members
from gatt.errors import ConfigError
from gatt.runs.input_file import read_text
from gatt.runs.nesting import refuse_deep, refuse_unwieldy

_KEY = re.compile(r"[A-Za-z_][\w-]*(\.[\w-]+)*")
_MOST_BYTES: Final = 2**20
"""Of a configuration: PyYAML takes seconds for more."""
_NULLS = ("", "~", "null", "Null", "NULL")
_PREFIX = "tag:yaml.org,2002:"
_SCALARS = {
    "null": r"~|null|Null|NULL|",
    "bool": r"true|True|TRUE|false|False|FALSE",
    "int": r"[-+]?[0-9][0-9_]*|0o[0-7]+|0x[0-9a-fA-F]+",
    "float": r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"
    r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
    "merge": r"<<",
}


class _Loader(yaml.SafeLoader):
    # Empty, or `add_implicit_resolver` would start from a copy of the YAML 1.1 table.
    yaml_implicit_resolvers: ClassVar[dict[Any, Any]] = {}  # type: ignore[misc]


class _Dumper(yaml.SafeDumper):
    """Quotes whatever either YAML 1.1 or `_Loader` would not read back as text."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    # Between other quotes a line break of Unicode (U+0085, U+2028, U+2029) would be read as a fold.
    style = '"' if any(c in text for c in "\x85\u2028\u2029") else None
    return dumper.represent_scalar(f"{_PREFIX}str", text, style=style)


_Dumper.add_representer(str, _represent_text)
for _name, _pattern in _SCALARS.items():
    for _class in (_Loader, _Dumper):
        _class.add_implicit_resolver(f"{_PREFIX}{_name}", re.compile(f"(?:{_pattern})$"), None)


def _construct_int(loader: _Loader, node: yaml.ScalarNode) -> int:
    text = str(loader.construct_scalar(node)).replace("_", "")
    try:
        return int(text, 0) if text[:2] in ("0x", "0o") else int(text)
    except ValueError:
        # Python reads numbers of up to 4,300 digits.
        raise _refused(f"a number of {len(text)} digits", node) from None


def _construct_float(loader: _Loader, node: yaml.ScalarNode) -> float:
    text = str(loader.construct_scalar(node)).lower()
    return float(text.replace(".inf", "inf").replace(".nan", "nan"))


def _construct_mapping(loader: _Loader, node: yaml.MappingNode) -> Iterator[dict[str, Any]]:
    data: dict[str, Any] = {}
    yield data
    loader.flatten_mapping(node)
    # Keys stay texts (`no: Norwegian`, `2: x`): that is what a dotted key can name.
    for key, value in node.value:
        data[str(key.value)] = loader.construct_object(value, deep=True)


_Loader.add_constructor(f"{_PREFIX}int", _construct_int)
_Loader.add_constructor(f"{_PREFIX}float", _construct_float)
_Loader.add_constructor(f"{_PREFIX}map", _construct_mapping)


def dump_yaml(value: dict[str, Any]) -> str:
    """Return YAML in the order of the mapping."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return text


def parse_yaml(text: str) -> tuple[Any, list[str]]:
    """Return the value of one YAML document, and one problem for each repeated key.

    Raises:
        yaml.YAMLError: broken YAML, more than one document, a key that is no text,
            a number that is none, or what `gatt.runs.nesting` refuses.
    """
    refuse_deep(text, _Loader)
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None, []
        refuse_unwieldy(node)
        problems = list(_repeated_keys(node, ""))
        return loader.construct_document(node), problems
    finally:
        loader.dispose()


def _repeated_keys(node: yaml.Node, prefix: str) -> Iterator[str]:
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _repeated_keys(item, f"{prefix}{index}.")
    if isinstance(node, yaml.MappingNode):
        lines: dict[str, int] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _refused("a key that is a list or a mapping, expected a text", key)
            line = key.start_mark.line + 1
            if key.value in lines:
                yield (
                    f"line {line}: key {prefix + key.value!r} already stands in line "
                    f"{lines[key.value]}, expected it once"
                )
            lines.setdefault(key.value, line)
            yield from _repeated_keys(value, f"{prefix}{key.value}.")


def _refused(problem: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)


def read_mapping(path: Path) -> tuple[dict[str, Any], list[str]]:
    """Return the mapping of a YAML file, and one problem for each repeated key.

    Raises:
        ConfigError: with the file, for one that is missing, empty, broken, or
            not a mapping.
    """
    try:
        text = read_text(path, most_bytes=_MOST_BYTES)
    except OSError as error:
        raise ConfigError(f"{path}: cannot read the configuration: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: no UTF-8 text at byte {error.start}: expected YAML") from None
    try:
        raw, problems = parse_yaml(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}{_broken(error)}") from None
    if raw is None:
        raise ConfigError(f"{path}: nothing in it: expected a mapping of configuration keys")
    if not isinstance(raw, dict):
        raise ConfigError(f"{path}: found {type(raw).__name__}: expected a mapping")
    return raw, [f"{path} {problem}" for problem in problems]


def _broken(error: yaml.YAMLError, *, place: bool = True) -> str:
    mark = getattr(error, "problem_mark", None) if place else None
    where = f" line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    what = getattr(error, "problem", None) or " ".join(str(error).split())
    return f"{where}: broken YAML: {what}"


def apply_overrides(
    cls: type, raw: dict[str, Any], overrides: Sequence[str], problems: list[str]
) -> list[str]:
    """Set every override in `raw` and return their dotted keys; add to `problems`."""
    changed: list[str] = []
    for key, text in split_overrides(overrides, problems):
        try:
            value = _value(cls, key, text)
        except yaml.YAMLError as error:
            problems.append(f"command line: {key!r} is {text!r}{_broken(error, place=False)}")
            continue
        *parents, last = key.split(".")
        here: dict[str, Any] = raw
        for depth, parent in enumerate(parents, start=1):
            inner = here.get(parent)
            if inner is None:
                inner = here[parent] = {}
                changed.append(".".join(parents[:depth]))
            if not isinstance(inner, dict):
                place = ".".join(parents[:depth])
                problems.append(
                    f"command line: cannot set {key!r}: {place!r} is {inner!r}, expected a mapping"
                )
                break
            here = inner
        else:
            here[last] = value
            changed.append(key)
    return changed


def split_overrides(overrides: Sequence[str], problems: list[str]) -> Iterator[tuple[str, str]]:
    """Yield (dotted key, value text) of `a.b=v`, `--a.b=v` and `--a.b`, `v`."""
    items = iter(range(len(overrides)))
    for index in items:
        item = overrides[index]
        key, equals, text = item.removeprefix("--").partition("=")
        if not _KEY.fullmatch(key) or not (equals or item.startswith("--")):
            problems.append(f"command line: {item!r}: expected key=value or --key value")
            continue
        if not equals:
            if index + 1 == len(overrides) or overrides[index + 1].startswith("--"):
                problems.append(f"command line: {item!r} without a value: expected {item}=value")
                continue
            text = overrides[next(items)]
        yield key, text


def _value(cls: type, key: str, text: str) -> Any:
    annotation = annotation_at(cls, key.split("."))
    if annotation is not None and is_text(annotation):
        if text in _NULLS and type(None) in members(annotation):
            return None
        if text[:1] not in ("'", '"'):
            return text
    value, wrong = parse_yaml(text)
    if wrong:
        raise yaml.YAMLError("; ".join(wrong))
    return value
