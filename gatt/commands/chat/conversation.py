"""One conversation: the instruction is given once, may change, and every reply is judged.

No torch here: whatever speaks the engine protocol can be talked to.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gatt.data.answers import answers, flaw_of
from gatt.data.catalog.read import Catalog, load_catalog
from gatt.data.catalog.switch_leakage import still_follows
from gatt.data.catalog.switch_wording import TRAINING
from gatt.data.dialogue import Dialogue, Message
from gatt.data.expectation import Expectation
from gatt.data.instruction import Entry, Instruction, compose
from gatt.data.switches import Switch, SwitchKind, in_force
from gatt.data.views import Placement, training_view
from gatt.errors import DataError, GenerationError
from gatt.generation.base import Engine, FinishReason, GenerationRequest, SamplingParams
from gatt.verifiers import Status, check_all, overall


def from_text(text: str) -> Instruction:
    """Return the instruction of free text, by which no rule can judge."""
    return Instruction("text", text, "verbose", (), (), "train", ())


def from_entry(entry: Entry) -> Instruction:
    """Return the instruction of a catalogue entry, in its first verbose wording."""
    first = dataclasses.replace(entry, verbose=entry.verbose[:1])
    return compose([first], random.Random(0), terse_probability=0.0)


def in_words(instruction: Instruction | None) -> str:
    """Return the text of what holds, and whether no rule judges it."""
    if instruction is None:
        return "no instruction"
    unjudged = "" if instruction.verifiers else " (free text: replies are not judged)"
    return f"{instruction.text}{unjudged}"


_GROUP = "chat"
"""One group for the whole conversation, so that the engine encodes only what is new."""
MARKS: Mapping[Status | None, str] = {"pass": "✓", "fail": "✗", "undecided": "?", None: "–"}
_CUTS: Mapping[FinishReason, str] = {
    "length": "(cut by its length limit)",
    "context_limit": "(cut by the end of the context)",
    "content_filter": "(cut by the server's filter)",
    "other": "(ended by the server: {word})",
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
    instruction: str
    """The text of what held; empty for none."""
    answers: Status | None
    """Whether it says what the message asks for, or fails as no reply at all (a copy, a repetition, a loop).
    None where nothing is expected."""
    answers_evidence: str


@dataclass(kw_only=True)
class Chat:
    """The state of one conversation: the model reads its own replies."""

    engine: Engine
    params: SamplingParams
    catalog: Callable[[], Catalog] = load_catalog
    """Gives the catalogue when it is asked for."""
    first: Instruction | None = None
    """Given in turn 1; None for none."""
    placement: Placement = "system"
    """Where it stands there."""
    adapter: str | None = None
    """Name of a loaded adapter; None is the base model."""
    check_text: Callable[[str], None] = lambda _: None
    """Raises `DataError` for a text that must not reach the model."""
    _switches: tuple[Switch, ...] = field(default=(), init=False)
    _messages: tuple[Message, ...] = field(default=(), init=False)
    _statuses: tuple[Status | None, ...] = field(default=(), init=False)
    """One a turn."""
    _expected: tuple[Expectation | None, ...] = field(default=(), init=False)
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
        rest = f", {undecided} undecided" if undecided else ""
        return f"kept in {judged.count('pass')} of {len(judged)} replies{rest}"

    def say(self, text: str, expected: Expectation | None = None) -> ChatReply:
        """Return the reply to one user message; both join the history.

        `expected` is what the reply must say; None where nobody knows.

        Raises:
            DataError: a blank message, or one with control tokens.
            GenerationError: the context of the model is full, or the reply is
                empty; the history stays as it was.
        """
        self.check_text(text)
        asked = (*self._messages, Message("user", text))
        dialogue = Dialogue(_GROUP, asked)
        given = self.first.text if self.first else None
        view = training_view(dialogue, given, self.placement, self._switches)
        # Counted, so that a second draw of the same turn is another one.
        self._num_draws += 1
        request = GenerationRequest(f"{_GROUP}/{self._num_draws}", view.messages, _GROUP)
        answer = self.engine.generate([request], self.params, self.adapter)[0]
        if not answer.text.strip():
            if answer.finish == "context_limit":
                raise GenerationError(
                    f"the model's context is full after {self.num_turns} turns: /reset starts over"
                )
            if answer.finish == "length":
                raise GenerationError(
                    "the length limit came before the reply, since the model reasons first: raise "
                    "--max-new-tokens, or switch it off, as with --chat-template-kwargs enable_thinking=false"
                )
            if answer.finish == "other":
                raise GenerationError(f"the server ended the reply with {answer.server_end!r}")
            raise GenerationError("the model gave an empty reply: ask again or in other words")
        turn = dialogue.num_turns
        held = in_force(self.first, self._switches, turn)
        verdicts = check_all(held.verifiers if held else (), answer.text)
        status = overall(verdicts) if verdicts else None
        is_leak = still_follows(self.first, self._switches, dialogue, turn, answer.text)
        instruction = held.text if held else ""
        answered = self._answered(answer.text, text, expected, instruction)
        self._messages = (*asked, Message("assistant", answer.text))
        self._statuses = (*self._statuses, status)
        self._expected = (*self._expected, expected)
        cut = _CUTS.get(answer.finish, "").format(word=answer.server_end)
        evidence = "; ".join(v.evidence for v in verdicts if v.status == status)
        return ChatReply(answer.text, status, evidence, is_leak, cut, instruction, *answered)

    def _answered(
        self, reply: str, user: str, expected: Expectation | None, instruction: str
    ) -> tuple[Status | None, str]:
        """Return whether a reply answers a message, and why; None where the message expects nothing."""
        earlier = [m.content for m in self._messages if m.role == "assistant"]
        if expected is None:
            flaw = flaw_of(reply, user, earlier)
            return ("fail", flaw) if flaw else (None, "")
        verdict = answers(expected, reply, user, earlier, self._expected, instruction)
        return verdict.status, verdict.evidence

    def reset(self) -> None:
        """Forget the dialogue; the instruction in force is then given in turn 1."""
        self.first = self.instruction
        self._switches, self._messages, self._statuses, self._expected = (), (), (), ()

    def restart(self, text: str | None) -> None:
        """Forget the dialogue, and give another instruction in turn 1; blank for none. See `change`."""
        if text or self.instruction:
            self.change(text or None)
        self.reset()

    def change(self, text: str | None) -> None:
        """Replace or cancel the instruction from the next message on; the dialogue continues.

        Several changes before the next message count as one, from the instruction that the model knows to
        the last one. Before the first message nothing is announced: the instruction is given in turn 1.

        `text` is the id of a catalogue entry, which is one word that begins with a family, or free text; None
        is no instruction.

        Raises:
            CatalogError: a family of the catalogue has no such entry.
            DataError: a blank instruction, one with control tokens, or none where none holds.
        """
        new = None
        if text is not None:
            family, dot, _ = text.partition(".")
            is_id = dot and not text.split()[1:] and family in self.catalog().families
            new = self._usable(from_entry(self.catalog().entry(text)) if is_id else from_text(text))
        elif self.instruction is None:
            raise DataError("nothing to cancel: no instruction holds")
        turn = self.num_turns + 1
        if turn == 1:
            self.first = new
            return
        self._switches = tuple(s for s in self._switches if s.turn < turn)
        held = in_force(self.first, self._switches, turn)
        rng = random.Random(turn)
        kind: SwitchKind
        if new is None:
            if held is None:
                return
            kind, announcement = "cancel", rng.choice(TRAINING.texts["cancel", "verbose"])
        elif held is None:
            kind, announcement = "add", new.text
        else:
            kind, announcement = "replace", TRAINING.of_new("replace", new, rng)
        self._switches = (*self._switches, Switch(turn, kind, "user", announcement, new))

    def _usable(self, instruction: Instruction) -> Instruction:
        if not instruction.text.strip():
            raise DataError("the instruction is blank: expected some text")
        self.check_text(instruction.text)
        return instruction
