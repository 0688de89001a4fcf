"""How a term is found in a reply: whole words, any case, accents, simple inflection."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from annotated_types import MinLen

from gatt.verifiers.text.folding import fold, fold_text
from gatt.verifiers.text.inflection import inflections, plurals
from gatt.verifiers.text.words import CJK

# A Latin term may stand between Han characters, which are word characters as well.
LEFT = rf"(?<![^\W{CJK}])"
RIGHT = rf"(?![^\W{CJK}])"
_GAP = r"[\s\-]+"
# "check-up" is also written "check up" and "checkup"; "bus stop" is never "busstop".
_HYPHEN = r"[\s\-]*"
_POSSESSIVE = r"(?:'s|')?"
_INFLECTED = re.compile(r"[a-z]{3,}")


@dataclass(frozen=True, slots=True)
class Hit:
    """One occurrence of a term in a reply."""

    text: str
    span: tuple[int, int]


class TermMatcher:
    """Finds the occurrences of any of some terms; as the type of a rule's parameter, made of a list of texts.

    Case, accents and markdown emphasis make no difference. A term is found at
    word boundaries only ("art" is not in "start"), CJK terms anywhere. A
    single English word is also found in its plural, possessive, -ing, -ed and
    -er forms and its irregular past; "hiking" also as "hike"; a capitalised
    term (a name) in its plural and possessive only. In terms of several words
    any white space or hyphen parts the words (where the term has a hyphen,
    nothing may as well), and the last may stand in the plural, or in all its
    forms if it ends in -ing. Inflection knows English alone: of other languages
    a term has to name the forms that count, but for a plural in -s.

    Args:
        terms: what is looked for.
        adjectives: words that may stand behind the "my" or "our" that a term begins with; either
            is then found for the other.
    """

    def __init__(self, terms: Iterable[str], adjectives: Iterable[str] = ()) -> None:
        self.terms = tuple(terms)
        if not all(map(str.strip, self.terms)):
            raise ValueError(f"is {list(self.terms)!r}: expected texts that are not blank")
        self._adjectives = "|".join(map(re.escape, adjectives))

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        texts = handler.generate_schema(tuple[str, ...])
        return core_schema.no_info_after_validator_function(cls, texts)

    def __len__(self) -> int:
        return len(self.terms)

    def __str__(self) -> str:
        """Return the first terms, as evidence shows them."""
        return ", ".join(self.terms[:4]) + (", …" if len(self.terms) > 4 else "")

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        """The pattern of all terms, compiled at first use.

        A catalogue builds hundreds of matchers and a run uses a few of them. The
        classes at the edges are dear to compile, hence stand once a group.
        """
        groups: dict[tuple[str, str], set[str]] = {}
        for term in self.terms:
            left, body, right = _pattern(term)
            owner, gap, thing = body.partition(_GAP)
            if self._adjectives and gap and owner in ("my", "our"):
                body = f"(?:my|our){_GAP}(?:(?:{self._adjectives}){_GAP})?{thing}"
            groups.setdefault((left, right), set()).add(body)
        patterns = [
            f"{left}(?:{'|'.join(sorted(bodies, key=lambda b: (-len(b), b)))}){right}"
            for (left, right), bodies in sorted(groups.items())
        ]
        return re.compile("|".join(patterns) if patterns else r"(?!)")

    def hits(self, reply: str) -> list[Hit]:
        """Return all occurrences in order; they do not overlap."""
        return list(self._found(reply))

    def first(self, reply: str) -> Hit | None:
        """Return the first occurrence, if there is one."""
        return next(self._found(reply), None)

    def _found(self, reply: str) -> Iterator[Hit]:
        folded = fold(reply)
        for match in self._regex.finditer(folded.text):
            start, end = folded.span(*match.span())
            yield Hit(reply[start:end], (start, end))


Terms = Annotated[TermMatcher, MinLen(1)]
"""A parameter with at least one term."""
NO_TERMS = TermMatcher(())


def _pattern(term: str) -> tuple[str, str, str]:
    """Return what stands left of a term, the term in its forms, and what stands right."""
    folded = fold_text(term).strip() or term.strip()
    bare = folded.strip("-") or folded
    parts = re.split(_GAP, bare) if bare.strip("-") else [bare]
    gaps = [_HYPHEN if "-" in gap else _GAP for gap in re.findall(_GAP, bare)]
    last = parts[-1]
    if _INFLECTED.fullmatch(last):
        is_name = term.strip()[:1].isupper()
        is_verb = len(parts) == 1 or last.endswith("ing")
        forms = inflections(last) if is_verb and not is_name else plurals(last)
        ending = f"(?:{'|'.join(sorted(forms, key=len, reverse=True))}){_POSSESSIVE}"
    else:
        ending = re.escape(last) + (_POSSESSIVE if last.isalpha() and last.isascii() else "")
    body = "".join(re.escape(p) + g for p, g in zip(parts[:-1], gaps, strict=False)) + ending
    left = LEFT if _needs_boundary(folded[0]) else ""
    right = RIGHT if _needs_boundary(folded[-1]) else ""
    return left, body, right


def _needs_boundary(character: str) -> bool:
    return character.isalnum() and not re.match(f"[{CJK}]", character)
