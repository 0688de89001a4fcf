"""One conversation in the terminal: the instruction is given once, may change, and every reply is judged.

No torch here: whatever speaks the engine protocol can be talked to.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gatt.data.catalog.switch_leakage import still_follows
from gatt.data.catalog.switch_wording import TRAINING
from gatt.data.dialogue import Dialogue, Message
from gatt.data.instruction import Instruction, combine
from gatt.data.switches import Switch, SwitchKind, SwitchPlace, in_force, told_by_user
from gatt.data.views import Placement, training_view
from gatt.errors import DataError, GenerationError
from gatt.generation.base import Engine, FinishReason, GenerationRequest, SamplingParams
from gatt.runs.jsonl import refuse_compressed
from gatt.verifiers import Status, Verdict, check_all, overall

_GROUP = "chat"
"""One group for the whole conversation, so that the engine encodes only what is new."""


@dataclass(frozen=True)
class ChatReply:
    """One reply with the verdict on it."""

    text: str
    finish: FinishReason
    status: Status | None
    """None where there is nothing to judge by."""
    verdicts: tuple[Verdict, ...]
    is_leak: bool = False
    """Whether it follows what was replaced or taken back, see `gatt.data.catalog.switch_leakage`."""

    @property
    def evidence(self) -> str:
        """What led to the status: the verdicts that share it, in order."""
        return "; ".join(v.evidence for v in self.verdicts if v.status == self.status)


class Chat:
    """The state of one conversation: the model reads its own replies.

    Args:
        engine: who answers.
        params: how replies are drawn.
        instruction: given in turn 1; None for none.
        placement: where it stands there.
        switch_place: where a change of it is told: in a later system message, or in front of what the
            user says.
        alone_place: so where no system message stands first; None is `switch_place`.
        adapter: name of a loaded adapter; None is the base model.
        check_text: raises `DataError` for a text that must not reach the model.
    """

    def __init__(
        self,
        engine: Engine,
        params: SamplingParams,
        *,
        instruction: Instruction | None = None,
        placement: Placement = "system",
        switch_place: SwitchPlace = "system",
        alone_place: SwitchPlace | None = None,
        adapter: str | None = None,
        check_text: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._behind_place: SwitchPlace = switch_place
        self._alone_place: SwitchPlace = alone_place or switch_place
        self._first: Instruction | None = None
        self._switches: tuple[Switch, ...] = ()
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
    def switch_place(self) -> SwitchPlace:
        """Where the next change of the instruction is told."""
        has_system = self._first is not None and self._placement == "system"
        return self._behind_place if has_system else self._alone_place

    @property
    def num_turns(self) -> int:
        """Turns that have a reply."""
        return len(self._messages) // 2

    @property
    def instruction(self) -> Instruction | None:
        """What holds for the next reply; None where nothing does."""
        return in_force(self._first, self._switches, self.num_turns + 1)

    def say(self, text: str) -> ChatReply:
        """Return the reply to one user message; both join the history.

        Raises:
            DataError: a blank message, or one with control tokens.
            GenerationError: the context of the model is full, or the reply is
                empty; the history stays as it was.
        """
        self._check_text(text)
        asked = (*self._messages, Message("user", text))
        dialogue = Dialogue(_GROUP, asked)
        view = self._view(dialogue, self._switches)
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
                    "--max-new-tokens, or switch it off, as with --chat-template-kwargs enable_thinking=false"
                )
            raise GenerationError("the model gave an empty reply: ask again or in other words")
        self._messages = (*asked, Message("assistant", answer.text))
        turn = dialogue.num_turns
        held = in_force(self._first, self._switches, turn)
        verdicts = check_all(held.verifiers if held else (), answer.text)
        status = overall(verdicts) if verdicts else None
        is_leak = still_follows(self._first, self._switches, dialogue, turn, answer.text)
        return ChatReply(answer.text, answer.finish, status, verdicts, is_leak)

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
        """Forget the dialogue; what holds by now is given in turn 1."""
        self._first, self._switches = self.instruction, ()
        self._messages = ()

    def instruct(self, instruction: Instruction) -> None:
        """Take another instruction and start over, since it belongs to turn 1.

        Raises:
            DataError: a blank instruction, or one with control tokens.
        """
        self._refuse_unusable(instruction)
        self._first, self._switches = instruction, ()
        self.reset()

    def replace(self, instruction: Instruction) -> None:
        """Let another instruction hold from the next message on, while the dialogue goes on.

        What the next message carries is the change from what was told so far to what
        holds then, however many commands led there. Before the first message there is
        nothing to change: what holds is given in turn 1.

        Raises:
            DataError: a blank instruction, or one with control tokens.
        """
        self._refuse_unusable(instruction)
        self._hold(instruction)

    def add(self, instruction: Instruction) -> None:
        """Let a further instruction hold from the next message on, see `replace`.

        Raises:
            DataError: a blank instruction, or one with control tokens.
        """
        self._refuse_unusable(instruction)
        held = self.instruction
        self._hold(combine(held, instruction) if held else instruction, added=instruction)

    def cancel(self) -> None:
        """Let none hold from the next message on, see `replace`.

        Raises:
            DataError: none does.
        """
        if self.instruction is None:
            raise DataError("nothing to cancel: no instruction holds")
        self._hold(None)

    def _hold(self, new: Instruction | None, added: Instruction | None = None) -> None:
        """Announce with the next message what holds from it on; `added` is the last part of it."""
        turn = self.num_turns + 1
        if turn == 1:
            self._first = new
            return
        told = tuple(s for s in self._switches if s.turn < turn)
        is_first = told == self._switches
        held = in_force(self._first, told, turn)
        self._switches = told
        rng = random.Random(turn)
        kind: SwitchKind
        if new is None:
            if held is None:
                return
            kind, text = "cancel", rng.choice(TRAINING.texts["cancel", "verbose"])
        elif held is None:
            kind, text = "add", new.text
        elif added and is_first:
            kind, text = "add", TRAINING.of_new("add", added, rng)
        else:
            kind, text = "replace", TRAINING.of_new("replace", new, rng)
        self._switches = (*told, Switch(turn, kind, self.switch_place, text, new))

    def save(self, path: Path) -> str:
        """Append the dialogue, as the model reads it, to a JSONL file; return its id.

        But for one thing: dialogues have one system message, so a change that was given in
        a later one stands in front of what the user said.

        Saving the same dialogue to the same file again adds nothing.

        Raises:
            DataError: nothing was said yet, or the file cannot be written.
        """
        if not self._messages:
            raise DataError("nothing to save: say something first")
        refuse_compressed(path)
        view = self._view(Dialogue(_GROUP, self._messages), told_by_user(self._switches))
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

    def _view(self, dialogue: Dialogue, switches: Sequence[Switch]) -> Dialogue:
        """Return what the model reads; a change whose message is still to come is not in it."""
        text = self._first.text if self._first else None
        return training_view(dialogue, text, self._placement, switches)

    def _refuse_unusable(self, instruction: Instruction) -> None:
        if not instruction.text.strip():
            raise DataError("the instruction is blank: expected some text")
        self._check_text(instruction.text)


def followed(statuses: Sequence[Status | None]) -> str:
    """Return one line on how many judged replies kept the instruction; empty for none."""
    judged = [s for s in statuses if s is not None]
    if not judged:
        return ""
    undecided = judged.count("undecided")
    more = f", {undecided} undecided" if undecided else ""
    return f"kept in {judged.count('pass')} of {len(judged)} replies{more}"
