"""`json_object`: the reply is one JSON object."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from gatt.verifiers.base import Verdict
from gatt.verifiers.rule import Rule, require_texts, shipped_examples

_FENCE = re.compile(r"\A```[ \t]*(?:json)?[ \t]*\n(?P<body>.*?)\n?[ \t]*```\Z", re.DOTALL | re.I)


class JsonObject(Rule):
    """Passes if the whole reply, a code fence aside, is a JSON object with the keys.

    Nothing is said under a key with a blank text, `null` or an empty list or object.

    Args:
        keys: keys that must be there, with something under them; others may be.
    """

    kind = "json_object"
    version = 2
    reads_markup = True
    examples = shipped_examples(kind)

    def __init__(self, *, keys: Sequence[str] = ()) -> None:
        self._keys = require_texts(self.kind, "keys", keys)

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        text = reply.strip()
        fenced = _FENCE.match(text)
        try:
            value: Any = json.loads(fenced["body"] if fenced else text, parse_constant=_refuse)
        except json.JSONDecodeError as error:
            return self.failed(f"no JSON: {error.msg} at character {error.pos}")
        except (ValueError, RecursionError) as error:
            return self.failed(f"no usable JSON: {error}")
        if not isinstance(value, dict):
            return self.failed(f"JSON {type(value).__name__}, expected an object")
        missing = [key for key in self._keys if key not in value]
        if missing:
            return self.failed(f"no key {missing[0]!r}")
        blank = [key for key in self._keys if value[key] is None or _is_blank(value[key])]
        if blank:
            return self.failed(f"nothing under {blank[0]!r}")
        return self.passed(f"a JSON object with {len(value)} keys")


def _is_blank(value: Any) -> bool:
    return isinstance(value, str | list | dict) and not (
        value.strip() if isinstance(value, str) else value
    )


def _refuse(constant: str) -> None:
    """Refuse NaN and Infinity, which JSON does not have."""
    raise ValueError(f"{constant} is no JSON value")
