"""Which constraints of SEQUOR our rules decide: the patterns of `sequor_rules.yaml`.

The constraints are one English sentence each ("Write two paragraphs"). A pattern matches
only if a verifier decides everything that the sentence asks for: "Write two funny
paragraphs" matches no pattern and goes to the judge. Three readings are wider than a strict
one: numbered items count as bullets, the case and closing punctuation of a sentence to
begin or end with do not count ("Sure Thing!"), and one emoji is enough for "emojis". A
marker ("[END]", "AI:") counts with its case and marks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from gatt.runs.yaml_file import read_mapping
from gatt.verifiers.language.rule import LANGUAGES
from gatt.verifiers.spec import VerifierSpec

PATTERNS_FILE: Final = Path(__file__).with_suffix(".yaml")
_NUMBER_WORDS: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
)
_NUMBERS: Final[Mapping[str, int]] = {
    **{word: number for number, word in enumerate(_NUMBER_WORDS.split())},
    **dict.fromkeys(("a", "single", "a single"), 1),
}
_CODES: Final = {name.casefold(): code for code, name in LANGUAGES.items()}
_PROSE: Final = re.compile(r"\w(?:(?!_)[\w\s.,!?'’-])*(?<![\s,'’-])")
"""A text with no other marks than plain sentences have: a reply needs none of its marks."""

Specs = tuple[VerifierSpec, ...]


@cache
def rules_for(text: str) -> Specs:
    """Return the verifiers that decide a constraint, none if only a judge can decide it."""
    sentence = " ".join(text.split()).rstrip(".! ") or text
    for pattern, reading in _patterns():
        found = pattern.fullmatch(sentence) or pattern.fullmatch(text.strip())
        if found and (spec := _read(found, reading)):
            return (spec,)
    return ()


@cache
def _patterns() -> list[tuple[re.Pattern[str], Any]]:
    table = read_mapping(PATTERNS_FILE).values
    parts = {"NUMBER": "|".join(sorted(_NUMBERS, key=len, reverse=True))}

    def filled(pattern: str) -> str:
        return re.sub(r"\{([A-Z_]+)\}", lambda name: parts[name[1]], pattern)

    for name, part in table["parts"].items():
        parts[name] = filled(part)
    return [(re.compile(filled(text), re.IGNORECASE), how) for text, how in table["patterns"]]


def _read(match: re.Match[str], reading: Any) -> VerifierSpec | None:
    """Return the verifier of a match; None if the sentence asks for something impossible."""
    found = match.groupdict()
    if isinstance(reading, Mapping):
        return VerifierSpec.from_dict(reading)
    if reading == "language":
        code = _CODES.get(found["language"].casefold())
        return VerifierSpec("language", {"language": code}) if code else None
    if reading == "keys":
        names = re.split(r",\s*(?:and\s+)?|\s+and\s+", found["keys"])
        keys = [name.strip(" \"'“”‘’`") for name in names]
        return VerifierSpec("json_object", {"keys": keys}) if all(keys) else None
    if found.get("n"):
        return _counted(found, reading)
    quoted = (found["double"] or found["single"] or found["square"]).strip()
    is_prose = _PROSE.fullmatch(quoted) is not None
    if reading == "phrase":
        # The kind `terms` compares words only, so it would drop the marks of a marker.
        return VerifierSpec("terms", {"all_of": [quoted]}) if is_prose else None
    return VerifierSpec(reading, {"any_of": [quoted], **({} if is_prose else {"exact": True})})


def _counted(found: Mapping[str, str], reading: str) -> VerifierSpec | None:
    kind = re.sub("[ -]point", "", found["unit"].casefold()) + "s"
    number, last = (_number(found.get(name) or found["n"]) for name in ("n", "m"))
    low, high = {
        "between": (number, last),
        "at_most": (1 if kind == "bullets" else None, number),
        "under": (None, number - 1),
        "at_least": (number, None),
        "over": (number + 1, None),
    }[reading]
    if high is not None and high < (low or 1):
        return None
    bounds = {"min": low, "max": high}
    return VerifierSpec(kind, {name: n for name, n in bounds.items() if n is not None})


def _number(text: str) -> int:
    word = text.casefold().replace(",", "")
    return _NUMBERS[word] if word in _NUMBERS else int(word)
