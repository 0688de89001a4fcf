"""`json` and `json_object`: the reply is one JSON value."""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from gatt.verifiers.base import Examples, Verdict
from gatt.verifiers.rule import Rule, require_texts

_FENCE = re.compile(r"\A```[ \t]*(?:json)?[ \t]*\n(?P<body>.*?)\n?[ \t]*```\Z", re.DOTALL | re.I)


class _Json(Rule):
    """The common part: the whole reply, a code fence aside, is a JSON object or list."""

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
        return self.judge_value(value)

    @abstractmethod
    def judge_value(self, value: Any) -> Verdict:
        """Return the verdict on a reply that is this JSON value."""


class Json(_Json):
    """Passes if the whole reply, a code fence aside, is a JSON object or list.

    A bare text or number is none: nothing is wrapped in JSON there.
    """

    kind = "json"
    reads_markup = True
    examples: ClassVar[tuple[Examples, ...]] = (
        Examples(
            {},
            good=('{"answer": "I like tea."}', '```json\n["tea", "milk"]\n```'),
            bad=("I like tea.", '"I like tea."', 'Here it is: ["tea"]', "{'a': 'tea'}"),
        ),
    )

    def __init__(self) -> None:
        """Take no parameters."""

    def judge_value(self, value: Any) -> Verdict:
        """Return the verdict on a reply that is this JSON value."""
        if not isinstance(value, dict | list):
            return self.failed(f"JSON {type(value).__name__}, expected an object or a list")
        return self.passed(f"a JSON {'object' if isinstance(value, dict) else 'list'}")


class JsonObject(_Json):
    """Passes if the whole reply, a code fence aside, is a JSON object with the keys.

    Nothing is said under a key with a blank text, `null` or an empty list or object.

    Args:
        keys: keys that must be there, with something under them; others may be.

    Raises:
        VerifierError: `keys` is no list of texts.
    """

    kind = "json_object"
    version = 2
    reads_markup = True
    examples: ClassVar[tuple[Examples, ...]] = (
        Examples(
            {"keys": ["answer"]},
            good=('{"answer": "I like tea."}', '```json\n{"answer": "yes", "sure": true}\n```'),
            bad=(
                "The answer is yes.",
                '{"reply": "I like tea."}',
                'Here it is: {"answer": "yes"}',
                '["answer"]',
                '{"answer": " ", "sure": true}',
                "{'answer': 'yes'}",
            ),
        ),
    )

    def __init__(self, *, keys: Sequence[str] = ()) -> None:
        self._keys = require_texts(self.kind, "keys", keys)

    def judge_value(self, value: Any) -> Verdict:
        """Return the verdict on a reply that is this JSON value."""
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
