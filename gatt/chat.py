"""One conversation in the terminal: the instruction stands in turn 1, every reply is judged.

No torch here: whatever speaks the engine protocol can be talked to.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gatt.dialogue import Dialogue, Message
from gatt.errors import DataError, GenerationError
from gatt.generation.base import Engine, FinishReason, GenerationRequest, SamplingParams
from gatt.instruction import Entry, VerifierSpec
from gatt.verifiers import Status, Verdict, check_all, overall
from gatt.views import Placement, training_view

_GROUP = "chat"
"""One group for the whole conversation, so that the engine encodes only what is new."""


@dataclass(frozen=True)
class ChatInstruction:
    """What is told once, and what judges the replies."""

    text: str
    verifiers: tuple[VerifierSpec, ...] = ()
    """Empty for free text, which no rule can judge."""

    @classmethod
    def from_entry(cls, entry: Entry) -> ChatInstruction:
        """Return the instruction of a catalogue entry, in its first verbose wording."""
        return cls(entry.verbose[0], entry.verifiers)


@dataclass(frozen=True)
class ChatReply:
    """One reply with the verdict on it."""

    text: str
    finish: FinishReason
    status: Status | None
    """None where there is nothing to judge by."""
    verdicts: tuple[Verdict, ...]

    @property
    def evidence(self) -> str:
        """What led to the status: the verdicts that share it, in order."""
        return "; ".join(v.evidence for v in self.verdicts if v.status == self.status)


class Chat:
    """The state of one conversation: the model reads its own replies.

    Args:
        engine: who answers.
        params: how replies are drawn.
        instruction: told in turn 1; None for none.
        placement: where it stands there.
        adapter: name of a loaded adapter; None is the base model.
        check_text: raises `DataError` for a text that must not reach the model.
    """

    def __init__(
        self,
        engine: Engine,
        params: SamplingParams,
        *,
        instruction: ChatInstruction | None = None,
        placement: Placement = "system",
        adapter: str | None = None,
        check_text: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.instruction: ChatInstruction | None = None
        self._engine = engine
        self._params = params
        self._placement = placement
        self._adapter = adapter
        self._check_text = check_text
        self._messages: tuple[Message, ...] = ()
        self._num_draws = 0
        self._saved: set[tuple[Path, str]] = set()
        if instruction is not None:
            self.instruct(instruction)

    @property
    def num_turns(self) -> int:
        """Turns that have a reply."""
        return len(self._messages) // 2

    def say(self, text: str) -> ChatReply:
        """Return the reply to one user message; both join the history.

        Raises:
            DataError: a blank message, or one with control tokens.
            GenerationError: the context of the model is full, or the reply is
                empty; the history stays as it was.
        """
        self._check_text(text)
        asked = (*self._messages, Message("user", text))
        view = training_view(Dialogue(_GROUP, asked), self._text, self._placement)
        # Counted, so that a second draw of the same turn is another one.
        self._num_draws += 1
        request = GenerationRequest(f"{_GROUP}/{self._num_draws}", view.messages, _GROUP)
        answer = self._engine.generate([request], self._params, self._adapter)[0]
        if not answer.text.strip():
            if answer.finish == "context_limit":
                raise GenerationError(
                    f"the model's context is full after {self.num_turns} turns: /save keeps the "
                    "dialogue, /reset starts over"
                )
            if answer.finish == "length":
                raise GenerationError(
                    "the length limit came before the reply, since the model reasons first: raise "
                    "--max-new-tokens, or switch it off, as with --template enable_thinking=false"
                )
            raise GenerationError("the model gave an empty reply: ask again or in other words")
        self._messages = (*asked, Message("assistant", answer.text))
        specs = self.instruction.verifiers if self.instruction else ()
        verdicts = check_all(specs, answer.text)
        status = overall(verdicts) if verdicts else None
        return ChatReply(answer.text, answer.finish, status, verdicts)

    def retry(self) -> ChatReply:
        """Return another reply to the last user message, in place of the first.

        Raises:
            DataError: nothing was said yet.
            GenerationError: see `say`; the earlier reply stays.
        """
        if not self._messages:
            raise DataError("nothing to retry: say something first")
        before = self._messages
        self._messages = before[:-2]
        try:
            return self.say(before[-2].content)
        except BaseException:
            self._messages = before
            raise

    def reset(self) -> None:
        """Forget the dialogue; the instruction stays."""
        self._messages = ()

    def instruct(self, instruction: ChatInstruction) -> None:
        """Take another instruction and start over, since it belongs to turn 1.

        Raises:
            DataError: a blank instruction, or one with control tokens.
        """
        if not instruction.text.strip():
            raise DataError("the instruction is blank: expected some text")
        self._check_text(instruction.text)
        self.instruction = instruction
        self.reset()

    def save(self, path: Path) -> str:
        """Append the dialogue, as the model reads it, to a JSONL file; return its id.

        Saving the same dialogue to the same file again adds nothing.

        Raises:
            DataError: nothing was said yet, or the file cannot be written.
        """
        if not self._messages:
            raise DataError("nothing to save: say something first")
        view = training_view(Dialogue(_GROUP, self._messages), self._text, self._placement)
        rows = [m.as_dict() for m in view.messages]
        digest = hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:12]
        identity = f"{_GROUP}-{digest}"
        line = json.dumps({"id": identity, "messages": rows}, ensure_ascii=False)
        if (path, identity) not in self._saved:
            try:
                with path.open("a", encoding="utf-8") as stream:
                    stream.write(f"{line}\n")
            except OSError as error:
                raise DataError(f"{path}: cannot write: {error.strerror}") from None
            self._saved.add((path, identity))
        return identity

    @property
    def _text(self) -> str | None:
        return self.instruction.text if self.instruction else None


def followed(statuses: Sequence[Status | None]) -> str:
    """Return one line on how many judged replies kept the instruction; empty for none."""
    judged = [s for s in statuses if s is not None]
    if not judged:
        return ""
    undecided = judged.count("undecided")
    more = f", {undecided} undecided" if undecided else ""
    return f"kept in {judged.count('pass')} of {len(judged)} replies{more}"
