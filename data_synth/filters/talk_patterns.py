"""Whether a reply talks about its instruction; the patterns, by language, stand in `talk.yaml`."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from importlib.resources import files
from typing import Any

import yaml

from gatt.verifiers.text.words import words


def _read() -> tuple[dict[str, list[str]], str, frozenset[str]]:
    """Return the patterns of `talk.yaml` with their parts put in, the part `life`, and the common words."""
    raw: dict[str, Any] = yaml.safe_load(
        files("data_synth.filters").joinpath("talk.yaml").read_text(encoding="utf-8")
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


_ALL, _life, COMMON_WORDS = _read()
_IN_OTHER_SCRIPTS = re.compile("|".join(_ALL.pop("other_scripts")))
_BEFORE_SUBJECT = _any_of(_ALL.pop("before_subject"))
"""Talk about the instruction if its subject follows in the same sentence."""
_BEFORE_ROLE = _any_of(_ALL.pop("before_role"))
"""Talk about the instruction if the role that it gives follows at once."""
_LIFE = re.compile(_life)
"""Words after a subject that show that the reply is about everyday life."""
_ABOUT_INSTRUCTION = _any_of([pattern for found in _ALL.values() for pattern in found])
_CLAUSE_END = re.compile(r"[.!?;\n]|, (?:but|and|so|because)\b")
MAX_WORDS_BEFORE = 8
"""Most words between a pattern and the subject."""
MAX_WORDS_BEFORE_ROLE = 3


def is_about_instruction(folded: str) -> bool:
    """Whether a folded text talks about an instruction, whatever its subject is."""
    if _ABOUT_INSTRUCTION.search(folded):
        return True
    return not folded.isascii() and bool(_IN_OTHER_SCRIPTS.search(folded))


def is_about_subject(folded: str, subject: Set[str]) -> bool:
    """Whether a folded text says that the speaker was told to do, or will do, something on the subject.

    Args:
        folded: the reply.
        subject: folded words that are specific to the instruction ("tennis", "napoleon").
    """
    for pattern, most in (
        (_BEFORE_SUBJECT, MAX_WORDS_BEFORE),
        (_BEFORE_ROLE, MAX_WORDS_BEFORE_ROLE),
    ):
        for frame in pattern.finditer(folded):
            rest = _CLAUSE_END.split(folded[frame.end() :], maxsplit=1)[0]
            if _LIFE.search(rest):
                continue
            if any(word in subject for word in words(rest)[: most + 1]):
                return True
    return False
