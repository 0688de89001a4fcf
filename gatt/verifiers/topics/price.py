"""`price`: the reply names a price, in any currency or in none ("it costs about 120")."""

from __future__ import annotations

from gatt.verifiers.base import Verdict
from gatt.verifiers.phrases import Patterns
from gatt.verifiers.rule import Rule, quote, shipped_examples
from gatt.verifiers.text.folding import fold

_RE = Patterns("price")


class Price(Rule):
    """Passes if the reply names a price: an amount of a currency, or what something costs.

    English words, and the signs and codes of currencies in any language. A currency without an
    amount ("we take euros") is no price, nor is "free" or "at no charge".
    """

    kind = "price"
    examples = shipped_examples(kind)

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
