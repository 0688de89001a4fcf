"""Parts of an instruction: each has its own rate in a report, or a line that says that nothing judges it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from gatt.data.expectation import Expectation
from gatt.errors import CatalogError
from gatt.runs.input_file import parse_json
from gatt.runs.values import ShapeError, typed
from gatt.verifiers.spec import VerifierSpec


@dataclass(frozen=True, kw_only=True)
class Part:
    """One thing that an instruction asks for."""

    about: str
    """The part in the user's words."""
    num_verifiers: int = 0
    """How many verifiers of the instruction belong to it. The instruction has them in the order of its
    parts."""
    facts: tuple[str, ...] = ()
    """Facts of the speaker that it gives: it is judged where a turn asks for one of them."""
    asks: tuple[str, ...] = ()
    """Messages that ask for what it forbids. It is judged there: the reply has to decline."""
    replies: tuple[str, ...] = ()
    """Replies that decline, for targets."""
    rubric: str = ""
    """What a judge is asked where no rule can tell."""

    @property
    def is_judged(self) -> bool:
        """Whether a rule judges it at some turn."""
        return bool(self.num_verifiers or self.facts or self.asks)

    @property
    def is_asked_for(self) -> bool:
        """Whether it is judged only at turns that ask for it."""
        return bool(self.facts or self.asks)

    def expectation(self) -> Expectation:
        """Return what a message of `asks` expects."""
        return Expectation(verifiers=(VerifierSpec("declines"),), kind="topic", fact=self.about)


def parts_to_json(parts: Iterable[Part]) -> str:
    """Return parts as one text: columnar readers see the same type in every row."""
    return json.dumps([asdict(part) for part in parts], ensure_ascii=False)


def parts_from_json(text: object) -> tuple[Part, ...]:
    """Return the parts of that text.

    Raises:
        CatalogError: it is no JSON list of parts.
    """
    try:
        raw: Any = parse_json(text) if isinstance(text, str) else text
        return typed(tuple[Part, ...], raw)
    except (json.JSONDecodeError, ShapeError) as error:
        raise CatalogError(f"'parts' is {text!r}: expected a JSON list of parts: {error}") from None
