"""Samples as one self-contained page: instruction, turns, targets, what carries loss, reasons of gaps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined

from gatt.commands.show.text import LEGEND, counts_line, ranges, settings_line
from gatt.commands.show.view import ShownSample
from gatt.data.sample import GattSample, TurnTarget
from gatt.data.switches import Switch
from gatt.train.config import TrainConfig


@dataclass(frozen=True)
class Turn:
    """One turn of the dialogue with what became of it."""

    number: int
    switch: Switch | None
    """A change of the instruction that it announces."""
    user: str
    own_reply: str | None
    """The dialogue's own; None behind an open last message."""
    target: TurnTarget
    has_loss: bool


@dataclass(frozen=True)
class Card:
    """One sample on the page."""

    sample: GattSample
    shown: ShownSample
    settings: str
    counts: str
    turns: tuple[Turn, ...]

    @property
    def num_trained(self) -> int:
        """Turns whose target carries loss."""
        return sum(turn.has_loss for turn in self.turns)


def page_of(
    title: str, samples: Sequence[tuple[GattSample, ShownSample]], config: TrainConfig
) -> str:
    """Return the page, which needs no other file and no network.

    Args:
        title: names the file that they are from.
        samples: each with what training makes of it.
        config: of the run.
    """
    environment = Environment(
        loader=PackageLoader("gatt.commands", "show"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["ranges"] = ranges
    cards = [_card(sample, shown, config) for sample, shown in samples]
    return environment.get_template("page.html.j2").render(
        title=title, model=config.model, legend=LEGEND, cards=cards
    )


def _card(sample: GattSample, shown: ShownSample, config: TrainConfig) -> Card:
    counts = counts_line(shown) if shown.rows else "no row: training leaves this sample out"
    return Card(sample, shown, settings_line(shown, config), counts, tuple(_turns(sample, shown)))


def _turns(sample: GattSample, shown: ShownSample) -> Iterator[Turn]:
    trained = {turn for row in shown.rows for turn in row.target_turns}
    switches = {switch.turn: switch for switch in sample.switches or ()}
    replies = [*sample.dialogue.replies, None]
    for target, user, reply in zip(
        sample.targets, sample.dialogue.user_turns, replies, strict=False
    ):
        number = target.turn
        yield Turn(number, switches.get(number), user, reply, target, number in trained)
