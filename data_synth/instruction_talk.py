"""`mentions_instruction`: a reply that talks about the instruction, or repeats it.

The patterns of such talk, by language, stand in `talk.yaml`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from functools import lru_cache
from importlib.resources import files
from typing import Any

import yaml

from gatt.data.instruction import Instruction
from gatt.verifiers.text.folding import fold_text
from gatt.verifiers.text.sentences import sentences
from gatt.verifiers.text.words import words

MIN_INNER_WORDS = 4
"""A sentence of the instruction with at least so many words also counts inside a longer sentence."""
MIN_LETTERS = 3
"""Of a word that says what an instruction is about."""
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|«[^»]*»")


def _read() -> tuple[dict[str, list[str]], str, frozenset[str]]:
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


def _any_of(patterns: Sequence[str]) -> re.Pattern[str]:
    """Return one pattern for all of them, which searches for the word border once."""
    at_border = [p.removeprefix(r"\b") for p in patterns if p.startswith(r"\b")]
    others = [p for p in patterns if not p.startswith(r"\b")]
    return re.compile("|".join((rf"\b(?:{'|'.join(at_border)})", *others)))


_ALL, _life, _COMMON_WORDS = _read()
_IN_OTHER_SCRIPTS = re.compile("|".join(_ALL.pop("other_scripts")))
_BEFORE_WORDS = (
    (_any_of(_ALL.pop("before_subject")), 8),
    (_any_of(_ALL.pop("before_role")), 3),
)
"""Talk about the instruction if a word of its subject follows in the sentence, after at most so many others."""
_LIFE = re.compile(_life)
"""Words after a subject that show that the reply is about everyday life."""
_ABOUT_INSTRUCTION = _any_of([pattern for found in _ALL.values() for pattern in found])
_CLAUSE_END = re.compile(r"[.!?;\n]|, (?:but|and|so|because)\b")


def mentions_instruction(
    text: str, instruction: Instruction | None, brief: str | None = None
) -> bool:
    """Whether the reply reveals that there is an instruction.

    It does so in words ("as you asked"; "I was told to" counts only if the subject of the
    instruction follows), or by repeating a sentence of the instruction, its hint or the
    brief ("Answer only in French."). Two things are no repetition: what the instruction
    wants said (utterances, quotations), and a question ("You love tennis?"). A plain
    dialogue may speak of instructions; only the brief must not be repeated there.
    """
    texts, wanted = [brief or ""], []
    if instruction:
        folded = fold_text(text)
        if _is_about_instruction(folded) or _is_about(folded, _subject_words(instruction)):
            return True
        texts += [instruction.text, instruction.hint or ""]
        wanted += [*instruction.utterances, *instruction.prefills]
    said = _sentences_told(tuple(texts), tuple(wanted))
    if not said:
        return False
    spelt = f" {_plain(text)} "
    if any(f" {s} " in spelt for s in said if len(s.split()) >= MIN_INNER_WORDS):
        return True
    return any(_plain(s) in said for s in sentences(text) if not s.endswith("?"))


def _is_about_instruction(folded: str) -> bool:
    """Whether a folded text talks about an instruction, whatever its subject is."""
    if _ABOUT_INSTRUCTION.search(folded):
        return True
    return not folded.isascii() and bool(_IN_OTHER_SCRIPTS.search(folded))


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

    They come from its text, its hint, and the hobby or topics of its verifiers. Words that
    any instruction may have ("answer", "always", "city") are left out.
    """
    # The terms of a public figure ("army", "France") are its own topics, not its instruction.
    sought = [v.params for v in instruction.verifiers if v.kind in ("likes", "question_about")]
    terms = [
        t for params in sought for name in ("any_of", "topics") for t in params.get(name) or ()
    ]
    return _words_of((instruction.text, instruction.hint or "", *map(str, terms)))


@lru_cache(maxsize=512)
def _words_of(texts: tuple[str, ...]) -> frozenset[str]:
    spelt = {word for text in texts for word in words(fold_text(text))}
    return frozenset(w for w in spelt if len(w) >= MIN_LETTERS and w not in _COMMON_WORDS)


@lru_cache(maxsize=512)
def _sentences_told(texts: tuple[str, ...], wanted: tuple[str, ...]) -> frozenset[str]:
    """Return the sentences that the teacher reads and should not say, as plain words."""
    meant = [f" {_plain(w)} " for w in wanted]
    told = {_plain(s) for text in texts for s in sentences(_QUOTED.sub(" ", text))}
    return frozenset(
        s for s in told if len(s.split()) > 1 and not any(f" {s} " in w for w in meant)
    )


def _plain(text: str) -> str:
    return " ".join(words(fold_text(text)))
