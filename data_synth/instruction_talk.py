"""Whether a reply talks about its instruction instead of following it.

The patterns, by language, stand in `talk.yaml`.
"""

from __future__ import annotations

import re
from collections.abc import Set
from functools import lru_cache
from importlib.resources import files
from typing import Any

import yaml

from gatt.data.instruction import Instruction
from gatt.verifiers.text.echo import echoed
from gatt.verifiers.text.folding import fold_text
from gatt.verifiers.text.words import words

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
        return re.sub("<<([a-z_]+)>>", lambda name: parts[name[1]], joined)

    for name, text in raw.pop("parts").items():
        parts[name] = whole(text)
    common = frozenset(raw.pop("common_words").split())
    return (
        {name: list(map(whole, patterns)) for name, patterns in raw.items()},
        parts["life"],
        common,
    )


_ALL, _life, _COMMON_WORDS = _read_talk()


_IN_OTHER_SCRIPTS = re.compile("|".join(_ALL.pop("other_scripts")))


_BEFORE_WORDS = (
    (re.compile("|".join(_ALL.pop("before_subject"))), 8),
    (re.compile("|".join(_ALL.pop("before_role"))), 3),
)
"""Talk about the instruction if a word of its subject follows in the sentence, after at most so many others."""


_LIFE = re.compile(_life)
"""Words after a subject that show that the reply is about everyday life."""


_ABOUT_INSTRUCTION = re.compile(
    "|".join(pattern for patterns in _ALL.values() for pattern in patterns)
)


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
    read, wanted = [brief or ""], []
    hint = instruction.hint if instruction else None
    if instruction:
        folded = fold_text(text)
        if _ABOUT_INSTRUCTION.search(folded) or _is_about(folded, _subject_words(instruction)):
            return True
        if not folded.isascii() and _IN_OTHER_SCRIPTS.search(folded):
            return True
        read.append(instruction.text)
        wanted += [*instruction.utterances, *instruction.prefills]
        wanted += [reply for part in instruction.parts for reply in part.replies]
    return echoed(text, hint, read, wanted) is not None


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
