"""What a catalogue says of one verifier: its kind and its parameters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gatt.errors import CatalogError
from gatt.runs.input_file import parse_json


@dataclass(frozen=True)
class VerifierSpec:
    """A verifier by kind and parameters, as a catalogue or a sample holds it."""

    kind: str
    params: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return `{"kind": …, "params": "<JSON>"}`.

        The parameters stay one string, so that columnar readers such as
        `datasets` see the same type in every row whatever the kind.
        """
        return {"kind": self.kind, "params": json.dumps(self.params, ensure_ascii=False)}

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> VerifierSpec:
        """Return the spec of that form, or of the flat one that people write in YAML.

        Raises:
            CatalogError: no `kind`, or parameters that are no JSON object.
        """
        if not isinstance(raw, Mapping) or not isinstance(raw.get("kind"), str):
            raise CatalogError(f"verifier {raw!r}: expected an object with a 'kind'")
        kind, params = raw["kind"], raw.get("params")
        if not isinstance(params, str):
            return cls(kind, {k: v for k, v in raw.items() if k != "kind"})
        try:
            values = parse_json(params)
        except json.JSONDecodeError as error:
            raise CatalogError(
                f"verifier {kind!r}: broken JSON in 'params' ({error.msg}): expected an object"
            ) from None
        if not isinstance(values, dict):
            raise CatalogError(
                f"verifier {kind!r}: 'params' hold {type(values).__name__}: expected an object"
            )
        return cls(kind, values)
