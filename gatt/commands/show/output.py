"""Samples in the terminal, in colours or plain, and as a page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gatt.commands.show.view import Piece, ShownSample
from gatt.commands.templates import filled
from gatt.data.sample import TurnTarget

LOSS_STYLE = "bold green"


def print_sample(console: Console, shown: ShownSample, *, is_plain: bool = False) -> None:
    """Print a sample: settings, rows, counts, and what became of each turn."""
    sample = shown.sample
    instruction = sample.instruction.text if sample.instruction else "none (plain dialogue)"
    console.print(Text.assemble(("sample ", "bold"), f"{sample.id}  dialogue {sample.dialogue.id}"))
    console.print(Text.assemble(("instruction ", "bold"), f"({sample.family}) {instruction}"))
    for switch in sample.switches or ():
        told = f"({switch.kind}, by the {switch.place}) {switch.text}"
        console.print(Text.assemble((f"from turn {switch.turn} ", "bold"), told))
    console.print(Text.assemble(("training ", "bold"), shown.settings))
    loss = "«carries loss»" if is_plain else "carries loss"
    legend = (("<control token>", "dim"), " · ⏎ newline · ", (loss, LOSS_STYLE))
    console.print(Text.assemble("legend: ", *legend))
    for part in shown.parts:
        console.print(Text(f"\n{part.title}", "bold"))
        console.print(_text(part.pieces, is_plain))
    console.print(Text(f"\n{shown.counts}"))
    for reason in shown.left_out:
        console.print(Text(f"left out: {reason}", "red"))
    console.print(_turn_table(shown))


def page_of(title: str, samples: Sequence[ShownSample], model: str) -> str:
    """Return samples as a page, which needs no other file and no network.

    Args:
        title: names the file that they are from.
        samples: each with what training makes of it.
        model: of the run.
    """
    return filled("show/page.html.j2", title=title, model=model, samples=samples)


def _text(pieces: Iterable[Piece], is_plain: bool) -> Text:
    text = Text()
    for piece in pieces:
        words = piece.text.replace("\n", "⏎\n")
        if piece.has_loss:
            text.append(f"«{words}»" if is_plain else words, LOSS_STYLE)
        else:
            text.append(words, "dim" if piece.is_control else "")
    return text


def _turn_table(shown: ShownSample) -> Table:
    table = Table(box=None, pad_edge=False, show_edge=False)
    for title in ("turn", "target", "loss", "attempts", "verdicts"):
        table.add_column(title, overflow="fold")
    for target in shown.sample.targets:
        what = target.kind or "given" if target.reply is not None else f"none: {target.reason}"
        has_loss = "yes" if target.turn in shown.trained else "no"
        cells = (str(target.turn), what, has_loss, str(target.attempts), _verdicts(target))
        table.add_row(*map(Text, cells))
    return table


def _verdicts(target: TurnTarget) -> str:
    return "; ".join(map(_verdict, target.verdicts))


def _verdict(verdict: Mapping[str, Any]) -> str:
    if not {"verifier", "status"} <= set(verdict):
        return json.dumps(dict(verdict), ensure_ascii=False)
    evidence = f" ({verdict['evidence']})" if verdict.get("evidence") else ""
    return f"{verdict['verifier']} {verdict['status']}{evidence}"
