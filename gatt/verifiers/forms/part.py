"""`part`: a rule that one part of the reply, or every part, must keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gatt.verifiers.base import Verdict
from gatt.verifiers.logic import Inner
from gatt.verifiers.rule import Rule, quote
from gatt.verifiers.text.sentences import sentences
from gatt.verifiers.text.words import words

Which = Literal["first", "last", "every"]
Unit = Literal["line", "sentence", "word"]


@dataclass(frozen=True, kw_only=True)
class PartRule(Rule):
    """Passes if another rule passes on the first, the last or every line, sentence or word.

    Blank lines do not count. Beside the first or last part the reply must say something.

    Args:
        which: the part that is judged.
        unit: what the reply is cut into.
        of: the other rule, `{kind: ..., parameter: ...}`.
    """

    kind = "part"
    reads_markup = True

    which: Which
    unit: Unit
    of: Inner

    def decide(self, reply: str) -> Verdict:
        parts = self._parts(reply)
        if not parts:
            return self.failed(f"no {self.unit}")
        if self.which == "every":
            chosen = parts
        else:
            place = 0 if self.which == "first" else -1
            chosen = [parts.pop(place)]
            if not words(" ".join(parts)):
                return self.failed(f"nothing beside the {self.which} {self.unit}")
        # An inner rule's `check` would refuse a word or a line as too little for a reply.
        verdicts = [(part, self.of.decide(part)) for part in chosen]
        for status in ("fail", "undecided"):
            for part, verdict in verdicts:
                if verdict.status == status:
                    evidence = f"{self.unit} {quote(part)}: {verdict.evidence}"
                    return self.verdict(verdict.status, evidence)
        return self.passed(f"{self.which} {self.unit}: {verdicts[-1][1].evidence}")

    def _parts(self, reply: str) -> list[str]:
        if self.unit == "line":
            return [line.strip() for line in reply.splitlines() if line.strip()]
        return sentences(reply) if self.unit == "sentence" else words(reply)
