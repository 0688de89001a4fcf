"""Filters that refuse a sampled reply whatever its instruction is."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from data_synth.instruction_talk import mentions_instruction
from data_synth.introduction import asks_who, only_introduces
from data_synth.quality import QualityConfig
from gatt.data.answers import answers
from gatt.data.catalog.programs import texts_added
from gatt.data.expectation import Expectation
from gatt.data.instruction import Instruction
from gatt.data.reply_facts import added_fact, lost_fact
from gatt.generation.base import FinishReason
from gatt.verifiers.spec import VerifierSpec
from gatt.verifiers.table import build
from gatt.verifiers.text.copying import copy_of
from gatt.verifiers.text.degenerate import degenerate
from gatt.verifiers.text.repetition import repeated_share


@dataclass(frozen=True, slots=True)
class Draw:
    """A sampled reply without outer white space, and its context."""

    text: str
    finish: FinishReason
    instruction: Instruction | None
    """The instruction in force; None in a plain dialogue."""
    brief: str | None = None
    """Text that the teacher also reads with every message."""
    messages: tuple[str, ...] = ()
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


FILTERS_VERSION = 7
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
    if draw.expect is None and draw.messages and copy_of(draw.text, draw.messages[-1]):
        return True
    reply = _plain(draw.text)
    # Much longer messages cannot be equal: skipping them saves the split into words.
    longest = 2 * len(draw.text) + 8
    return any(_plain(message) == reply for message in draw.messages if len(message) <= longest)


def is_wrong(draw: Draw) -> bool:
    """Whether the reply lacks what its turn expects, as far as rules can tell that it does not."""
    if draw.expect is None:
        return False
    instruction = draw.instruction.text if draw.instruction else ""
    return (
        answers(draw.expect, draw.text, draw.messages[-1], instruction=instruction).status != "pass"
    )


def declines_ordinary(draw: Draw) -> bool:
    """Whether the reply declines a message that does not ask for what the instruction forbids.

    A rewritten reply may decline if the own reply does too ("We do not offer instalments"). A sampled reply is
    judged only under an instruction that forbids something: under others a message may ask for the impossible.
    """
    instruction = draw.instruction
    if instruction is None or (draw.expect is not None and draw.expect.kind == "topic"):
        return False
    if draw.own is None and not any(part.asks for part in instruction.parts):
        return False
    return _declines(draw.text) and not (draw.own is not None and _declines(draw.own))


def _declines(text: str) -> bool:
    return build(VerifierSpec("declines")).check(text).status == "pass"


def introduces_unasked(draw: Draw) -> bool:
    """Whether the reply only says who the speaker is, though its turn expects nothing and nobody asked.

    An own reply that does so may be rewritten.
    """
    facts = draw.instruction.facts if draw.instruction else {}
    if not facts or draw.expect is not None or (draw.own and only_introduces(draw.own, facts)):
        return False
    return only_introduces(draw.text, facts) and not any(
        asks_who(message, facts) for message in draw.messages[-1:]
    )


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
    allowed = [draw.own, *draw.messages[-1:]]
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
    "introduction": lambda draw, quality: quality.introductions and introduces_unasked(draw),
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
    "introduction": "only says who the speaker is, though nobody asked",
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
