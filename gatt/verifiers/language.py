"""`language`: the language that a reply is written in, sentence by sentence."""

from __future__ import annotations

import re
from functools import lru_cache
from threading import Lock
from typing import ClassVar

from lingua import IsoCode639_1, LanguageDetector, LanguageDetectorBuilder
from lingua import Language as LinguaLanguage

from gatt.errors import VerifierError
from gatt.nearest import did_you_mean
from gatt.verifiers.base import Examples, Verdict
from gatt.verifiers.clauses import clauses, num_english_words, without_titles
from gatt.verifiers.markup import prose
from gatt.verifiers.rule import Rule, quote
from gatt.verifiers.sentence_split import sentences
from gatt.verifiers.words import is_letter, spaceless_characters, word_spans, words

LANGUAGES: dict[str, str] = {
    "fr": "French", "es": "Spanish", "de": "German", "it": "Italian", "pt": "Portuguese",
    "nl": "Dutch", "sv": "Swedish", "da": "Danish", "nb": "Norwegian", "fi": "Finnish",
    "pl": "Polish", "cs": "Czech", "ro": "Romanian", "hu": "Hungarian", "tr": "Turkish",
    "el": "Greek", "ru": "Russian", "zh": "Chinese", "ja": "Japanese", "ko": "Korean",
    "en": "English",
}  # fmt: skip
"""ISO 639-1 code -> name of every language that can be told apart."""

MIN_WORDS = 3
MIN_SPACELESS_CHARACTERS = 4
MIN_CONFIDENCE = 0.6
MIN_FOREIGN_CONFIDENCE = 0.5
# A window cut out of a sentence says less than a sentence does.
MAX_WINDOW_RIVAL_CONFIDENCE = 0.2
MIN_PIECE_WORDS = 4
WINDOW_WORDS = 8
MAX_FOREIGN_SHARE = 0.22
MAX_FOREIGN_SCRIPT_SHARE = 0.35
MAX_RIVAL_CONFIDENCE = 0.35
SHORT_LETTERS = 60
MIN_SHORT_CONFIDENCE = 0.85
# The detector may waver about which wrong language it is; that it is wrong is then sure. Short
# right replies ("Este o idee bună.") go down to 0.02.
NEGLIGIBLE_CONFIDENCE = 0.01
# The same where English function words say so too.
MAX_ENGLISH_RIVAL_CONFIDENCE = 0.1

_SCRIPTS = {"el": "greek", "ru": "cyrillic", "zh": "han", "ja": "japanese", "ko": "hangul"}
_SCRIPT_RANGES = {
    "latin": "A-Za-zÀ-ɏḀ-ỿ",
    "greek": "Ͱ-Ͽἀ-῿",
    "cyrillic": "Ѐ-ӿ",
    "han": "\u3400-\u4dbf\u4e00-\u9fff",
    "japanese": "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff々",
    "hangul": "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af",
}
_SCRIPT = {name: re.compile(f"[{ranges}]") for name, ranges in _SCRIPT_RANGES.items()}
# German writes every noun with a capital: taking these for names would leave little.
_CAPITALISES_NOUNS = "de"
# With a comma or a cedilla below these letters, the detector takes Romanian for Spanish.
_PLAIN_ROMANIAN = str.maketrans("șțȘȚţŢ", "stSTtT")
_lock = Lock()


@lru_cache(maxsize=1)
def _build_detector() -> LanguageDetector:
    codes = [getattr(IsoCode639_1, code.upper()) for code in LANGUAGES]
    candidates = [LinguaLanguage.from_iso_code_639_1(code) for code in codes]
    # High accuracy takes 470 MB and 7 s to load, low accuracy 40 MB and 0.4 s; from 120
    # characters on the two are the same, and shorter text is `undecided` where it is unsure.
    return LanguageDetectorBuilder.from_languages(*candidates).with_low_accuracy_mode().build()


def detector() -> LanguageDetector:
    """Return the one detector of this process, built at the first call."""
    with _lock:
        return _build_detector()


class Language(Rule):
    """Passes if the reply is written in the language, all of it.

    Code, addresses, emoji, markdown and capitalised names inside a sentence are
    left out first. Fewer than `MIN_WORDS` words (or `MIN_SPACELESS_CHARACTERS`
    Han or kana characters) and text that the detector is unsure of are
    undecided, unless the language asked for is as good as excluded
    (`NEGLIGIBLE_CONFIDENCE`, from `MIN_PIECE_WORDS` words on), which is a fail
    whatever the other language may be. A mix, more than `MAX_FOREIGN_SHARE` of
    the letters in another language, is a fail; sentences are counted first,
    then clauses and quotations, where English function words are evidence too.
    Quoted titles are left out.

    Args:
        language: ISO 639-1 code, one of `LANGUAGES`.

    Raises:
        VerifierError: a code that is none of `LANGUAGES`.
    """

    kind = "language"
    version = 2
    examples: ClassVar[tuple[Examples, ...]] = (
        Examples(
            {"language": "fr"},
            good=(
                "Je pense que le tennis est un très beau sport.",
                "Bien sûr, je peux vous aider ! **Quelle** est votre question ? 😊",
            ),
            bad=(
                "I think that tennis is a very nice sport.",
                "Je pense que oui, bien sûr. But I would rather talk about my dog today.",
                "Creo que el tenis es un deporte muy bonito.",
                "I am Elon Musk, and I'm thrilled to be your AI assistant…",
                "I love the Louvre, c'est magnifique et très beau.",
            ),
        ),
        Examples(
            {"language": "ja"},
            good=("今日はとてもいい天気ですね。", "はい、私は寿司が大好きです。"),
            bad=("今天天气很好，我们去公园吧。", "It is a lovely day, is it not?"),
        ),
    )

    def __init__(self, *, language: str) -> None:
        if language not in LANGUAGES:
            hint = did_you_mean(language, LANGUAGES)
            raise VerifierError(
                f"verifier {self.kind!r}: unknown language {language!r}{hint} "
                f"(known ISO 639-1 codes: {', '.join(sorted(LANGUAGES))})"
            )
        self._code = language
        self._name = LANGUAGES[language]
        self._script = _SCRIPT[_SCRIPTS.get(language, "latin")]

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        text = prose(reply)
        without = without_titles(text)
        text = without if len(words(without)) >= MIN_WORDS else text
        if self._code != _CAPITALISES_NOUNS:
            text = _without_names(text)
        num_words, num_spaceless = len(words(text)), spaceless_characters(text)
        if num_words < MIN_WORDS or 0 < num_spaceless == num_words < MIN_SPACELESS_CHARACTERS:
            return self.undecided(f"only {num_words} words: too short to tell the language")
        script_share = self._foreign_script_share(text)
        if script_share > MAX_FOREIGN_SCRIPT_SHARE:
            return self.failed(f"{script_share:.0%} in a script that {self._name} does not use")
        found, confidence, own = self._detect(text)
        # On short text the detector is sure too easily; what it doubts is undecided.
        is_short = _weight(text) < SHORT_LETTERS
        enough = MIN_SHORT_CONFIDENCE if is_short else MIN_CONFIDENCE
        if found != self._code and confidence >= enough:
            return self.failed(f"{LANGUAGES[found]}, not {self._name} ({confidence:.2f})")
        if own < NEGLIGIBLE_CONFIDENCE and confidence > 0 and _is_connected(text):
            return self.failed(f"not {self._name} ({own:.2f}), more like {LANGUAGES[found]}")
        share, piece, other = self._foreign_share(text)
        if share <= MAX_FOREIGN_SHARE:
            share, piece, other = self._foreign_clause_share(text)
        if share > MAX_FOREIGN_SHARE:
            start = reply.find(piece)
            span = (start, start + len(piece)) if start >= 0 else None
            return self.failed(f"a mix: {quote(piece)} is {LANGUAGES[other]}", span)
        if own < MIN_CONFIDENCE:
            return self.undecided(
                f"perhaps {LANGUAGES.get(found, 'none known')} ({confidence:.2f})"
            )
        return self.passed(f"{self._name} ({own:.2f})")

    def _detect(self, text: str) -> tuple[str, float, float]:
        """Return the likeliest code, its confidence, and that of the asked language."""
        values = detector().compute_language_confidence_values(self._plain(text))
        scores = {v.language.iso_code_639_1.name.lower(): v.value for v in values}
        best = max(scores, key=lambda code: scores[code])
        return best, scores[best], scores[self._code]

    def _plain(self, text: str) -> str:
        text = text.translate(_PLAIN_ROMANIAN)
        # Turkish has the cedilla of its own.
        return text.replace("ş", "s").replace("Ş", "S") if self._code == "ro" else text

    def _foreign_script_share(self, text: str) -> float:
        own = "".join(self._script.findall(text))
        total = _weight(text)
        return 1 - _weight(own) / total if total else 1.0

    def _foreign_share(self, text: str) -> tuple[float, str, str]:
        """Return the share of letters in another language, and the first such piece.

        A text of one piece is no mix; its language is what it was found to be.
        """
        foreign = total = 0
        first = other = ""
        pieces = _pieces(text)
        if len(pieces) == 1:
            return 0.0, "", ""
        for piece, is_window in pieces:
            size = _weight(piece)
            total += size
            found, confidence, own = self._detect(piece)
            if (
                found != self._code
                and confidence >= MIN_FOREIGN_CONFIDENCE
                and own < (MAX_WINDOW_RIVAL_CONFIDENCE if is_window else MAX_RIVAL_CONFIDENCE)
            ):
                foreign += size
                first, other = (first, other) if first else (piece, found)
        return (foreign / total if total else 0.0), first, other

    def _foreign_clause_share(self, text: str) -> tuple[float, str, str]:
        """Return the share of letters in clauses of another language, and the first of these."""
        parts = clauses(text)
        foreign = 0
        first = other = ""
        for part in parts:
            found = self._foreign_clause(part, is_alone=len(parts) == 1)
            if found:
                foreign += _weight(part)
                first, other = (first, other) if first else (part, found)
        total = sum(map(_weight, parts))
        return (foreign / total if total else 0.0), first, other

    def _foreign_clause(self, clause: str, *, is_alone: bool) -> str:
        """Return the code of the other language that a clause is in, or nothing."""
        num_words = len(words(clause))
        num_english = num_english_words(clause) if self._code != "en" else 0
        found, confidence, own = self._detect(clause)
        if num_english and (
            own < MAX_ENGLISH_RIVAL_CONFIDENCE or (num_english > 1 and 3 * num_english >= num_words)
        ):
            return "en"
        is_sure = confidence >= MIN_SHORT_CONFIDENCE and own < NEGLIGIBLE_CONFIDENCE
        is_other = found != self._code and is_sure and num_words >= MIN_PIECE_WORDS
        return found if is_other and not is_alone else ""


def _weight(text: str) -> int:
    """Return the letters of a text; a Han or kana character stands for three, Hangul for two."""
    num_hangul = len(_SCRIPT["hangul"].findall(text))
    return sum(map(is_letter, text)) + 2 * spaceless_characters(text) + num_hangul


def _is_connected(text: str) -> bool:
    """Whether a text is more than a list of single words, which are often the same everywhere."""
    lengths = [sum(any(map(is_letter, w)) for w in words(part)) for part in clauses(text)]
    return sum(lengths) >= MIN_PIECE_WORDS and max(lengths) >= MIN_WORDS


def _pieces(text: str) -> list[tuple[str, bool]]:
    """Return sentences, the long ones in windows (True), the very short ones left out."""
    pieces = []
    for sentence in sentences(text):
        spans = word_spans(sentence)
        if len(spans) < MIN_PIECE_WORDS:
            continue
        num_windows = max(1, round(len(spans) / WINDOW_WORDS))
        if spaceless_characters(sentence):
            num_windows = 1
        for window in range(num_windows):
            first = window * len(spans) // num_windows
            last = (window + 1) * len(spans) // num_windows - 1
            piece = sentence[spans[first][0] : spans[last][1]]
            pieces.append((piece, num_windows > 1))
    return pieces


def _without_names(text: str) -> str:
    """Return the text without capitalised words inside sentences, if much is left then."""
    kept, names = [], []
    end = 0
    spans = word_spans(text)
    for left, right in spans:
        word = text[left:right]
        before = text[end:left].strip(" \t,\"'“”«»()")
        is_inside = end > 0 and not before and "\n" not in text[end:left]
        if is_inside and word[0].isupper() and len(word) > 1 and word[1] not in "'’":
            names.append(word)
            kept.append(text[end:left])
        else:
            kept.append(text[end:right])
        end = right
    kept.append(text[end:])
    return text if 2 * len(names) > len(spans) else "".join(kept)
