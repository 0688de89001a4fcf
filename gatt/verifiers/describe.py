"""What a kind does, as `gatt catalog kinds` and the reference show it: parameters and two replies."""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import dataclass
from typing import Any, Final

from gatt.verifiers.judge import JUDGE
from gatt.verifiers.own_kinds import origin
from gatt.verifiers.table import verifier_class

_TYPES: Final = {
    "str": "text",
    "Casing": "text",
    "Place": "text",
    "int": "whole number",
    "Count": "whole number",
    "float": "number",
    "bool": "true or false",
    "tuple[str, ...]": "list of texts",
    "SingleCharacters": "list of texts",
    "TermMatcher": "list of texts",
    "Terms": "list of texts",
    "tuple[Terms, ...]": "lists of texts",
    "Facts": "mapping",
    "Inner": "mapping",
    "Inners": "list of mappings",
    "Marks": "list of sorts",
}
_ARGUMENT: Final = re.compile(r"    (?P<name>\w+): (?P<text>.+(?:\n {6,}.+)*)")


@dataclass(frozen=True)
class Shown:
    """A kind with one set of parameters, a reply that passes under them and one that fails."""

    kind: str
    about: str
    origin: str
    """Its file; empty if it is shipped."""
    parameters: list[tuple[str, str, str, str]]
    """Name, type, default as YAML takes it (empty where a value must be given), and what it is."""
    params: dict[str, Any]
    passing: str | None
    """None for a kind that never passes by itself."""
    failing: str

    @property
    def lines(self) -> list[str]:
        """The rule as a catalogue writes it, and the two replies."""
        rule = json.dumps({"kind": self.kind, **self.params}, ensure_ascii=False)
        passing = (
            json.dumps(self.passing, ensure_ascii=False) if self.passing else "never by itself"
        )
        return [
            rule,
            f"passes: {passing}",
            f"fails:  {json.dumps(self.failing, ensure_ascii=False)}",
        ]


def describe(kind: str) -> Shown:
    """Return what is shown of a kind."""
    cls: Any = verifier_class(kind)
    texts: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        arguments = (inspect.getdoc(base) or "").partition("\nArgs:\n")[2].partition("\n\n")[0]
        texts |= {one["name"]: _one_line(one["text"]) for one in _ARGUMENT.finditer(arguments)}
    first = next((one for one in cls.examples if one.good and one.bad), cls.examples[0])
    return Shown(
        kind,
        _one_line((inspect.getdoc(cls) or "").partition("\n\n")[0]),
        origin(kind),
        [
            (name, _type(given.annotation), _default(given.default), texts.get(name, ""))
            for name, given in inspect.signature(cls).parameters.items()
        ],
        dict(first.params),
        None if kind == JUDGE else next(iter(first.good), None),
        next((reply for reply in first.bad if reply.strip()), ""),
    )


def as_text(shown: Shown) -> str:
    """Return a kind as a terminal shows it."""
    lines = [shown.kind + (f"  (of {shown.origin})" if shown.origin else ""), f"  {shown.about}"]
    for name, kind, default, about in shown.parameters:
        lines.append(f"    {name} ({kind}{default and f', default {default}'}): {about}")
    rule, *replies = shown.lines
    return "\n".join([*lines, f"  {rule}", *(f"    {reply}" for reply in replies)]) + "\n"


def as_markdown(shown: Shown) -> str:
    """Return a kind as the reference shows it."""
    table = ["| parameter | type | default | |", "|---|---|---|---|"]
    for name, kind, default, about in shown.parameters:
        given = f"`{default}`" if default else "must be given"
        table.append(f"| `{name}` | {kind} | {given} | {about.replace('|', chr(92) + '|')} |")
    rule, *replies = shown.lines
    shown_table = [*table, ""] if shown.parameters else []
    code = ["```yaml", rule, *(f"# {reply}" for reply in replies), "```", ""]
    return "\n".join([f"### `{shown.kind}`", "", shown.about, "", *shown_table, *code])


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _type(annotation: object) -> str:
    name = str(getattr(annotation, "__name__", annotation)).removesuffix(" | None")
    return _TYPES.get(name, name)


def _default(value: Any) -> str:
    if value is inspect.Parameter.empty:
        return ""
    return json.dumps(value, default=lambda matcher: matcher.terms)
