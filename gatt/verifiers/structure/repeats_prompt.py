"""`repeats`: the reply first says a given text again, and then something of its own."""

from __future__ import annotations

from typing import ClassVar

from gatt.errors import VerifierError
from gatt.verifiers.base import Examples, Verdict
from gatt.verifiers.rule import Rule, quote
from gatt.verifiers.text.blocks import has_word
from gatt.verifiers.text.folding import fold


class Repeats(Rule):
    """Passes if the reply starts with the text, word for word, and goes on behind it.

    Case, accents, emphasis and the kind of white space make no difference; nothing
    may stand in front.

    Args:
        text: what is to be repeated.

    Raises:
        VerifierError: a text without a letter or digit.
    """

    kind = "repeats"
    reads_markup = True
    examples: ClassVar[tuple[Examples, ...]] = (
        Examples(
            {"text": "Tell me about the sea."},
            good=(
                "Tell me about the sea.\n\nIt is deep and salty.",
                "**Tell me  about\nthe sea.** It is deep.",
            ),
            bad=(
                "It is deep and salty.",
                "You said: Tell me about the sea. It is deep.",
                "Tell me about the sea.",
                "Tell me about the seaside. It is long.",
                "Tell me more about the sea. It is deep.",
            ),
        ),
    )

    def __init__(self, *, text: str) -> None:
        if not isinstance(text, str) or not has_word(text):
            raise VerifierError(
                f"verifier {self.kind!r}: 'text' is {text!r}: expected what is to be repeated"
            )
        self._text = text
        self._asked = "".join(fold(text).text.split())

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        folded = fold(reply)
        places = [i for i, character in enumerate(folded.text) if not character.isspace()]
        said = "".join(folded.text[i] for i in places)
        if not said.startswith(self._asked):
            return self.failed(f"does not start with {quote(self._text)}")
        span = folded.span(places[0], places[len(self._asked) - 1] + 1)
        rest = reply[span[1] :]
        if rest[:1].isalnum() and self._asked[-1].isalnum():
            return self.failed(f"goes on inside the last word of {quote(self._text)}", span)
        if not has_word(rest):
            return self.failed("says nothing of its own behind it", span)
        return self.passed(f"repeats {quote(reply[slice(*span)])} and goes on", span)
