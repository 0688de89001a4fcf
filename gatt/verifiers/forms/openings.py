"""`starts_with`, `ends_with`, `ends_with_question`: how a reply opens and closes."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from gatt.errors import VerifierError
from gatt.verifiers.base import Verdict
from gatt.verifiers.forms.exact_text import exact_pattern, straight
from gatt.verifiers.rule import Rule, Span, quote, require_texts, shipped_examples
from gatt.verifiers.text.folding import fold, fold_text
from gatt.verifiers.text.sentences import sentence_spans
from gatt.verifiers.text.words import CJK
from gatt.verifiers.topics.question_forms import is_question

_NOT_INSIDE_LEFT = rf"(?<![^\W{CJK}])"
_NOT_INSIDE_RIGHT = rf"(?![^\W{CJK}])"

_HAS_WORD = re.compile(r"[^\W_]")
# Markdown closes first: "**Short answer** - tea", "**Short answer:** tea".
_MARK = re.compile(r"[*_~`\"'”’»)\]]*[ \t]*(?:[^\w\s*_~`\"'”’»)\]]|\n)")
_DOUBTED = re.compile(
    r"(?:\b(?:not|never|cannot|if|whether)|n't)\b(?! only)[^.,;:!?\n]*$|\bnot (?:say|write) [^.!?\n]*$"
)
_LOOKBACK = 60


def _phrase(text: str) -> str:
    """Return a pattern for a phrase whatever stands at its edges; "" if no letter is left."""
    core = re.sub(r"^[\W_]+|[\W_]+$", "", fold_text(text))
    return r"\s+".join(map(re.escape, core.split()))


class _Edge(Rule):
    """The common part of `starts_with` and `ends_with`."""

    _place: ClassVar[str]
    _is_start: ClassVar[bool]

    def __init__(self, *, any_of: Sequence[str], exact: bool = False) -> None:
        texts = require_texts(self.kind, "any_of", any_of)
        if not texts:
            raise VerifierError(f"verifier {self.kind!r}: 'any_of' is empty: expected a text")
        if not isinstance(exact, bool):
            raise VerifierError(
                f"verifier {self.kind!r}: 'exact' is {exact!r}: expected true or false"
            )
        self._texts = texts
        self._exact = (
            [re.compile(exact_pattern(text, is_start=self._is_start)) for text in texts]
            if exact
            else []
        )
        self._symbols = tuple(text.strip() for text in texts if not _phrase(text))
        phrases = [phrase for text in texts if (phrase := _phrase(text))]
        self._regex = re.compile(self._pattern("|".join(phrases) if phrases else r"(?!)"))

    @abstractmethod
    def _pattern(self, either: str) -> str:
        """Return the pattern of one of the phrases at its place."""

    @abstractmethod
    def _has_symbol(self, reply: str) -> bool:
        """Return whether one of the texts without letters stands at its place."""

    @abstractmethod
    def _fault(self, reply: str, span: Span) -> str:
        """Return why a phrase at its place is none of the texts after all, or nothing."""

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        if self._exact:
            return self._judge_exactly(reply)
        folded = fold(reply)
        match = self._regex.search(folded.text)
        if match:
            span = folded.span(*match.span("phrase"))
            fault = self._fault(reply, span)
            if fault:
                return self.failed(
                    f"{self._place} with {quote(reply[slice(*span)])}, {fault}", span
                )
            return self.passed(f"{self._place} with {quote(reply[slice(*span)])}", span)
        if self._symbols and self._has_symbol(reply.strip()):
            return self.passed(f"{self._place} with one of {' '.join(self._symbols)}")
        return self._without()

    def _judge_exactly(self, reply: str) -> Verdict:
        text = straight(reply)
        for match in filter(None, (regex.search(text) for regex in self._exact)):
            span = match.span("phrase")
            return self.passed(f"{self._place} with {quote(reply[slice(*span)])}", span)
        return self._without()

    def _without(self) -> Verdict:
        return self.failed(f"{self._place} with none of: {', '.join(self._texts[:4])}")


class StartsWith(_Edge):
    """Passes if the reply starts with one of the texts, as whole words.

    White space, markdown, quotation marks and case make no difference. Something
    must follow, and behind a text with a colon a mark or a new line: "Short answer
    questions" does not start with "Short answer:".

    Args:
        any_of: texts, at least one; one of symbols alone (an emoji) is matched
            as it stands.
        exact: whether case and marks of the texts count ("[END]", "AI:"); the form of quotation marks
            and markdown emphasis still do not.
    """

    kind = "starts_with"
    _place = "starts"
    _is_start = True
    examples = shipped_examples(kind)

    def _pattern(self, either: str) -> str:
        return rf"\A[\W_]*(?P<phrase>{either}){_NOT_INSIDE_RIGHT}"

    def _has_symbol(self, reply: str) -> bool:
        return reply.startswith(self._symbols)

    def _fault(self, reply: str, span: Span) -> str:
        rest = reply[span[1] :]
        if not _HAS_WORD.search(rest):
            return "and says nothing behind it"
        said = _phrase(reply[slice(*span)])
        asked = [text.rstrip() for text in self._texts if _phrase(text) == said]
        has_colon = bool(asked) and all(text.endswith(":") for text in asked)
        return "without a mark behind it" if has_colon and not _MARK.match(rest) else ""


class EndsWith(_Edge):
    """Passes if the reply ends with one of the texts, as whole words.

    White space, markdown, case and punctuation after it make no difference. A text
    that is denied or doubted there is none ("I do not know if that is all I know").

    Args:
        any_of: texts, at least one; one of symbols alone (an emoji) is matched
            as it stands.
        exact: whether case and marks of the texts count ("[END]", "AI:"); the form of quotation marks
            and markdown emphasis still do not.
    """

    kind = "ends_with"
    version = 2
    reads_sense = True
    _place = "ends"
    _is_start = False
    examples = shipped_examples(kind)

    def _pattern(self, either: str) -> str:
        return rf"{_NOT_INSIDE_LEFT}(?P<phrase>{either})[\W_]*\Z"

    def _has_symbol(self, reply: str) -> bool:
        return reply.endswith(self._symbols)

    def _fault(self, reply: str, span: Span) -> str:
        before = fold_text(reply[max(0, span[0] - _LOOKBACK) : span[0]])
        return "only to deny or doubt it" if _DOUBTED.search(before) else ""


class EndsWithQuestion(Rule):
    """Passes if the last sentence is a question."""

    kind = "ends_with_question"
    version = 3
    reads_sense = True
    examples = shipped_examples(kind)

    def __init__(self) -> None:
        """Take no parameters."""

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        spans = sentence_spans(reply)
        start, end = spans[-1] if spans else (0, 0)
        last = reply[start:end]
        if is_question(last):
            return self.passed(f"ends by asking {quote(last)}", (start, end))
        return self.failed(f"ends with {quote(last)}, no question")
