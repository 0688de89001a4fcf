"""A sample's rows in the terminal, in colours or plain."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gatt.comb.comb import expand
from gatt.commands.show.outline import Part
from gatt.commands.show.rows import Piece, ShownRow
from gatt.commands.show.view import ShownSample
from gatt.data.sample import GattSample, TurnTarget
from gatt.train.config import TrainConfig

STYLES: Mapping[Part, str] = {
    "setup": "magenta",
    "user": "cyan",
    "reply": "yellow",
    "prompt": "blue",
    "target": "white",
}
LEGEND: Mapping[Part, str] = {
    "setup": "system and instruction",
    "user": "user",
    "reply": "reply in the history",
    "prompt": "generation prompt",
    "target": "target reply",
}
LOSS_STYLE = "bold green"


def print_sample(
    console: Console,
    sample: GattSample,
    shown: ShownSample,
    config: TrainConfig,
    *,
    is_plain: bool = False,
) -> None:
    """Print a sample: settings, legend, rows, counts, and what became of each turn."""
    instruction = sample.instruction.text if sample.instruction else "none (plain dialogue)"
    console.print(Text.assemble(("sample ", "bold"), f"{sample.id}  dialogue {sample.dialogue.id}"))
    console.print(Text.assemble(("instruction ", "bold"), f"({sample.family}) {instruction}"))
    for switch in sample.switches or ():
        told = f"({switch.kind}, by the {switch.place}) {switch.text}"
        console.print(Text.assemble((f"from turn {switch.turn} ", "bold"), told))
    console.print(Text.assemble(("training ", "bold"), settings_line(shown, config)))
    if shown.rows:
        console.print(_legend(is_plain))
    for number, row in enumerate(shown.rows, start=1):
        console.print(Text(f"\nrow {number} of {len(shown.rows)}: {_title(row)}", "bold"))
        console.print(_text(row.trunk, is_plain))
        for branch in row.branches:
            count = sum(p.num_tokens for p in branch.pieces)
            title = f"branch of turn {branch.turn}, {count} tokens after trunk token {branch.fork}"
            console.print(Text(title, "bold"))
            console.print(_text(branch.pieces, is_plain))
    console.print()
    if shown.rows:
        console.print(counts_line(shown))
    for reason in shown.left_out:
        console.print(Text(f"left out: {reason}", "red"))
    if not shown.rows:
        console.print(Text("no row: training leaves this sample out", "bold red"))
    console.print(_turn_table(sample, shown))


def settings_line(shown: ShownSample, config: TrainConfig) -> str:
    """Return how the sample is trained on, with what was drawn for it."""
    drawn = f" (drawn from seed {config.seed} and the id)"
    history = "sampled" if shown.has_sampled_history else "reference"
    by_kl = ", loss the KL divergence from the model without the adapter" if shown.by_kl else ""
    return (
        f"placement {shown.placement}{drawn if config.placement == 'mixed' else ''}, "
        f"history {history}{drawn if config.history == 'mixed' else ''}, "
        f"supervise {shown.supervise}, layout {shown.layout}{by_kl}"
    )


def counts_line(shown: ShownSample) -> str:
    """Return the token counts of the rows, and of the plain rows that combs stand for."""
    combs = [row.comb for row in shown.rows]
    total = sum(c.num_tokens for c in combs)
    supervised = sum(c.num_supervised for c in combs)
    rows = f"{len(combs)} row{'s' if len(combs) > 1 else ''}"
    if any(c.branches for c in combs):
        trunks = sum(len(c.trunk) for c in combs)
        expanded = sum(row.num_tokens for c in combs for row in expand(c))
        ratio = f" ({expanded / total:.2f} times that)" if expanded else ""
        counts = (
            f"{trunks} trunk + {total - trunks} branches = {total} in {rows}; "
            f"{supervised} supervised; {expanded} expanded{ratio}"
        )
    else:
        counts = f"{total} in {rows}; {supervised} supervised"
    return f"tokens: {counts}; exchanges dropped: {shown.num_exchanges_dropped}"


def _title(row: ShownRow) -> str:
    kind = "trunk of " if row.branches else ""
    plural = "s" if len(row.turns) > 1 else ""
    return f"{kind}{len(row.comb.trunk)} tokens, turn{plural} {ranges(row.turns)}"


def ranges(turns: tuple[int, ...]) -> str:
    """Return ascending numbers as text: `1, 3-5`."""
    starts = [turns[0], *(b for a, b in pairwise(turns) if b != a + 1)]
    ends = [*(a for a, b in pairwise(turns) if b != a + 1), turns[-1]]
    return ", ".join(
        str(start) if start == end else f"{start}-{end}"
        for start, end in zip(starts, ends, strict=True)
    )


def _text(pieces: Iterable[Piece], is_plain: bool) -> Text:
    text = Text()
    for piece in pieces:
        words = piece.text.replace("\n", "⏎\n")
        if piece.has_loss:
            text.append(f"«{words}»" if is_plain else words, LOSS_STYLE)
        else:
            text.append(words, "dim" if piece.is_control else STYLES[piece.part])
    return text


def _legend(is_plain: bool) -> Text:
    text = Text("legend: ")
    if is_plain:
        return text.append("«carries loss», ⏎ newline")
    for part, meaning in LEGEND.items():
        text.append(meaning, STYLES[part]).append(" · ")
    text.append("<control token>", "dim").append(" · ⏎ newline · ")
    return text.append("carries loss", LOSS_STYLE)


def _turn_table(sample: GattSample, shown: ShownSample) -> Table:
    trained = {turn for row in shown.rows for turn in row.target_turns}
    table = Table(box=None, pad_edge=False, show_edge=False)
    for title in ("turn", "target", "loss", "attempts", "verdicts"):
        table.add_column(title, overflow="fold")
    for target in sample.targets:
        what = target.kind or "given" if target.reply is not None else f"none: {target.reason}"
        has_loss = "yes" if target.turn in trained else "no"
        cells = (str(target.turn), what, has_loss, str(target.attempts))
        table.add_row(*(Text(cell) for cell in cells), _verdicts(target))
    return table


def _verdicts(target: TurnTarget) -> Text:
    text = Text()
    styles = {"pass": "green", "fail": "red"}
    for verdict in target.verdicts:
        found = _shown(verdict)
        text.append(
            ("; " if text else "") + found, styles.get(str(verdict.get("status")), "yellow")
        )
    return text


def _shown(verdict: Mapping[str, Any]) -> str:
    if not {"verifier", "status"} <= set(verdict):
        return json.dumps(dict(verdict), ensure_ascii=False)
    evidence = f" ({verdict['evidence']})" if verdict.get("evidence") else ""
    return f"{verdict['verifier']} {verdict['status']}{evidence}"
