"""Filters that refuse a sampled reply whatever its instruction is, and their settings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from data_synth.instruction_talk import mentions_instruction
from gatt.data.instruction import Instruction
from gatt.errors import ConfigError
from gatt.generation.base import FinishReason
from gatt.verifiers.text.degenerate import degenerate
from gatt.verifiers.text.repetition import repeated_share
from gatt.verifiers.text.words import spaceless_characters, words


@dataclass(frozen=True, kw_only=True)
class QualityConfig:
    """Which replies are refused as targets, whatever the verifiers say.

    Empty replies and replies cut by the length limit are always refused; every other
    filter can be switched off.

    Raises:
        ConfigError: a value out of its range.
    """

    degenerate: bool = True
    """Refuse loops, random characters and texts without words. Verifiers refuse these too, but plain
    dialogues have no verifiers."""
    repeated_share: float | None = 0.25
    """Refuse replies in which this share of phrases (three words, in scripts without spaces a few
    characters) occurred before; null refuses none. Lists and code are judged by whole lines."""
    clipped: bool = True
    """Refuse replies that break off: an open quotation or bracket, a comma or "and" at the end."""
    mentions_instruction: bool = True
    """Refuse replies that talk about the instruction or the brief, or repeat them."""
    says_ai: bool = True
    """Refuse replies under an instruction in which the speaker calls itself an AI or a language model."""
    repeats_prompt: bool = True
    """Refuse replies that repeat a message of the dialogue word for word."""
    near_duplicate: float | None = 0.8
    """Refuse a reply that overlaps by this share (Jaccard index of character n-grams, without what
    the instruction itself prescribes) with another target of its sample; null refuses none. A reply of
    at most four words ("Of course.") may occur twice."""

    def __post_init__(self) -> None:
        for name in ("repeated_share", "near_duplicate"):
            value = getattr(self, name)
            if value is not None and not 0 < value <= 1:
                raise ConfigError(f"{name} is {value}: expected a share in (0, 1], or null")


@dataclass(frozen=True, slots=True)
class Draw:
    """A sampled reply without outer white space, and its context."""

    text: str
    finish: FinishReason
    instruction: Instruction | None
    """The instruction in force; None in a plain dialogue."""
    brief: str | None = None
    """Text that the teacher also reads with every message."""
    told: tuple[str, ...] = ()
    """Messages of the dialogue up to and including the question."""


_FORMS = frozenset({"ends_with", "json_object", "wrapped"})
"""Verifiers that judge the end of a reply themselves."""
_OPEN_END = re.compile(r"(?:[,，、،(\[{（「『„]|(?<![\W_])[:：])$")
_LAST_WORD = re.compile(r"(?<!\S)([^\W\d_]+)$")
# Words that end no reply in their language, nor in any of the other languages here. Prepositions
# are left out: "something to look forward to" is a proper ending.
_DANGLING = frozenset({
    "and", "or", "the", "an", "my", "your", "our", "their", "because", "although", "whose",
    "et", "les", "aux", "parce", "und", "weil", "dass", "pero", "porque", "los", "gli", "della",
})  # fmt: skip
# A sad face is no bracket, inches and seconds are no quotation mark, "1)" opens nothing.
_NO_MARK = re.compile(r"[:;=8xX]['’]?-?[(\[{]+|(?<=\d)[\"”]|\\[\"({\[]")
_PAIRS = (("(", ")"), ("[", "]"), ("{", "}"), ("“", "”"), ("«", "»"), ("「", "」"), ("『", "』"))


def is_clipped(draw: Draw) -> bool:
    """Whether the reply breaks off: a comma, an open bracket or quotation, or "and" at its end.

    Only impossible endings count: in a chat a reply may end without a full stop. The
    verifiers of an instruction that asks for a form judge that form themselves.
    """
    instruction = draw.instruction
    if instruction and any(v.kind in _FORMS for v in instruction.verifiers):
        return False
    bare = _NO_MARK.sub(" ", draw.text)
    if _OPEN_END.search(bare):
        return True
    last = _LAST_WORD.search(draw.text)
    # A dangling word is in lower case, unlike in "Vitamin A".
    if last and last[1] in _DANGLING:
        return True
    return _has_open_pair(bare)


def _has_open_pair(bare: str) -> bool:
    if bare.count("```") % 2:
        return True
    if any(
        bare.count(opening) > bare.count(closing)
        for opening, closing in _PAIRS
        # “ opens a quotation in English and closes one in German.
        if not (opening == "“" and "„" in bare)
    ):
        return True
    low = bare.count("„")
    if low:
        return low > bare.count("“") + bare.count("”") + bare.count('"')
    return bare.count('"') % 2 == 1 and "”" not in bare


FILTERS_VERSION = 3
"""Raised by one with every change that can change which replies are refused."""

NO_ROOM = "context_limit"
"""Reason if the teacher's context has no room for prompt and reply."""
_WORD = re.compile(r"\w+")
_SAYS_AI = re.compile(
    r"\bas an? (?:ai|a\.i\.|artificial|(?:large )?language model|virtual assistant|digital assistant)\b"
    r"|\bi(?: am|['’]m) (?:just |only )?an? (?:[\w-]+ ){0,2}(?:ai|artificial intelligence|language model)\b"
    r"|\ben tant qu(?:e |['’])(?:ia|intelligence artificielle|modèle)\b|\bals (?:ki|sprachmodell)\b"
    r"|\bcomo (?:un |una |um |uma )?(?:ia|modelo de l|inteligencia artificial|inteligência artificial)"
    r"|\bcome (?:un |una )?(?:ia|modello|intelligenza artificiale)\b",
    re.IGNORECASE,
)


def repeats_prompt(draw: Draw) -> bool:
    """Whether the reply is the question or an earlier message, apart from case and punctuation."""
    reply = _plain(draw.text)
    # Much longer messages cannot be equal: skipping them saves the split into words.
    longest = 2 * len(draw.text) + 8
    return any(_plain(message) == reply for message in draw.told if len(message) <= longest)


@lru_cache(maxsize=8192)
def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def says_ai(draw: Draw) -> bool:
    """Whether the speaker calls itself an AI. In a plain dialogue it may."""
    return draw.instruction is not None and bool(_SAYS_AI.search(draw.text))


def _is_repetitive(draw: Draw, quality: QualityConfig) -> bool:
    most = quality.repeated_share
    return most is not None and repeated_share(draw.text) >= most


FILTERS: Final[dict[str, Callable[[Draw, QualityConfig], bool]]] = {
    "cut": lambda draw, _: draw.finish == "length",
    NO_ROOM: lambda draw, _: draw.finish == NO_ROOM,
    "content_filter": lambda draw, _: draw.finish == "content_filter",
    "unanswered": lambda draw, _: draw.finish == "unanswered",
    "blank": lambda draw, _: not draw.text,
    "degenerate": lambda draw, quality: quality.degenerate and bool(degenerate(draw.text)),
    "repetitive": _is_repetitive,
    "mentions_instruction": lambda draw, quality: (
        quality.mentions_instruction
        and mentions_instruction(draw.text, draw.instruction, draw.brief)
    ),
    "says_ai": lambda draw, quality: quality.says_ai and says_ai(draw),
    "repeats_prompt": lambda draw, quality: quality.repeats_prompt and repeats_prompt(draw),
    "clipped": lambda draw, quality: quality.clipped and is_clipped(draw),
}
"""Each reason to refuse a draw that depends on the draw alone, in the order in which they are tried."""

REASONS: Final = {
    "cut": "the length limit cut the reply",
    NO_ROOM: "the end of the teacher's context cut the reply, or left no room for one",
    "content_filter": "the server's content filter withheld the reply",
    "unanswered": "the server had no reply, try after try",
    "blank": "the reply is empty",
    "degenerate": "loops, repeats or holds no words",
    "repetitive": "says the same phrases again",
    "mentions_instruction": "talks about the instruction instead of following it",
    "says_ai": "calls itself an AI or a language model",
    "repeats_prompt": "gives the user's message or the history back",
    "clipped": "stops in mid-sentence, though not at the length limit",
    "rejected": "a verifier rejected it",
    "undecided": "a verifier could not tell",
    "leaks": "still follows the instruction that was replaced or taken back",
    "repeats_target": "nearly the same as another target of its sample",
}
"""Meaning of each reason, for the data set card; the last four depend on more than one draw."""


def refuse(draw: Draw, quality: QualityConfig) -> str | None:
    """Return the reason of the first filter that refuses a draw, or None if it may be a target."""
    return next((reason for reason, refuses in FILTERS.items() if refuses(draw, quality)), None)


SHORT_WORDS = 4
SHORT_REPEATS = 2
"""A reply of at most so many words ("Of course.") may occur so often in a sample."""
GRAM_CHARACTERS = 4
"""Characters of an n-gram: works in every script, and tolerates inflection."""
CHARACTERS_PER_WORD = 2
"""Han or kana characters that count as one word."""


def own_words(instructions: Iterable[Instruction | None]) -> tuple[str, ...]:
    """Return the utterances and beginnings of a sample's instructions, see `SampleTargets`."""
    held = (i for i in instructions if i)
    return tuple(dict.fromkeys(w for i in held for w in (*i.utterances, *i.prefills)))


class SampleTargets:
    """Targets of one sample so far.

    Draws are judged by attempt, and within an attempt in the order of the requests, so
    that refusals depend on the sample alone: not on its batch, nor on other workers.

    Args:
        quality: which replies count as the same.
        own_words: what the instruction wants said (utterances, beginnings): it repeats by
            design and is left out of the comparison.
    """

    def __init__(self, quality: QualityConfig, own_words: Sequence[str] = ()) -> None:
        self._limit = quality.near_duplicate
        longest_first = sorted({w.casefold() for w in own_words}, key=lambda w: (-len(w), w))
        self._own = re.compile("|".join(map(re.escape, longest_first))) if own_words else None
        self._short: Counter[str] = Counter()
        self._grams: list[frozenset[str]] = []

    def take(self, text: str) -> bool:
        """Add a target unless it repeats one; return whether it was taken."""
        limit = self._limit
        if limit is None:
            return True
        plain = self._plain(text)
        if _num_words(plain) <= SHORT_WORDS:
            self._short[plain] += 1
            return self._short[plain] <= SHORT_REPEATS
        grams = character_grams(plain)
        if any(is_near(grams, other, limit) for other in self._grams):
            return False
        self._grams.append(grams)
        return True

    def _plain(self, text: str) -> str:
        folded = text.casefold()
        rest = " ".join(words(self._own.sub(" ", folded))) if self._own else ""
        return rest or " ".join(words(folded))


def character_grams(plain: str) -> frozenset[str]:
    """Return the set of character n-grams of a text; a shorter text is its only member."""
    last = len(plain) - GRAM_CHARACTERS
    return frozenset(plain[start : start + GRAM_CHARACTERS] for start in range(max(0, last) + 1))


def is_near(a: frozenset[str], b: frozenset[str], limit: float) -> bool:
    """Whether two sets overlap by at least `limit` of their union (Jaccard)."""
    small, large = sorted((len(a), len(b)))
    if small < limit * large:
        return False
    common = len(a & b)
    return common >= limit * (len(a) + len(b) - common)


def _num_words(plain: str) -> float:
    num_single = spaceless_characters(plain)
    return len(plain.split()) - num_single + num_single / CHARACTERS_PER_WORD
