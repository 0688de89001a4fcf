"""What a verifier is: a rule that reads one reply and gives a verdict with evidence."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from typing import ClassVar

from gatt.errors import GattError, VerifierError
from gatt.verifiers.base import Examples, Status, Verdict
from gatt.verifiers.phrases import read_phrases
from gatt.verifiers.text.degenerate import degenerate
from gatt.verifiers.text.markup import visible
from gatt.verifiers.text.task_talk import without_task_talk

Span = tuple[int, int]
EVIDENCE_CHARACTERS = 60
MAX_CHARACTERS = 20_000
"""Length up to which a reply is read: every rule takes time linear in the length up to here."""


class _OfTheKind:
    """The examples of a kind that is shipped, read at their first use."""

    def __get__(self, _: object, cls: type[Rule]) -> tuple[Examples, ...]:
        return tuple(
            Examples(one["params"], tuple(one.get("good", ())), tuple(one.get("bad", ())))
            for one in read_phrases("examples").get(cls.kind, ())
        )


class Rule(ABC):
    """A verifier that answers `fail` on degenerate text before it judges.

    It also fails a reply that only talks about its task: that refuses, repeats, promises
    or questions the instruction (`task_talk`). Beside such talk, a rule of sense
    (`reads_sense`) judges the rest of the reply; a rule of form judges all of it.

    Subclasses set `kind`, `version` and `examples`, take their parameters by
    keyword, and write `decide`. A constructor raises `VerifierError` for parameters that make no
    sense, so that a catalogue is refused before the first reply is sampled. `decide` gets what a
    reader sees (`visible`), as long as the reply, unless the subclass sets `reads_markup`.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    """Raised by one with every change that can change a verdict."""
    reads_sense: ClassVar[bool] = False
    """Whether `decide` gets the reply with talk about the task blanked, as it reads what is meant."""
    reads_markup: ClassVar[bool] = False
    """Whether `decide` needs the reply with comments, tags and addresses, as it was written."""
    examples: ClassVar[tuple[Examples, ...]] = _OfTheKind()  # type: ignore[assignment]
    """At least one set; `gatt catalog check` and the tests run them all."""

    def check(self, reply: str) -> Verdict:
        """Return the verdict on one reply; degenerate text and mere talk about the task always fail.

        A reply of more than `MAX_CHARACTERS` is undecided before anything reads it.

        Raises:
            VerifierError: `decide` fails, or returns something else; no shipped one does.
        """
        if len(reply) > MAX_CHARACTERS:
            return self.undecided(f"{len(reply)} characters: longer than {MAX_CHARACTERS}")
        if reason := degenerate(reply):
            return self.failed(reason)
        seen = self.seen_of(reply)
        if not any(map(str.isalpha, seen)):
            return self.failed("nothing that a reader sees")
        said = without_task_talk(seen)
        if not said.strip():
            return self.failed("only talks about the instruction")
        try:
            verdict = self.decide(
                said if self.reads_sense else reply if self.reads_markup else seen
            )
            if isinstance(verdict, Verdict):
                return verdict
            raise TypeError(f"returns {type(verdict).__name__}: expected self.passed(…) or another")
        except GattError:
            raise
        except Exception as error:
            where = f"verifier {self.kind!r} of {sys.modules[self.__module__].__file__}"
            raise VerifierError(f"{where}: fails on {quote(reply)}: {one_line(error)}") from error

    def seen_of(self, reply: str) -> str:
        """Return what the rule reads of a reply: what a reader sees, addresses veiled."""
        return visible(reply)

    @abstractmethod
    def decide(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""

    def passed(self, evidence: str, span: Span | None = None) -> Verdict:
        """Return a pass."""
        return self.verdict("pass", evidence, span)

    def failed(self, evidence: str, span: Span | None = None) -> Verdict:
        """Return a fail."""
        return self.verdict("fail", evidence, span)

    def undecided(self, evidence: str, span: Span | None = None) -> Verdict:
        """Return that the rule cannot tell."""
        return self.verdict("undecided", evidence, span)

    def verdict(self, status: Status, evidence: str, span: Span | None = None) -> Verdict:
        """Return a verdict of any status."""
        return Verdict(status, evidence, self.kind, self.version, span)


def one_line(error: Exception) -> str:
    """Return an error of code that is not ours, for a message."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def quote(text: str) -> str:
    """Return a text as evidence shows it: quoted, on one line, cut if long."""
    line = " ".join(text.split())
    if len(line) > EVIDENCE_CHARACTERS:
        line = line[: EVIDENCE_CHARACTERS - 1] + "…"
    return repr(line)
