"""What the reply to one user message must hold, beside the instruction. No torch here.

In a file a user message carries it as `expect`::

    {"role": "user", "content": "How long can I return boots?",
     "expect": {"any_of": ["30 days", "thirty days"], "none_of": ["14 days"]}}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from gatt.errors import CatalogError, DataError
from gatt.runs.suggest import did_you_mean
from gatt.verifiers.spec import VerifierSpec

ExpectationKind = Literal["own", "question", "told", "speaker", "topic"]
EXPECTATION_KINDS: tuple[str, ...] = get_args(ExpectationKind)


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a reply must hold to answer its turn: one of some words, none of others, or any rule.

    Raises:
        DataError: nothing is expected, or an unknown kind.
    """

    any_of: tuple[str, ...] = ()
    """Words or numbers of which the reply must say at least one, in any language; see the verifier `answer`."""
    none_of: tuple[str, ...] = ()
    """Words of which it must say none: the wrong answers."""
    verifiers: tuple[VerifierSpec, ...] = ()
    """Rules that must pass as well."""
    kind: ExpectationKind = "own"
    """`own`: written by the user in a file; `question`: a question of the bank with a known answer; `told`:
    asks for a fact that the user told at an earlier turn; `speaker`: asks for a fact of the speaker; `topic`:
    asks for what the instruction forbids."""
    fact: str = ""
    """Of `speaker`: which fact of the instruction is asked for, such as `name`; of `topic`: the part of it."""

    def __post_init__(self) -> None:
        if not (self.any_of or self.none_of or self.verifiers):
            raise DataError("'expect' holds nothing: expected any_of, none_of or verifiers")
        if self.kind not in EXPECTATION_KINDS:
            raise DataError(
                f"'expect.kind' is {self.kind!r}: expected one of {', '.join(EXPECTATION_KINDS)}"
            )

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form, without what is empty."""
        raw = {
            "any_of": list(self.any_of),
            "none_of": list(self.none_of),
            "verifiers": [{"kind": v.kind, **v.params} for v in self.verifiers],
            "fact": self.fact,
        }
        kept = {name: value for name, value in raw.items() if value}
        return kept if self.kind == "own" else {**kept, "kind": self.kind}

    @classmethod
    def from_dict(cls, raw: object) -> Expectation:
        """Return the expectation of its JSON form.

        Raises:
            DataError: no object, an unknown key (the nearest known one is named), a value of another type,
                or a broken verifier.
        """
        if not isinstance(raw, Mapping):
            raise DataError(
                f"'expect' is {type(raw).__name__}: expected an object with any_of or none_of"
            )
        valid = ("any_of", "none_of", "verifiers", "kind", "fact")
        for key in raw:
            if key not in valid:
                raise DataError(
                    f"'expect' has the key {key!r}{did_you_mean(str(key), valid)}: expected some of "
                    f"{', '.join(valid)}"
                )
        try:
            verifiers = tuple(map(VerifierSpec.from_dict, _listed(raw, "verifiers")))
        except CatalogError as error:
            raise DataError(f"'expect.verifiers': {error}") from None
        texts = {name: tuple(map(_text, _listed(raw, name))) for name in ("any_of", "none_of")}
        return cls(
            **texts, verifiers=verifiers, kind=raw.get("kind", "own"), fact=raw.get("fact", "")
        )


def _listed(raw: Mapping[str, Any], name: str) -> list[Any]:
    value = raw.get(name, [])
    if not isinstance(value, list):
        raise DataError(f"'expect.{name}' is {type(value).__name__}: expected a list")
    return value


def _text(value: object) -> str:
    if (
        isinstance(value, bool)
        or not isinstance(value, str | int | float)
        or not str(value).strip()
    ):
        raise DataError(f"'expect' holds {value!r}: expected a word, a phrase or a number")
    return str(value)
