"""`question_about`: a question that names a topic ("Do you have dental insurance?")."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from gatt.errors import VerifierError
from gatt.verifiers.base import Examples, Verdict
from gatt.verifiers.matching import TermMatcher
from gatt.verifiers.rule import Rule, quote, require_texts
from gatt.verifiers.sentence_split import sentence_spans

# U+037E is the Greek question mark; most people type ';' for it.
_QUESTION_END = re.compile(r"[?？\u037e؟][^\w]*$|(?<=[α-ωά-ώ]);[^\w]*$")


def is_question(sentence: str) -> bool:
    """Whether a sentence ends as a question does, closing quotes and emphasis aside."""
    return bool(_QUESTION_END.search(sentence))


class QuestionAbout(Rule):
    """Passes if one sentence ends with a question mark and names one of the topics.

    Args:
        topics: terms as `TermMatcher` takes them, at least one.

    Raises:
        VerifierError: `topics` is no list of texts, or has none.
    """

    kind = "question_about"
    examples: ClassVar[tuple[Examples, ...]] = (
        Examples(
            {"topics": ["dental insurance", "dental plan", "insurance"]},
            good=(
                "That sounds painful. Do you have **dental insurance**?",
                "By the way, which dental plans have you looked at so far? I can compare them.",
            ),
            bad=(
                "Dental insurance is useful.",
                "Do you like tea? Dental insurance is good.",
                "Do you like tea?",
            ),
        ),
    )

    def __init__(self, *, topics: Sequence[str]) -> None:
        self._topics = require_texts(self.kind, "topics", topics)
        if not self._topics:
            raise VerifierError(f"verifier {self.kind!r}: 'topics' is empty: expected a term")
        self._matcher = TermMatcher(self._topics)

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        num_questions = 0
        for start, end in sentence_spans(reply):
            sentence = reply[start:end]
            if not is_question(sentence):
                continue
            num_questions += 1
            if self._matcher.first(sentence):
                return self.passed(f"asks {quote(sentence)}", (start, end))
        if not num_questions:
            return self.failed("asks no question")
        return self.failed(f"no question about {', '.join(self._topics[:4])}")
