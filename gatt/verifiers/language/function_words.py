"""Words and letters that give a language away, read from `languages.yaml`."""

from __future__ import annotations

from gatt.verifiers.phrases import read_phrases

_LISTED = read_phrases("languages")

FUNCTION_WORDS: dict[str, frozenset[str]] = {
    code: frozenset(words.split()) for code, words in _LISTED["function_words"].items()
}
"""ISO 639-1 code -> words in small letters, with the accents that they are spelt with."""
LETTERS: dict[str, frozenset[str]] = {
    c: frozenset(found) for c, found in _LISTED["letters"].items()
}
"""ISO 639-1 code -> letters beyond a to z that its own words are spelt with."""
