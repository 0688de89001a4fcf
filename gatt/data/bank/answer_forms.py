"""The right and wrong answers of a row, written out: a number, a word or an order in all languages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final

from gatt.errors import CatalogError
from gatt.runs.suggest import did_you_mean

_SEPARATORS: Final = (
    "{} {}",
    "{}, {}",
    "{},{}",
    "{} < {}",
    "{}<{}",
    "{} > {}",
    "{}、{}",
    "{} → {}",
    "{} -> {}",
)
_ANDS: Final = (
    "and",
    "et",
    "y",
    "und",
    "e",
    "en",
    "och",
    "og",
    "ja",
    "i",
    "a",
    "și",
    "és",
    "ve",
    "και",
    "и",
    "和",
)


class AnswerForms:
    """Writes the answers of a row out.

    Args:
        words: name of a meaning -> language -> words, parted by a slash.
        numbers: `words`: number -> words in all languages; `wrong`: number -> texts that look like it.
    """

    KEYS: ClassVar = ("number", "words", "sequence", "says", "any_of", "not_words", "none_of")

    def __init__(self, words: Mapping[str, Any], numbers: Mapping[str, Any]) -> None:
        self._words = words
        self._numbers = numbers

    def read(self, place: str, row: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the right and the wrong answers of a row.

        Raises:
            CatalogError: no right answer, or a word that `words.yaml` does not have.
        """
        right = [str(text) for text in row.get("any_of", [])]
        wrong = [str(text) for text in row.get("none_of", [])]
        if "number" in row:
            right += self._number(place, row["number"])
            wrong += self._numbers["wrong"].get(str(row["number"]), [])
        for name in row.get("words", []):
            right += self._word(place, name)
        for name in row.get("not_words", []):
            wrong += self._word(place, name)
        if "sequence" in row:
            right += _orders([str(item) for item in row["sequence"]])
        if "says" in row:
            right += self._word(place, f"says-{row['says']}")
            wrong += self._word(place, "says-no" if row["says"] == "yes" else "says-yes")
        if not right:
            raise CatalogError(
                f"{place}: no right answer: expected some of {', '.join(self.KEYS[:5])}"
            )
        return tuple(dict.fromkeys(right)), tuple(dict.fromkeys(wrong))

    def _word(self, place: str, name: str) -> list[str]:
        if name not in self._words:
            raise CatalogError(
                f"{place}: no word {name!r} in words.yaml{did_you_mean(str(name), self._words)}"
            )
        texts = self._words[name].values()
        return list(dict.fromkeys(word.strip() for text in texts for word in str(text).split("/")))

    def _number(self, place: str, number: object) -> list[str]:
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise CatalogError(f"{place}: number is {number!r}: expected a number")
        digits = [str(number)]
        if isinstance(number, int) and number >= 1000:
            digits += [f"{number:,}".replace(",", sign) for sign in (",", ".", " ")]
        return [*digits, *self._numbers["words"].get(str(number), [])]


def _orders(items: list[str]) -> Iterable[str]:
    """Yield the items in this order, parted in the usual ways, with "and" before the last or without."""
    for separator in _SEPARATORS:
        joined = items[0]
        for item in items[1:]:
            joined = separator.format(joined, item)
        yield joined
    head = ", ".join(items[:-1])
    for word in _ANDS:
        yield f"{head} {word} {items[-1]}"
    yield f"{head}, and {items[-1]}"
