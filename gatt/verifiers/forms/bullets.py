"""`bullets`: lines of a markdown list."""

from __future__ import annotations

import re

from gatt.verifiers.base import Verdict
from gatt.verifiers.rule import Rule, require_bounds, shipped_examples

# With a blank behind them: "*so*" is emphasis, "+5" and "-5" are numbers, "–" opens a remark.
_SPACED = r"[-*+–—~»›][ \t]++"
# Nothing else is ever written with these at the start of a line.
_SIGNS = (
    r"[•◦‣⁃∙·●○◉■□▪▫◾◽◼◻▸▹►▻▶▷➤➢➔➜➡→⇒✓✔✅☑✗✦✧✪★☆❖♦◆◇❯\U0001f538\U0001f539\U0001f536\U0001f537"
    r"\U0001f449]\ufe0f?[ \t]*+"
)
# Typed in haste; "-5" is a number and "--" a dash.
_GLUED = r"-(?=[^\W\d_]|[\"'“‘*(\[])"
_NUMBERED = r"\d{1,3}(?:[.)][ \t]++|\)(?=[^\W_]))"
_REST = r"[^\n]*?[^\W_][^\n]*$"
_START = r"^[ \t]*+(?:>[ \t]*+)?"
_ITEM = re.compile(rf"{_START}(?:{_SPACED}|{_SIGNS}|{_GLUED}|{_NUMBERED}){_REST}", re.MULTILINE)


class Bullets(Rule):
    """Passes if the number of list items ("- ", "* ", "• ", "→ ", "1. ") is within the bounds.

    A dash may stand right before its word ("-tea"); other signs that are letters of
    markdown or arithmetic need a blank behind them.

    Args:
        min: fewest allowed, a whole number from 1 up.
        max: most allowed; unbounded if not given.
    """

    kind = "bullets"
    version = 2
    examples = shipped_examples(kind)

    def __init__(self, *, min: int | None = 2, max: int | None = None) -> None:  # noqa: A002
        self._low, self._high = require_bounds(self.kind, min, max, least=1)

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        found = list(_ITEM.finditer(reply))
        if len(found) < self._low:
            return self.failed(f"{len(found)} bullet lines, expected at least {self._low}")
        if self._high is not None and len(found) > self._high:
            return self.failed(f"{len(found)} bullet lines, expected at most {self._high}")
        span = (found[0].start(), found[-1].end()) if found else None
        return self.passed(f"{len(found)} bullet lines", span)
