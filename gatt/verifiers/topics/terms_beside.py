"""Lists of terms of which one each must stand in a sentence, and how evidence shows terms."""

from __future__ import annotations

from collections.abc import Sequence

from gatt.errors import VerifierError
from gatt.verifiers.rule import require_texts
from gatt.verifiers.text.matching import TermMatcher


def groups_of_terms(kind: str, name: str, value: object) -> tuple[TermMatcher, ...]:
    """Return a matcher for each of some lists of terms.

    Raises:
        VerifierError: the value is no list of lists of texts, or a list is empty.
    """
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise VerifierError(f"verifier {kind!r}: {name!r} is {value!r}: expected lists of terms")
    groups = [require_texts(kind, name, group) for group in value]
    if not all(groups):
        raise VerifierError(f"verifier {kind!r}: {name!r} holds an empty list: expected terms")
    return tuple(TermMatcher(group) for group in groups)


def shown(terms: Sequence[str]) -> str:
    """Return some terms as evidence shows them."""
    return ", ".join(terms[:4]) + (", …" if len(terms) > 4 else "")
