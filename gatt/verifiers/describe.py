"""What a kind does, as `gatt catalog kinds` and the reference show it: parameters and two replies."""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import dataclass
from typing import Any, Final

from gatt.verifiers.graded.score import DECIDED_LATER
from gatt.verifiers.own_kinds import origin
from gatt.verifiers.table import verifier_class

_TYPES: Final = {
    "str": "text",
    "int": "whole number",
    "float": "number",
    "bool": "true or false",
    "Sequence[str]": "list of texts",
    "Sequence[Sequence[str]]": "lists of texts",
    "Mapping[str, Any]": "mapping",
    "Sequence[Mapping[str, Any]]": "list of mappings",
}
_ARGUMENT: Final = re.compile(r"^    (?P<name>\w+): (?P<text>.+)$")


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kind."""

    name: str
    type: str
    default: str
    """As YAML takes it; empty where a value must be given."""
    about: str


@dataclass(frozen=True)
class Shown:
    """A kind with one set of parameters, a reply that passes under them and one that fails."""

    kind: str
    about: str
    origin: str
    """File or package; empty if it is shipped."""
    parameters: tuple[Parameter, ...]
    params: dict[str, Any]
    passing: str | None
    """None for a kind that never passes by itself."""
    failing: str

    @property
    def rule(self) -> str:
        """The rule as a catalogue writes it."""
        return json.dumps({"kind": self.kind, **self.params}, ensure_ascii=False)


def describe(kind: str) -> Shown:
    """Return what is shown of a kind.

    Raises:
        VerifierError: no such kind, or one of a package that cannot be used.
    """
    cls: Any = verifier_class(kind)
    about, arguments = _documented(inspect.getdoc(cls) or "")
    inherited = [_documented(inspect.getdoc(base) or "")[1] for base in reversed(cls.__mro__[1:-1])]
    texts = {name: text for some in (*inherited, arguments) for name, text in some.items()}
    first = next((one for one in cls.examples if one.good and one.bad), cls.examples[0])
    return Shown(
        kind,
        about,
        origin(kind),
        tuple(
            Parameter(name, _type(given.annotation), _default(given.default), texts.get(name, ""))
            for name, given in inspect.signature(cls).parameters.items()
        ),
        dict(first.params),
        None if kind in DECIDED_LATER else next(iter(first.good), None),
        _shortest_said(first.bad),
    )


def as_text(shown: Shown) -> str:
    """Return a kind as a terminal shows it."""
    lines = [shown.kind + (f"  (of {shown.origin})" if shown.origin else ""), f"  {shown.about}"]
    for one in shown.parameters:
        default = f", default {one.default}" if one.default else ""
        lines.append(f"    {one.name} ({one.type}{default}): {one.about}")
    passing = json.dumps(shown.passing, ensure_ascii=False) if shown.passing else "never by itself"
    lines += [
        f"  {shown.rule}",
        f"    passes: {passing}",
        f"    fails:  {json.dumps(shown.failing, ensure_ascii=False)}",
    ]
    return "\n".join(lines) + "\n"


def as_markdown(shown: Shown) -> str:
    """Return a kind as the reference shows it."""
    rows = [
        f"| `{one.name}` | {one.type} | {f'`{one.default}`' if one.default else 'must be given'} "
        f"| {_cell(one.about)} |"
        for one in shown.parameters
    ]
    table = ["| parameter | type | default | |", "|---|---|---|---|", *rows, ""] if rows else []
    passing = json.dumps(shown.passing, ensure_ascii=False) if shown.passing else "never by itself"
    return "\n".join(
        [
            f"### `{shown.kind}`",
            "",
            shown.about,
            "",
            *table,
            "```yaml",
            shown.rule,
            f"# passes: {passing}",
            f"# fails:  {json.dumps(shown.failing, ensure_ascii=False)}",
            "```",
            "",
        ]
    )


def _documented(doc: str) -> tuple[str, dict[str, str]]:
    """Return the first paragraph of a docstring, and the text of each argument, on one line each."""
    about = " ".join(doc.partition("\n\n")[0].split())
    arguments: dict[str, str] = {}
    name = ""
    for line in doc.partition("\nArgs:\n")[2].splitlines():
        if line and not line.startswith(" "):
            break
        if found := _ARGUMENT.match(line):
            name = found["name"]
            arguments[name] = found["text"]
        elif name and line.strip():
            arguments[name] += f" {line.strip()}"
    return about, arguments


def _type(annotation: object) -> str:
    name = str(getattr(annotation, "__name__", annotation)).removesuffix(" | None")
    return _TYPES.get(name, name)


def _default(value: object) -> str:
    if value is inspect.Parameter.empty:
        return ""
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def _shortest_said(replies: tuple[str, ...]) -> str:
    """Return the first reply that says something, so that a reader sees why it fails."""
    return next((reply for reply in replies if reply.strip()), next(iter(replies), ""))


def _cell(text: str) -> str:
    return text.replace("|", r"\|")
