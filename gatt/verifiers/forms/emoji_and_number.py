"""`emoji` and `number`: things that a reply must hold some of."""

from __future__ import annotations

import re
from typing import ClassVar

from gatt.verifiers.base import Examples
from gatt.verifiers.forms.counting_rule import PatternRule
from gatt.verifiers.text.markup import EMOJI

_FLAG = r"[\U0001f1e6-\U0001f1ff]{2}"
_KEYCAP = r"[0-9#*]\ufe0f?\u20e3"
# Shown as pictures by themselves; "™", "→" and "✓" only where a selector (U+FE0F) asks for it.
_PICTURE = (
    "\u231a\u231b\u23e9-\u23f3\u23f8-\u23fa\u2600-\u2604\u260e\u2614\u2615\u2618\u261d\u2620\u2622\u2623"
    "\u2626\u262a\u262e\u262f\u2638-\u263a\u2648-\u2653\u2660\u2663\u2665\u2666\u2668\u267b\u267f\u2692-\u2697"
    "\u2699\u269b\u269c\u26a0\u26a1\u26aa\u26ab\u26b0\u26b1\u26bd\u26be\u26c4\u26c5\u26c8\u26ce\u26cf\u26d1"
    "\u26d3\u26d4\u26e9\u26ea\u26f0-\u26f5\u26f7-\u26fa\u26fd\u2702\u2705\u2708-\u270d\u270f\u2712\u2728\u2744"
    "\u274c\u274e\u2753-\u2755\u2757\u2763\u2764\u2795-\u2797\u27b0\u27bf\u2b1b\u2b1c\u2b50\u2b55"
    "\U0001f004\U0001f0cf\U0001f18e\U0001f191-\U0001f19a\U0001f201\U0001f21a\U0001f22f\U0001f232-\U0001f23a"
    "\U0001f250\U0001f251\U0001f300-\U0001f64f\U0001f680-\U0001f6ff\U0001f7e0-\U0001f7f0\U0001f90c-\U0001faff"
)
_PICTOGRAPH = rf"(?:[{_PICTURE}]|[{EMOJI}©®Ⓜ]\ufe0f)[\ufe0f\U0001f3fb-\U0001f3ff]*"
_ONE_EMOJI = f"(?:{_FLAG}|{_KEYCAP}|{_PICTOGRAPH})"
_EMOJI = re.compile(rf"{_ONE_EMOJI}(?:\u200d{_ONE_EMOJI})*")
_NUMBER = re.compile(r"(?<![^\W_])\d+(?:[.,:/]\d+)*")


class Emoji(PatternRule):
    """Passes if the number of emoji is within the bounds; a joined family counts once.

    Args:
        min: fewest allowed, a whole number from 1 up.
        max: most allowed; unbounded if not given.

    Raises:
        VerifierError: no bound, a bound that is no whole number from 1 up, or
            `min` above `max`.
    """

    kind = "emoji"
    version = 2
    regex = _EMOJI
    examples: ClassVar[tuple[Examples, ...]] = (
        Examples(
            {"min": 1, "max": 2},
            good=("I like tea 😊", "Family first 👨‍👩‍👧 and France 🇫🇷!", "Hot tea ❗", "I ❤ tea ✔️"),
            bad=("I like tea :)", "Too many 😊😊😊 of them", "Tea™ → milk ✓ ★"),
        ),
    )


class Number(PatternRule):
    """Passes if the number of numbers in digits is within the bounds ("3.14" is one).

    Args:
        min: fewest allowed, a whole number from 1 up.
        max: most allowed; unbounded if not given.

    Raises:
        VerifierError: no bound, a bound that is no whole number from 1 up, or
            `min` above `max`.
    """

    kind = "number"
    regex = _NUMBER
    examples: ClassVar[tuple[Examples, ...]] = (
        Examples(
            {"min": 2},
            good=("I bought 3 apples for 2.50 euros.", "Between 1,000 and 2,000 people came."),
            bad=("I bought three apples.", "It costs 2.50 euros."),
        ),
    )
