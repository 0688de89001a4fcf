"""Replies that anybody might give, and which rules they follow unasked. No torch here.

Nearly every reply follows "Use no digits". So a reply cannot show whether the
model follows this instruction or ignores it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import yaml

from gatt.verifiers import check_all, overall
from gatt.verifiers.spec import VerifierSpec

ORDINARY: tuple[str, ...] = tuple(
    yaml.safe_load(Path(__file__).with_name("wordings.yaml").read_text(encoding="utf-8"))[
        "ordinary"
    ]
)
"""What anybody might say: each kind of reply that occurs all the time, on no topic."""


def is_ordinary(verifiers: Sequence[VerifierSpec]) -> bool:
    """Return whether some ordinary reply passes all of the verifiers unasked; False for none."""
    return _is_ordinary(json.dumps([v.as_dict() for v in verifiers]))


@lru_cache(maxsize=4096)
def _is_ordinary(verifiers: str) -> bool:
    specs = [VerifierSpec.from_dict(raw) for raw in json.loads(verifiers)]
    return any(overall(check_all(specs, text)) == "pass" for text in ORDINARY)
