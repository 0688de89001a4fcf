"""`price`: the reply names a price, in any currency or in none ("it costs about 120")."""

from __future__ import annotations

from typing import ClassVar

from gatt.verifiers.base import Examples, Verdict
from gatt.verifiers.phrases import Patterns
from gatt.verifiers.rule import Rule, quote
from gatt.verifiers.text.folding import fold

_RE = Patterns("price")


class Price(Rule):
    """Passes if the reply names a price: an amount of a currency, or what something costs.

    English words, and the signs and codes of currencies in any language. A currency without an
    amount ("we take euros") is no price, nor is "free" or "at no charge".
    """

    kind = "price"
    examples: ClassVar[tuple[Examples, ...]] = (
        Examples(
            {},
            good=(
                "A battery is about 120 USD.",
                "It is €90, fitted.",
                "That costs around eighty.",
                "You pay a hundred and twenty dollars.",
                "Prices start at 45.",
                "It'll set you back 200 bucks.",
            ),
            bad=(
                "A written quote is free.",
                "We take euros and dollars.",
                "It costs you nothing and takes two days.",
                "The repair takes 3 hours.",
                "It weighs ten kilos.",
            ),
        ),
    )

    def __init__(self) -> None:
        """Take no parameters."""

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        folded = fold(reply)
        match = _RE.PRICE.search(folded.text)
        if not match:
            return self.failed("names no price")
        span = folded.span(*match.span())
        return self.passed(f"names a price: {quote(reply[slice(*span)])}", span)
