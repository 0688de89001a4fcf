"""One conversation: the instruction is given once, may change, and every reply is judged.

No torch here: whatever speaks the engine protocol can be talked to.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gatt.data.catalog.read import Catalog, load_catalog
from gatt.data.catalog.switch_leakage import still_follows
from gatt.data.catalog.switch_wording import TRAINING
from gatt.data.dialogue import Dialogue, Message
from gatt.data.instruction import Entry, Instruction, combine, compose
from gatt.data.switches import Switch, SwitchKind, SwitchPlace, in_force, told_by_user
from gatt.data.views import Placement, training_view
from gatt.errors import DataError, GenerationError
from gatt.generation.base import Engine, FinishReason, GenerationRequest, SamplingParams
from gatt.runs.input_file import refuse_compressed
from gatt.verifiers import Status, check_all, overall

FREE_TEXT = "text"
"""Id of an instruction that is no entry of the catalogue."""
GetCatalog = Callable[[], Catalog]
"""Gives the catalogue when it is asked for."""


def from_text(text: str) -> Instruction:
    """Return the instruction of free text, by which no rule can judge."""
    return Instruction(FREE_TEXT, text, "verbose", (), (), "train", ())


def from_entry(entry: Entry) -> Instruction:
    """Return the instruction of a catalogue entry, in its first verbose wording."""
    first = dataclasses.replace(entry, verbose=entry.verbose[:1])
    return compose([first], random.Random(0), terse_probability=0.0)


def named(text: str, catalog: GetCatalog) -> Instruction:
    """Return the entry of an id, which is one word that begins with a family; or the free text.

    Raises:
        CatalogError: a family of the catalogue has no such entry.
    """
    family, dot, _ = text.partition(".")
    if dot and not text.split()[1:] and family in catalog().families:
        return from_entry(catalog().entry(text))
    return from_text(text)


def in_words(instruction: Instruction | None) -> str:
    """Return the text of what holds, with what of it no rule judges."""
    if instruction is None:
        return "no instruction"
    if not instruction.verifiers:
        return f"{instruction.text} (free text: replies are not judged)"
    is_mixed = FREE_TEXT in instruction.id.split("+")
    return f"{instruction.text}{' (its free text is not judged)' if is_mixed else ''}"


_GROUP = "chat"
"""One group for the whole conversation, so that the engine encodes only what is new."""
MARKS: Mapping[Status | None, str] = {"pass": "✓", "fail": "✗", "undecided": "?", None: "–"}
_CUTS: Mapping[FinishReason, str] = {
    "length": "its length limit",
    "context_limit": "the end of the context",
    "content_filter": "the server's filter",
    "unanswered": "the server, which has no reply",
}


@dataclass(frozen=True)
class ChatReply:
    """One reply with the verdict on it."""

    text: str
    status: Status | None
    """None where there is nothing to judge by."""
    evidence: str
    """What led to the status."""
    is_leak: bool
    """Whether it follows what was replaced or taken back, see `gatt.data.catalog.switch_leakage`."""
    cut: str
    """What cut it short; empty where nothing did."""


@dataclass(kw_only=True)
class Chat:
    """The state of one conversation: the model reads its own replies."""

    engine: Engine
    params: SamplingParams
    catalog: GetCatalog = load_catalog
    first: Instruction | None = None
    """Given in turn 1; None for none."""
    placement: Placement = "system"
    """Where it stands there."""
    switch_place: SwitchPlace = "system"
    """Where a change of it is told: in a later system message, or in front of what the user says."""
    alone_place: SwitchPlace | None = None
    """So where no system message stands first; None is `switch_place`."""
    adapter: str | None = None
    """Name of a loaded adapter; None is the base model."""
    check_text: Callable[[str], None] = lambda _: None
    """Raises `DataError` for a text that must not reach the model."""
    _switches: tuple[Switch, ...] = field(default=(), init=False)
    _messages: tuple[Message, ...] = field(default=(), init=False)
    _statuses: tuple[Status | None, ...] = field(default=(), init=False)
    """One a turn."""
    _num_draws: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.first = self.first and self._usable(self.first)

    @property
    def num_turns(self) -> int:
        """Turns that have a reply."""
        return len(self._statuses)

    @property
    def instruction(self) -> Instruction | None:
        """What holds for the next reply; None where nothing does."""
        return in_force(self.first, self._switches, self.num_turns + 1)

    @property
    def tally(self) -> str:
        """How many judged replies kept the instruction; empty where none was judged."""
        judged = [status for status in self._statuses if status is not None]
        if not judged:
            return ""
        undecided = judged.count("undecided")
        more = f", {undecided} undecided" if undecided else ""
        return f"kept in {judged.count('pass')} of {len(judged)} replies{more}"

    def say(self, text: str) -> ChatReply:
        """Return the reply to one user message; both join the history.

        Raises:
            DataError: a blank message, or one with control tokens.
            GenerationError: the context of the model is full, or the reply is
                empty; the history stays as it was.
        """
        self.check_text(text)
        asked = (*self._messages, Message("user", text))
        dialogue = Dialogue(_GROUP, asked)
        view = self._view(dialogue, self._switches)
        # Counted, so that a second draw of the same turn is another one.
        self._num_draws += 1
        request = GenerationRequest(f"{_GROUP}/{self._num_draws}", view.messages, _GROUP)
        answer = self.engine.generate([request], self.params, self.adapter)[0]
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
        turn = dialogue.num_turns
        held = in_force(self.first, self._switches, turn)
        verdicts = check_all(held.verifiers if held else (), answer.text)
        status = overall(verdicts) if verdicts else None
        is_leak = still_follows(self.first, self._switches, dialogue, turn, answer.text)
        self._messages = (*asked, Message("assistant", answer.text))
        self._statuses = (*self._statuses, status)
        evidence = "; ".join(v.evidence for v in verdicts if v.status == status)
        return ChatReply(answer.text, status, evidence, is_leak, _CUTS.get(answer.finish, ""))

    def reset(self) -> None:
        """Forget the dialogue; what holds by now is given in turn 1."""
        self.first = self.instruction
        self._switches, self._messages, self._statuses = (), (), ()

    def replace(self, text: str) -> None:
        """Let another instruction hold from the next message on, while the dialogue goes on.

        What the next message carries is the change from what was told so far to what
        holds then, however many commands led there. Before the first message there is
        nothing to change: what holds is given in turn 1.

        Raises:
            CatalogError: no such entry.
            DataError: a blank instruction, or one with control tokens.
        """
        self._hold(self._usable(named(text, self.catalog)))

    def add(self, text: str) -> None:
        """Let a further instruction hold from the next message on, see `replace`.

        Raises:
            DataError: also where the two exclude each other.
        """
        new, held = self._usable(named(text, self.catalog)), self.instruction
        for one in new.entries:
            for other in held.entries if held else ():
                catalog = self.catalog()
                if catalog.conflicts.between(catalog.entry(one), catalog.entry(other)):
                    raise DataError(f"{one} cannot hold beside {other}: /replace it")
        self._hold(combine(held, new) if held else new, added=new)

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
            self.first = new
            return
        told = tuple(s for s in self._switches if s.turn < turn)
        is_first = told == self._switches
        held = in_force(self.first, told, turn)
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
        has_system = self.first is not None and self.placement == "system"
        place = self.switch_place if has_system else self.alone_place or self.switch_place
        self._switches = (*told, Switch(turn, kind, place, text, new))

    def save(self, path: Path) -> None:
        """Append the dialogue, as the model reads it, to a JSONL file that does not have it yet.

        But for one thing: dialogues have one system message, so a change that was given in
        a later one stands in front of what the user said.

        Raises:
            DataError: nothing was said yet, or the file cannot be written.
        """
        if not self._messages:
            raise DataError("nothing to save: say something first")
        refuse_compressed(path)
        view = self._view(Dialogue(_GROUP, self._messages), told_by_user(self._switches))
        rows = [m.as_dict() for m in view.messages]
        digest = hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:12]
        row = {"id": f"{_GROUP}-{digest}", "messages": rows}
        line = f"{json.dumps(row, ensure_ascii=False)}\n"
        try:
            with path.open("a+", encoding="utf-8") as stream:
                stream.seek(0)
                if line not in stream:
                    stream.write(line)
        except OSError as error:
            raise DataError(f"{path}: cannot write: {error.strerror}") from None

    def _view(self, dialogue: Dialogue, switches: Sequence[Switch]) -> Dialogue:
        """Return what the model reads; a change whose message is still to come is not in it."""
        text = self.first.text if self.first else None
        return training_view(dialogue, text, self.placement, switches)

    def _usable(self, instruction: Instruction) -> Instruction:
        if not instruction.text.strip():
            raise DataError("the instruction is blank: expected some text")
        self.check_text(instruction.text)
        return instruction
