"""`paragraph_start`: a certain paragraph opens with a certain word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from gatt.errors import VerifierError
from gatt.verifiers.base import Examples, Verdict
from gatt.verifiers.forms.openings import StartsWith
from gatt.verifiers.rule import Rule
from gatt.verifiers.text.blocks import paragraph_spans


class ParagraphStart(Rule):
    """Passes if a paragraph starts with one of the texts, as `starts_with` has it.

    Args:
        paragraph: which one, from 1.
        any_of: texts, at least one.
        num: how many paragraphs the reply must have; any number if not given.

    Raises:
        VerifierError: `paragraph` or `num` is no whole number from 1 up,
            `paragraph` is above `num`, or `any_of` is no list of texts or has none.
    """

    kind = "paragraph_start"
    examples: ClassVar[tuple[Examples, ...]] = (
        Examples(
            {"paragraph": 2, "any_of": ["however"], "num": 2},
            good=(
                "I like tea.\n\nHowever, milk is fine.",
                "I like tea.\n \n\n**However** it is, I like milk.",
            ),
            bad=(
                "However, I like tea.\n\nMilk is fine.",
                "I like tea.\nHowever, milk is fine.",
                "I like tea.\n\nHowever, milk is fine.\n\nSo is bread.",
                "I like tea.\n\nHoweversoon it comes.",
            ),
        ),
    )

    def __init__(self, *, paragraph: int, any_of: Sequence[str], num: int | None = None) -> None:
        for name, value in (("paragraph", paragraph), ("num", num)):
            if value is not None and (type(value) is not int or value < 1):
                raise VerifierError(
                    f"verifier {self.kind!r}: {name!r} is {value!r}: "
                    "expected a whole number from 1 up"
                )
        if num is not None and paragraph > num:
            raise VerifierError(
                f"verifier {self.kind!r}: 'paragraph' {paragraph} is above 'num' {num}: "
                "expected one of the paragraphs"
            )
        self._start = StartsWith(any_of=any_of)
        self._paragraph = paragraph
        self._num = num

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        spans = paragraph_spans(reply)
        if self._num is not None and len(spans) != self._num:
            return self.failed(f"{len(spans)} paragraphs, expected {self._num}")
        if len(spans) < self._paragraph:
            return self.failed(f"only {len(spans)} paragraphs, no paragraph {self._paragraph}")
        start, end = spans[self._paragraph - 1]
        inner = self._start.judge(reply[start:end])
        evidence = f"paragraph {self._paragraph} {inner.evidence}"
        if inner.status == "fail":
            return self.failed(evidence, (start, end))
        span = inner.span or (0, end - start)
        return self.passed(evidence, (start + span[0], start + span[1]))
