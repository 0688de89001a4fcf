"""`one_of`: the whole reply is one of some given texts."""

from __future__ import annotations

from collections.abc import Sequence

from gatt.errors import VerifierError
from gatt.verifiers.base import Verdict
from gatt.verifiers.rule import Rule, quote, require_texts, shipped_examples
from gatt.verifiers.text.folding import fold_text
from gatt.verifiers.text.words import words


class OneOf(Rule):
    """Passes if the reply says one of the texts and nothing else.

    Case, marks, markdown and white space make no difference.

    Args:
        options: the texts, at least one, each with a word in it.
    """

    kind = "one_of"
    examples = shipped_examples(kind)

    def __init__(self, *, options: Sequence[str]) -> None:
        texts = require_texts(self.kind, "options", options)
        self._options = {_plain(text): text for text in texts}
        if not texts or () in self._options:
            raise VerifierError(
                f"verifier {self.kind!r}: 'options' is {list(texts)!r}: expected texts with words"
            )

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        option = self._options.get(_plain(reply))
        if option is None:
            return self.failed(f"says {quote(reply)}, none of the options")
        start = len(reply) - len(reply.lstrip())
        return self.passed(f"says {quote(option)}", (start, start + len(reply.strip())))


def _plain(text: str) -> tuple[str, ...]:
    return tuple(words(fold_text(text)))
