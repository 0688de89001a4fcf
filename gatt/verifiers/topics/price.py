"""`price`: the reply names a price, in any currency or in none ("it costs about 120")."""

from __future__ import annotations

import re
from typing import ClassVar

from gatt.verifiers.base import Examples, Verdict
from gatt.verifiers.rule import Rule, quote
from gatt.verifiers.text.folding import fold

_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_COUNT = (
    rf"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|{_TENS}|hundred|thousand"
    r"|a (?:hundred|thousand|couple|few|dozen))"
)
_AMOUNT = rf"(?:\d[\d.,]*k?|{_COUNT}(?:[ -](?:and )?{_COUNT})*)"
_SIGN = r"[$€£¥₹₽₩₺₪₫฿]"
_CODE = r"(?:usd|eur|gbp|chf|jpy|cny|inr|aud|cad|nzd|sek|nok|dkk|pln|czk|huf|brl|mxn|zar|rub|try)"
_CURRENCY = (
    rf"(?:{_CODE}|us dollars?|dollars?|euros?|pounds sterling|pounds|quid|bucks?|cents?|pence|francs?|yen"
    rf"|yuan"
    r"|rupees?|rubles?|kron[ae]r?|zloty|pesos?|reais|rand|lira)"
)
_PRICED = (
    r"(?:(?:costs?|costing|charged?|pay|paid|priced? (?:is|at|of|starts? (?:at|from)|from)?"
    r"|prices? (?:are|is|start)"
    r"|run you|set you back|comes? to|fee (?:is|of)|sells? for|for only)"
    r"(?: (?:you|us|about|around|roughly|approximately|only|just|some|between|from|at|up to|less than"
    r"|more than"
    r"|over|under|nearly|almost|is|of|it|the \w+|an? \w+))*)"
)
_NO_MONEY = (
    r"(?! ?(?:%|percent|days?|weeks?|months?|years?|hours?|minutes?|seconds?|times?|km|miles?|people|persons?"
    r"|o'clock|am\b|pm\b|[-–]?day|thing|cent of))"
)
_PRICE = re.compile(
    rf"{_SIGN} ?\d|\d ?{_SIGN}|\b{_CODE} ?\d|(?<![\w.,]){_AMOUNT}(?:,-|,–)?[ -]?{_CURRENCY}\b"
    rf"|\b{_PRICED} {_AMOUNT}\b{_NO_MONEY}"
)


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
        match = _PRICE.search(folded.text)
        if not match:
            return self.failed("names no price")
        span = folded.span(*match.span())
        return self.passed(f"names a price: {quote(reply[slice(*span)])}", span)
