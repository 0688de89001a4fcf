"""`responses`: several different replies in one, with a divider between them."""

from __future__ import annotations

from typing import ClassVar

from gatt.errors import VerifierError
from gatt.verifiers.base import Examples, Verdict
from gatt.verifiers.forms.counts import require_divider
from gatt.verifiers.rule import Rule
from gatt.verifiers.text.blocks import divided_spans, has_word
from gatt.verifiers.text.folding import fold_text
from gatt.verifiers.text.words import words


class Responses(Rule):
    """Passes if the divider parts the reply into as many replies as asked, all different.

    They differ if their words do: case, marks and white space make no difference.

    Args:
        num: how many, a whole number from 2 up.
        divider: what stands between them, between white space.

    Raises:
        VerifierError: `num` is no whole number from 2 up, or the divider has
            white space or nothing in it.
    """

    kind = "responses"
    examples: ClassVar[tuple[Examples, ...]] = (
        Examples(
            {"num": 2, "divider": "******"},
            good=("I like tea.\n******\nI like milk.", "******\nTea.\n\n******\n\nMilk.\n******"),
            bad=(
                "I like tea.",
                "I like tea.\n***\nI like milk.",
                "I like tea.\n******\nI LIKE tea!",
                "Tea.\n******\nMilk.\n******\nBread.",
                "Tea.\n******\n******\nMilk.",
            ),
        ),
    )

    def __init__(self, *, num: int = 2, divider: str = "******") -> None:
        if type(num) is not int or num < 2:
            raise VerifierError(
                f"verifier {self.kind!r}: 'num' is {num!r}: expected a whole number from 2 up"
            )
        self._num = num
        self._divider = require_divider(self.kind, divider)

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        spans = divided_spans(reply, self._divider)
        for span in spans:
            if not has_word(reply[slice(*span)]):
                return self.failed(f"nothing between two dividers {self._divider!r}", span)
        if len(spans) != self._num:
            return self.failed(f"{len(spans)} replies around {self._divider!r}, not {self._num}")
        seen: set[tuple[str, ...]] = set()
        for span in spans:
            said = tuple(words(fold_text(reply[slice(*span)])))
            if said in seen:
                return self.failed("says the same twice", span)
            seen.add(said)
        return self.passed(f"{len(spans)} different replies")
