"""How deep, and how large, what a user's file holds may be. No torch here.

Python walks nested values by recursion and stops at about a thousand frames, wherever it happens to
be; aliases of YAML make a few lines stand for billions of values. Both are refused where a text is
read, so that no code behind it has to care.
"""

from __future__ import annotations

import json
from typing import Any, Final

import yaml

MOST_LEVELS: Final = 100
"""Lists and mappings within each other."""
MOST_COPIES: Final = 100_000
"""Values that the aliases of one YAML document stand for."""
TOO_DEEP: Final = f"nested more than {MOST_LEVELS} levels deep"


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises:
        json.JSONDecodeError: no JSON, nested more than `MOST_LEVELS` levels deep, or a number of
            thousands of digits.
        UnicodeDecodeError: bytes that are no UTF-8.
    """
    try:
        value = json.loads(text)
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except RecursionError:
        raise json.JSONDecodeError(TOO_DEEP, "", 0) from None
    except ValueError as error:
        raise json.JSONDecodeError(str(error), "", 0) from None
    if is_too_deep(value):
        raise json.JSONDecodeError(TOO_DEEP, "", 0)
    return value


def is_too_deep(value: object) -> bool:
    """Whether lists and mappings stand more than `MOST_LEVELS` within each other."""
    level = [value]
    for _ in range(MOST_LEVELS + 1):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return True


def refuse_deep(text: str, loader: Any) -> None:
    """Refuse a deep YAML text before it is composed: libyaml does that by recursion in C, and crashes.

    Args:
        text: one document.
        loader: the class that is going to read it.

    Raises:
        yaml.YAMLError: nested more than `MOST_LEVELS` levels deep, or broken.
    """
    depth = 0
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MOST_LEVELS:
                raise _refused(TOO_DEEP, event)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def refuse_unwieldy(root: yaml.Node) -> None:
    """Refuse aliases that stand for too much, or for what holds them.

    Args:
        root: of a text that `refuse_deep` let pass.

    Raises:
        yaml.MarkedYAMLError: more than `MOST_COPIES` copied values, or one that would hold itself.
    """
    sizes: dict[int, int | None] = {}

    def size(node: yaml.Node) -> int:
        key = id(node)
        if key not in sizes:
            # None while its inside is measured.
            sizes[key] = None
            sizes[key] = 1 + sum(map(size, _inner_nodes(node)))
        found = sizes[key]
        if found is None:
            raise _refused("an alias to what holds it", node)
        return found

    num_copies = size(root) - len(sizes)
    if num_copies > MOST_COPIES:
        raise _refused(f"aliases for more than {MOST_COPIES} values", root)


def _refused(problem: str, place: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=place.start_mark)


def _inner_nodes(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [inner for pair in node.value for inner in pair]
    return node.value if isinstance(node, yaml.SequenceNode) else []


def _inside(value: object) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
