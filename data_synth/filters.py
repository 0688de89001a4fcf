"""Filters that refuse a sampled reply whatever its instruction is, and their settings.

The patterns of talk about an instruction, by language, stand in `talk.yaml`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final

import yaml

from gatt.data.answers import answers
from gatt.data.catalog.programs import texts_added
from gatt.data.expectation import Expectation
from gatt.data.instruction import Instruction
from gatt.data.reply_facts import added_fact, lost_fact
from gatt.errors import ConfigError
from gatt.generation.base import FinishReason
from gatt.verifiers.spec import VerifierSpec
from gatt.verifiers.table import build
from gatt.verifiers.text.copying import copy_of
from gatt.verifiers.text.degenerate import degenerate
from gatt.verifiers.text.echo import echoed
from gatt.verifiers.text.folding import fold_text
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
    """Refuse replies that repeat a message of the dialogue word for word, or give the user's message back
    (see `gatt.verifiers.text.copying`)."""
    answers: bool = True
    """Refuse replies that lack what their turn expects (`expect`), such as the answer to its question."""
    declines: bool = True
    """Refuse replies that decline a message which does not ask for what the instruction forbids (rule
    `declines`, English): rewritten ones where the own reply declines nothing, and drawn ones under an
    instruction that forbids something."""
    keeps_facts: bool = True
    """Refuse rewritten replies that lose a number, name, link or code of the own reply, or add one."""
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
    expect: Expectation | None = None
    """What the question's reply must hold; None: nothing that a rule could check."""
    own: str | None = None
    """The dialogue's own reply, whose facts the draw must hold; None where it may say anything."""


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


FILTERS_VERSION = 6
"""Raised by one with every change that can change which replies are refused."""

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
    """Whether the reply is an earlier message, apart from case and punctuation, or a copy of the question.

    Where an answer is expected, `is_wrong` tells copies from answers.
    """
    if draw.expect is None and draw.told and copy_of(draw.text, draw.told[-1]):
        return True
    reply = _plain(draw.text)
    # Much longer messages cannot be equal: skipping them saves the split into words.
    longest = 2 * len(draw.text) + 8
    return any(_plain(message) == reply for message in draw.told if len(message) <= longest)


def is_wrong(draw: Draw) -> bool:
    """Whether the reply lacks what its turn expects, as far as rules can tell that it does not."""
    if draw.expect is None:
        return False
    return answers(draw.expect, draw.text, draw.told[-1]).status != "pass"


def declines_ordinary(draw: Draw) -> bool:
    """Whether the reply declines, though nobody asked for what the instruction forbids.

    What declines in the own reply too ("We do not offer instalments") stays. Without an own reply only an
    instruction that forbids something is looked at: others may well be asked for what nobody can do.
    """
    instruction = draw.instruction
    if instruction is None or (draw.expect is not None and draw.expect.kind == "topic"):
        return False
    if draw.own is None and not any(part.asks for part in instruction.parts):
        return False
    return _declines(draw.text) and not (draw.own is not None and _declines(draw.own))


def _declines(text: str) -> bool:
    return build(VerifierSpec("declines")).check(text).status == "pass"


def loses_fact(draw: Draw) -> bool:
    """Whether a rewritten reply lacks a fact of the own one."""
    if draw.own is None:
        return False
    is_translated = _language_of(draw.instruction) not in (None, "en")
    return lost_fact(draw.own, draw.text, is_translated=is_translated) is not None


def adds_fact(draw: Draw) -> bool:
    """Whether a rewritten reply has a fact that neither the own one, the message nor the instruction has."""
    if draw.own is None:
        return False
    allowed = [draw.own, *draw.told[-1:]]
    if instruction := draw.instruction:
        allowed += [instruction.text, *instruction.utterances, *instruction.prefills]
        allowed += [answer for some in instruction.facts.values() for answer in some]
        allowed += texts_added(instruction.programs)
    has_names = _language_of(draw.instruction) not in _NOUN_CAPITALS
    return added_fact(draw.text, allowed, has_names=has_names) is not None


_NOUN_CAPITALS = frozenset({"de", "lb"})
"""Languages in which every noun has a capital."""


def _language_of(instruction: Instruction | None) -> str | None:
    """Return the language that an instruction asks for, None for none."""
    specs = instruction.verifiers if instruction else ()
    return next((str(v.params.get("language")) for v in specs if v.kind == "language"), None)


@lru_cache(maxsize=8192)
def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


FILTERS: Final[dict[str, Callable[[Draw, QualityConfig], bool]]] = {
    "cut": lambda draw, _: draw.finish == "length",
    "context_limit": lambda draw, _: draw.finish == "context_limit",
    "content_filter": lambda draw, _: draw.finish == "content_filter",
    "ended": lambda draw, _: draw.finish == "other",
    "blank": lambda draw, _: not draw.text,
    "degenerate": lambda draw, quality: quality.degenerate and bool(degenerate(draw.text)),
    "repetitive": lambda draw, quality: (
        quality.repeated_share is not None and repeated_share(draw.text) >= quality.repeated_share
    ),
    "mentions_instruction": lambda draw, quality: (
        quality.mentions_instruction
        and mentions_instruction(draw.text, draw.instruction, draw.brief)
    ),
    # In a plain dialogue it may.
    "says_ai": lambda draw, quality: (
        quality.says_ai and draw.instruction is not None and bool(_SAYS_AI.search(draw.text))
    ),
    "repeats_prompt": lambda draw, quality: quality.repeats_prompt and repeats_prompt(draw),
    "clipped": lambda draw, quality: quality.clipped and is_clipped(draw),
    "declines": lambda draw, quality: quality.declines and declines_ordinary(draw),
    "lost_fact": lambda draw, quality: quality.keeps_facts and loses_fact(draw),
    "added_fact": lambda draw, quality: quality.keeps_facts and adds_fact(draw),
    "wrong": lambda draw, quality: quality.answers and is_wrong(draw),
}
"""Each reason to refuse a draw that depends on the draw alone, in the order in which they are tried."""

REASONS: Final = {
    "cut": "the length limit cut the reply",
    "context_limit": "the teacher's context is full (a smaller `teacher.context_turns` or `source.max_turns` "
    "helps)",
    "content_filter": "the server's content filter withheld the reply",
    "ended": "the server ended the reply with that word instead of `stop` (`server.stop_reasons` lets it count "
    "as a whole reply)",
    "blank": "the reply is empty",
    "degenerate": "loops, repeats or holds no words",
    "repetitive": "says the same phrases again",
    "mentions_instruction": "talks about the instruction instead of following it",
    "says_ai": "calls itself an AI or a language model",
    "repeats_prompt": "gives the user's message or the history back",
    "clipped": "stops in mid-sentence, though not at the length limit",
    "declines": "declines, though nobody asked for what the instruction forbids",
    "lost_fact": "lacks a number, name, link or code of the dialogue's own reply",
    "added_fact": "has a number, name, link or code that nobody gave it",
    "wrong": "lacks what its turn expects, or says a wrong answer",
    "rejected": "a verifier rejected it",
    "undecided": "a verifier could not tell",
    "leaks": "still follows the instruction that was replaced or taken back",
    "repeats_target": "nearly the same as another target of its sample",
}
"""Meaning of each reason, for the data set card; the last four depend on more than one draw. Behind `ended`
stands the server's word: `ended:eos`."""


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


class SampleTargets:
    """Targets of one sample so far.

    Draws are judged by attempt, and within an attempt in the order of the requests, so
    that refusals depend on the sample alone: not on its batch, nor on other workers.

    Args:
        quality: which replies count as the same.
        instructions: of the sample. What they want said (utterances, beginnings, texts of a form) repeats by
            design and is left out of the comparison.
    """

    def __init__(
        self, quality: QualityConfig, instructions: Iterable[Instruction | None] = ()
    ) -> None:
        self._limit = quality.near_duplicate
        given = [i for i in instructions if i]
        told = {w.casefold() for i in given for w in (*i.utterances, *i.prefills)}
        told |= {w.casefold() for i in given for w in texts_added(i.programs)}
        longest_first = sorted(told, key=lambda w: (-len(w), w))
        self._own = re.compile("|".join(map(re.escape, longest_first))) if told else None
        self._short: Counter[str] = Counter()
        self._grams: list[frozenset[str]] = []

    def take(self, text: str) -> bool:
        """Add a target unless it repeats one; return whether it was taken."""
        limit = self._limit
        if limit is None:
            return True
        plain = self._plain(text)
        num_single = spaceless_characters(plain)
        num_words = len(plain.split()) - num_single + num_single / CHARACTERS_PER_WORD
        if num_words <= SHORT_WORDS:
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


MIN_LETTERS = 3
"""Of a word that says what an instruction is about."""


def _read_talk() -> tuple[dict[str, list[str]], str, frozenset[str]]:
    """Return the patterns of `talk.yaml` with their parts put in, the part `life`, and the common words."""
    raw: dict[str, Any] = yaml.safe_load(
        files("data_synth").joinpath("talk.yaml").read_text(encoding="utf-8")
    )
    parts: dict[str, str] = {}

    def whole(text: str) -> str:
        joined = "".join(text.splitlines())
        return re.sub("<<([a-z_]+)>>", lambda found: parts[found[1]], joined)

    for name, text in raw.pop("parts").items():
        parts[name] = whole(text)
    common = frozenset(raw.pop("common_words").split())
    return {name: list(map(whole, found)) for name, found in raw.items()}, parts["life"], common


_ALL, _life, _COMMON_WORDS = _read_talk()
_IN_OTHER_SCRIPTS = re.compile("|".join(_ALL.pop("other_scripts")))
_BEFORE_WORDS = (
    (re.compile("|".join(_ALL.pop("before_subject"))), 8),
    (re.compile("|".join(_ALL.pop("before_role"))), 3),
)
"""Talk about the instruction if a word of its subject follows in the sentence, after at most so many others."""
_LIFE = re.compile(_life)
"""Words after a subject that show that the reply is about everyday life."""
_ABOUT_INSTRUCTION = re.compile("|".join(pattern for found in _ALL.values() for pattern in found))
_CLAUSE_END = re.compile(r"[.!?;\n]|, (?:but|and|so|because)\b")


def mentions_instruction(
    text: str, instruction: Instruction | None, brief: str | None = None
) -> bool:
    """Whether the reply reveals that there is an instruction.

    It does so in words ("as you asked"; "I was told to" counts only if the subject of the instruction
    follows), or by giving back a sentence of the instruction, its hint or the brief ("Answer only in
    French."), see `gatt.verifiers.text.echo`. Two things are no repetition: what the instruction
    wants said (utterances, quotations), and a question ("You love tennis?"). A plain
    dialogue may speak of instructions; only the brief must not be repeated there.
    """
    told, wanted = [brief or ""], []
    hint = instruction.hint if instruction else None
    if instruction:
        folded = fold_text(text)
        if _ABOUT_INSTRUCTION.search(folded) or _is_about(folded, _subject_words(instruction)):
            return True
        if not folded.isascii() and _IN_OTHER_SCRIPTS.search(folded):
            return True
        told.append(instruction.text)
        wanted += [*instruction.utterances, *instruction.prefills]
        wanted += [reply for part in instruction.parts for reply in part.replies]
    return echoed(text, hint, told, wanted) is not None


def _is_about(folded: str, subject: Set[str]) -> bool:
    """Whether a folded text says that the speaker was told to do, or will do, something on the subject."""
    for pattern, most in _BEFORE_WORDS:
        for frame in pattern.finditer(folded):
            rest = _CLAUSE_END.split(folded[frame.end() :], maxsplit=1)[0]
            if not _LIFE.search(rest) and not subject.isdisjoint(words(rest)[: most + 1]):
                return True
    return False


def _subject_words(instruction: Instruction) -> frozenset[str]:
    """Return the folded words that say what the instruction is about ("tennis"); empty if there are none.

    They come from its text, its hint, the topics of its verifiers, and the speaker's hobby. Words that
    any instruction may have ("answer", "always", "city") are left out.
    """
    sought = [v.params for v in instruction.verifiers if v.kind == "question_about"]
    terms = [t for params in sought for t in params.get("topics") or ()]
    terms += instruction.facts.get("hobby", ())
    return _words_of((instruction.text, instruction.hint or "", *map(str, terms)))


@lru_cache(maxsize=512)
def _words_of(texts: tuple[str, ...]) -> frozenset[str]:
    spelt = {word for text in texts for word in words(fold_text(text))}
    return frozenset(w for w in spelt if len(w) >= MIN_LETTERS and w not in _COMMON_WORDS)
