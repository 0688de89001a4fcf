"""`starts_with`, `ends_with`, `ends_with_question`, `wrapped`: how a reply opens and closes."""

from __future__ import annotations

import re
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

from gatt.verifiers.base import Verdict
from gatt.verifiers.rule import Rule, Span, quote
from gatt.verifiers.text.folding import fold, fold_text
from gatt.verifiers.text.matching import LEFT, RIGHT, Terms
from gatt.verifiers.text.sentences import sentence_spans
from gatt.verifiers.text.words import words
from gatt.verifiers.topics.question_about import is_question

_HAS_WORD = re.compile(r"[^\W_]")
# Markdown closes first: "**Short answer** - tea", "**Short answer:** tea".
_MARK = re.compile(r"[*_~`\"'”’»)\]]*[ \t]*(?:[^\w\s*_~`\"'”’»)\]]|\n)")
_DOUBTED = re.compile(
    r"(?:\b(?:not|never|cannot|if|whether)|n't)\b(?! only)[^.,;:!?\n]*$|\bnot (?:say|write) [^.!?\n]*$"
)
_LOOKBACK = 60
_STRAIGHT = str.maketrans("“”„‘’", '"""\'\'')
_MARKS = frozenset("*_`")
_ESCAPED = re.compile(r"\\[\"'\\]")
_EMPHASIS = re.compile(r"(?P<marks>\*{1,3}|_{1,3})(?P<inner>[^\n].*?)(?P=marks)\Z", re.DOTALL)


def _straight(text: str) -> str:
    """Return a text of the same length with straight quotation marks."""
    return text.translate(_STRAIGHT)


@dataclass(frozen=True, kw_only=True)
class _Edge(Rule):
    """The common part of `starts_with` and `ends_with`.

    Args:
        any_of: texts, at least one; one of symbols alone (an emoji) is matched
            as it stands.
        exact: whether case and marks of the texts count ("[END]", "AI:"); the form of quotation marks
            and markdown emphasis still do not.
    """

    _is_start: ClassVar[bool]
    any_of: Terms
    exact: bool = False

    @abstractmethod
    def _fault(self, reply: str, span: Span) -> str:
        """Return why a phrase at its place is none of the texts after all, or nothing."""

    @cached_property
    def _patterns(self) -> list[re.Pattern[str]]:
        """Patterns of the texts: of exact ones for a reply with straight marks, else for a folded one."""
        if self.exact:
            return [re.compile(_exact(text, self._is_start)) for text in self.any_of.terms]
        phrases = "|".join(filter(None, map(_phrase, self.any_of.terms))) or r"(?!)"
        at_start = rf"\A[\W_]*(?P<phrase>{phrases}){RIGHT}"
        return [re.compile(at_start if self._is_start else rf"{LEFT}(?P<phrase>{phrases})[\W_]*\Z")]

    def decide(self, reply: str) -> Verdict:
        place = "starts" if self._is_start else "ends"
        folded = fold(reply)
        text = _straight(reply) if self.exact else folded.text
        for match in filter(None, (pattern.search(text) for pattern in self._patterns)):
            span = match.span("phrase")
            span = span if self.exact else folded.span(*span)
            said = f"{place} with {quote(reply[slice(*span)])}"
            if fault := "" if self.exact else self._fault(reply, span):
                return self.failed(f"{said}, {fault}", span)
            return self.passed(said, span)
        symbols = tuple(term.strip() for term in self.any_of.terms if not _phrase(term))
        whole = reply.strip()
        has_symbol = whole.startswith(symbols) if self._is_start else whole.endswith(symbols)
        if has_symbol and not self.exact:
            return self.passed(f"{place} with one of {' '.join(symbols)}")
        return self.failed(f"{place} with none of: {self.any_of}")


class StartsWith(_Edge):
    """Passes if the reply starts with one of the texts, as whole words.

    White space, markdown, quotation marks and case make no difference. Something
    must follow, and behind a text with a colon a mark or a new line: "Short answer
    questions" does not start with "Short answer:".
    """

    kind = "starts_with"
    version = 2
    _is_start = True

    def _fault(self, reply: str, span: Span) -> str:
        rest = reply[span[1] :]
        if not _HAS_WORD.search(rest):
            return "and says nothing behind it"
        said = _phrase(reply[slice(*span)])
        asked = [term.rstrip() for term in self.any_of.terms if _phrase(term) == said]
        has_colon = bool(asked) and all(term.endswith(":") for term in asked)
        return "without a mark behind it" if has_colon and not _MARK.match(rest) else ""


class EndsWith(_Edge):
    """Passes if the reply ends with one of the texts, as whole words.

    White space, markdown, case and punctuation after it make no difference. A text
    that is denied or doubted there is none ("I do not know if that is all I know").
    """

    kind = "ends_with"
    version = 3
    reads_sense = True
    _is_start = False

    def _fault(self, reply: str, span: Span) -> str:
        before = fold_text(reply[max(0, span[0] - _LOOKBACK) : span[0]])
        return "only to deny or doubt it" if _DOUBTED.search(before) else ""


class EndsWithQuestion(Rule):
    """Passes if the last sentence is a question."""

    kind = "ends_with_question"
    version = 3
    reads_sense = True

    def decide(self, reply: str) -> Verdict:
        spans = sentence_spans(reply)
        start, end = spans[-1] if spans else (0, 0)
        last = reply[start:end]
        if is_question(last):
            return self.passed(f"ends by asking {quote(last)}", (start, end))
        return self.failed(f"ends with {quote(last)}, no question")


def _phrase(text: str) -> str:
    """Return a pattern for a phrase whatever stands at its edges; "" if no letter is left."""
    core = re.sub(r"^[\W_]+|[\W_]+$", "", fold_text(text))
    return r"\s+".join(map(re.escape, core.split()))


def _exact(text: str, is_start: bool) -> str:
    """Return the pattern of a text at the start or the end of what `straight` returns.

    Case and every mark count. White space at the edges of the reply and the amount of it between words
    do not, and neither does markdown emphasis ("**DAN**:" for "DAN:") unless the text itself has its marks.
    """
    wanted = " ".join(_straight(text).split())
    emphasis = "" if _MARKS & {*wanted} else "[*_`]*"
    phrase = emphasis.join(r"\s+" if c.isspace() else re.escape(c) for c in wanted)
    around = r"[\s*_`]*" if emphasis else r"\s*"
    if is_start:
        return rf"\A{around}(?P<phrase>{phrase}){RIGHT if wanted[-1].isalnum() else ''}"
    return rf"{LEFT if wanted[0].isalnum() else ''}(?P<phrase>{phrase}){around}\Z"


@dataclass(frozen=True, kw_only=True)
class Wrapped(Rule):
    """Passes if the reply starts with `left`, ends with `right`, and is one such piece.

    Curly quotation marks count as straight ones, and emphasis around all of it makes
    no difference. '"Yes," he said, "I do."' starts and ends with a quotation mark but
    is not wrapped; a quotation inside needs other marks, or a backslash.

    Args:
        left: the opening mark.
        right: the closing mark; it may be the same.
    """

    kind = "wrapped"
    version = 3
    reads_markup = True

    left: str
    right: str

    def __post_init__(self) -> None:
        if not (self.left.strip() and self.right.strip()):
            raise ValueError(f"'left' {self.left!r} and 'right' {self.right!r}: expected two marks")

    def decide(self, reply: str) -> Verdict:
        left, right = _straight(self.left.strip()), _straight(self.right.strip())
        text = reply.strip()
        # Emphasis around all of it makes no difference, unless that is the mark that is asked for.
        if left[0] not in "*_" and (emphasis := _EMPHASIS.match(text)):
            text = emphasis["inner"].strip()
        # What a backslash escapes stays in the text.
        text = _straight(_ESCAPED.sub("xx", text))
        inner = text[len(left) : len(text) - len(right)]
        if not (inner and text.startswith(left) and text.endswith(right)):
            return self.failed(f"not between {left!r} and {right!r}")
        if not words(inner):
            return self.failed(f"nothing between {left!r} and {right!r}")
        if _closes_early(inner, left, right):
            return self.failed(f"closes with {right!r} before its end")
        return self.passed(f"stands between {left!r} and {right!r}")


def _closes_early(inner: str, left: str, right: str) -> bool:
    if left == right:
        # An apostrophe inside a word closes no single quotation mark.
        return any(
            not (before[-1:].isalnum() and after[:1].isalnum())
            for before, after in pairwise(inner.split(left))
        )
    depth = 0
    for mark in re.finditer(f"{re.escape(right)}|{re.escape(left)}", inner):
        depth += 1 if mark[0] == left else -1
        if depth < 0:
            return True
    # "[[so]" closes the inner one only.
    return depth > 0
