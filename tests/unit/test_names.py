"""One name, one thing: no public class or alias is defined twice in the three packages."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.support.texts.doc_pages import ROOT


def public_types(path: Path) -> Iterator[str]:
    """Yield the classes and aliases that a file defines at its top level: `Name = …` in mixed case."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        names = [node.name] if isinstance(node, ast.ClassDef) else []
        if isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names = [node.target.id]
        yield from (name for name in names if name[0].isupper() and not name.isupper())


def test_no_public_type_is_defined_twice() -> None:
    where = defaultdict(list)
    for package in ("gatt", "data_synth", "eval"):
        for path in sorted((ROOT / package).rglob("*.py")):
            for name in public_types(path):
                where[name].append(str(path.relative_to(ROOT)))
    assert len(where) > 100
    assert {name: files for name, files in where.items() if len(files) > 1} == {}
