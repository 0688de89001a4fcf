"""`language` on sentences whose language is known: how often it decides, and how often rightly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

from gatt.verifiers.language.rule import LANGUAGES, Language
from tests.support.texts.translated_sentences import half_of, translated_sentences

pytest.importorskip("django", reason="needs Django's translation catalogues")

MIN_PRECISION = 0.995
MIN_COVERAGE = 0.95
NEAREST = {
    "fr": ["it"], "es": ["pt"], "de": ["nl"], "it": ["es"], "pt": ["es"], "nl": ["de"],
    "sv": ["nb"], "da": ["nb"], "nb": ["da"], "fi": ["sv"], "pl": ["cs"], "cs": ["pl"],
    "ro": ["it"], "hu": ["tr"], "tr": ["hu"], "el": ["ru"], "ru": ["el"], "zh": ["ja"],
    "ja": ["zh"], "ko": ["ja"], "en": ["nl"],
}  # fmt: skip


def _half(name: str) -> dict[str, list[str]]:
    found = {code: [s for s in listed if half_of(s) == name]
             for code, listed in translated_sentences().items()}  # fmt: skip
    assert all(len(listed) >= 50 for listed in found.values())
    return found


def _judged(asked: str, sentences: Iterable[str]) -> Counter[str]:
    verifier = Language(language=asked)
    return Counter(verifier.check(sentence).status for sentence in sentences)


def _hold_the_bar(others_of: dict[str, list[str]]) -> None:
    """Judge the sentences as themselves and as others; show the counts of each language on a failure."""
    half = _half("test")
    own = {code: _judged(code, half[code]) for code in LANGUAGES}
    others = {
        code: sum((_judged(other, half[code]) for other in others_of[code]), Counter())
        for code in LANGUAGES
    }
    total, foreign = sum(own.values(), Counter()), sum(others.values(), Counter())
    decided = total["pass"] + total["fail"]
    # Every pass of another language is one too many of that language's own passes.
    assert total["pass"] / (decided + foreign["pass"]) >= MIN_PRECISION, (own, others)
    assert decided / total.total() >= MIN_COVERAGE, (own, others)


def test_precision_and_coverage_from_five_words_on() -> None:
    _hold_the_bar(NEAREST)


@pytest.mark.integration
def test_no_language_passes_for_any_other() -> None:
    _hold_the_bar({code: [o for o in LANGUAGES if o != code] for code in LANGUAGES})


@pytest.mark.parametrize("code", [c for c in LANGUAGES if c != "en"])
def test_english_never_passes_for_another_language(code: str) -> None:
    verifier = Language(language=code)
    sentences = translated_sentences()["en"]
    assert [s for s in sentences if verifier.check(s).status == "pass"] == []
