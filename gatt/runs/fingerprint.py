"""The fingerprint of a run: a hash of its settings."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def fingerprint(value: object) -> str:
    """Return 16 hex digits of the SHA-256 of a value's canonical JSON; equal values have equal ones.

    Takes what `jsonable` takes; the order of mappings does not count.
    """
    text = json.dumps(jsonable(value), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def jsonable(value: object) -> Any:
    """Return dataclasses, mappings, sequences, paths and scalars as values that JSON can hold.

    Raises:
        ValueError: anything else.
    """
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value, inf_nan_mode="constants")
