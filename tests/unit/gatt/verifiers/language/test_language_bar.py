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


def _line(code: str, own: Counter[str], others: Counter[str]) -> str:
    num, decided = own.total(), own.total() - own["undecided"]
    return (
        f"{code}: {num} sentences, coverage {decided / num:.3f}, precision "
        f"{own['pass'] / max(decided, 1):.4f}; as another language: {others['pass']} passes in "
        f"{others.total()}, {others['undecided']} undecided"
    )


def _bar(half: dict[str, list[str]], others_of: dict[str, list[str]]) -> tuple[float, float, str]:
    """Return precision and coverage over the sentences as themselves and as others, and a table."""
    all_own: Counter[str] = Counter()
    all_others: Counter[str] = Counter()
    lines = []
    for code in LANGUAGES:
        own = _judged(code, half[code])
        others: Counter[str] = sum((_judged(o, half[code]) for o in others_of[code]), Counter())
        lines.append(_line(code, own, others))
        all_own += own
        all_others += others
    decided = all_own["pass"] + all_own["fail"]
    # Every pass of another language is one too many of that language's own passes.
    precision = all_own["pass"] / (decided + all_others["pass"])
    coverage = decided / all_own.total()
    lines.append(_line("all", all_own, all_others))
    return precision, coverage, "\n".join(lines)


def test_precision_and_coverage_from_five_words_on() -> None:
    precision, coverage, table = _bar(_half("test"), NEAREST)
    assert precision >= MIN_PRECISION, table
    assert coverage >= MIN_COVERAGE, table


@pytest.mark.integration
def test_no_language_passes_for_any_other() -> None:
    everyone = {code: [o for o in LANGUAGES if o != code] for code in LANGUAGES}
    precision, coverage, table = _bar(_half("test"), everyone)
    assert precision >= MIN_PRECISION, table
    assert coverage >= MIN_COVERAGE, table


@pytest.mark.parametrize("code", [c for c in LANGUAGES if c != "en"])
def test_english_never_passes_for_another_language(code: str) -> None:
    verifier = Language(language=code)
    sentences = translated_sentences()["en"]
    assert [s for s in sentences if verifier.check(s).status == "pass"] == []
