"""One training row, cut into pieces of text."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from gatt.comb.comb import IGNORE, Comb
from gatt.commands.show.outline import Part, shared_outline
from gatt.data.sample import GattSample
from gatt.data.views import TrainingPlacement
from gatt.errors import DataError, TemplateError
from gatt.models.chat_template import Tokenizer
from gatt.models.control_tokens import is_control
from gatt.models.encoded_view import encode_reply
from gatt.train.data.labels import Supervise, view_of_turns


@dataclass(frozen=True)
class Piece:
    """Neighbouring tokens of one part and one label, as text."""

    text: str
    part: Part
    has_loss: bool
    is_control: bool
    num_tokens: int


@dataclass(frozen=True)
class ShownBranch:
    """One target with the turn that it answers."""

    turn: int
    fork: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class ShownRow:
    """A comb, or a plain row without branches."""

    comb: Comb
    turns: tuple[int, ...]
    """Turns of the dialogue that stand in the row, from 1, ascending."""
    trunk: tuple[Piece, ...]
    branches: tuple[ShownBranch, ...]
    target_turns: tuple[int, ...]
    """Turns whose target carries loss in this row."""


@dataclass(frozen=True)
class RowCutter:
    """Cuts the rows of one sample into pieces."""

    tokenizer: Tokenizer
    sample: GattSample
    supervise: Supervise
    """Which tokens of the sample carry loss."""
    placement: TrainingPlacement

    def row(self, comb: Comb, turns: tuple[int, ...]) -> ShownRow:
        """Return a row of `rows_of`."""
        labelled = _labelled(comb)
        length = len(comb.trunk)
        # A reply that ends the row may be longer than the turns that the outline has there.
        end = labelled[-1][0] if labelled and labelled[-1][1] == length else length
        outline = shared_outline(self.tokenizer, self.sample, turns, self.placement)
        last = max(turn for fork, turn in outline.turn_of_fork.items() if fork <= end)
        shown = turns[: turns.index(last) + 1]
        parts = [*outline.parts[:length], *_targets(length - len(outline.parts))]
        supervised = [outline.turn_of_fork[b.fork] for b in comb.branches if b.labels[0] != IGNORE]
        for start, stop in labelled:
            turn = outline.turn_of_fork[start]
            is_target = self._is_target(comb, turns, turn, start, stop)
            said: Part = "target" if is_target else "reply"
            parts[start:stop] = [said] * (stop - start)
            if is_target:
                supervised.append(turn)
        branches = tuple(
            ShownBranch(
                outline.turn_of_fork[b.fork],
                b.fork,
                self._pieces(b.input_ids, b.labels, _targets(len(b.input_ids))),
            )
            for b in comb.branches
        )
        trunk = self._pieces(comb.trunk, comb.trunk_labels, parts)
        return ShownRow(comb, shown, trunk, branches, tuple(sorted(supervised)))

    def _is_target(
        self, comb: Comb, turns: tuple[int, ...], turn: int, start: int, end: int
    ) -> bool:
        """Return whether labelled trunk tokens are a target, not the dialogue's own reply."""
        reply = self.sample.targets[turn - 1].reply
        if self.supervise != "all_turns" or comb.branches or reply is None:
            return self.supervise == "last_turn"
        # A plain row of `all_turns` ends in either.
        view = view_of_turns(self.sample, turns, self.placement)
        index = turns.index(turn) + 1
        try:
            ids = encode_reply(self.tokenizer, view, index, comb.trunk[:start], reply)
        except (DataError, TemplateError):
            return False
        return ids == comb.trunk[start:end]

    def _pieces(
        self, ids: tuple[int, ...], labels: tuple[int, ...], parts: list[Part]
    ) -> tuple[Piece, ...]:
        def kind(index: int) -> tuple[Part, bool, bool]:
            return parts[index], labels[index] != IGNORE, is_control(self.tokenizer, ids[index])

        pieces = []
        # Whole groups are decoded, since a character may be spread over several tokens.
        for (part, has_loss, is_mark), group in groupby(range(len(ids)), key=kind):
            tokens = [ids[i] for i in group]
            text = self.tokenizer.decode(tokens, clean_up_tokenization_spaces=False)
            pieces.append(Piece(text, part, has_loss, is_mark, len(tokens)))
        return tuple(pieces)


def _labelled(comb: Comb) -> list[tuple[int, int]]:
    """Return [start, end) of each run of trunk tokens that carry loss."""
    runs = []
    for has_loss, group in groupby(
        range(len(comb.trunk)), key=lambda i: comb.trunk_labels[i] != IGNORE
    ):
        indices = list(group)
        if has_loss:
            runs.append((indices[0], indices[-1] + 1))
    return runs


def _targets(length: int) -> list[Part]:
    return ["target"] * length
