"""A sample as the trainer sees it: pieces of text with their part and their loss.

What is printed comes from the comb that `build_comb` makes, the one builder of
ids and labels, so it cannot show other labels than those that train.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gatt.chat_template import (
    Tokenizer,
    encode,
    encode_view,
    inspect_template,
    is_special,
    shared_length,
)
from gatt.comb import IGNORE, expand
from gatt.dialogue import Dialogue, Message
from gatt.errors import DataError
from gatt.sample import GattSample, TurnTarget
from gatt.supervision import BuiltComb, Supervise, build_comb, keep_turns
from gatt.views import Placement, prompt_of_turn, training_view

Part = Literal["setup", "user", "reply", "prompt", "target"]

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
class ShownSample:
    """A sample's comb, cut into pieces."""

    built: BuiltComb
    placement: Placement
    note: str
    """Why the placement is not the one asked for; empty if it is."""
    kept_turns: tuple[int, ...]
    trunk: tuple[Piece, ...]
    branches: tuple[ShownBranch, ...]


def pick(
    samples: Iterable[GattSample],
    path: Path,
    *,
    row: int | None = None,
    identity: str | None = None,
) -> GattSample:
    """Return the sample of a row (from 1; the first where neither is given) or an id.

    Raises:
        DataError: no such row or id.
    """
    wanted = 1 if row is None else row
    number = 0
    for number, sample in enumerate(samples, start=1):
        if (sample.id == identity) if identity is not None else (number == wanted):
            return sample
    if identity is not None:
        raise DataError(f"{path}: no sample {identity!r} among {number}: give an id of the file")
    raise DataError(f"{path}: no row {wanted}: expected 1 to {number}")


def view_sample(
    tokenizer: Tokenizer,
    sample: GattSample,
    *,
    placement: Placement = "system",
    supervise: Supervise = "last_turn",
    max_length: int | None = None,
) -> ShownSample:
    """Return the pieces of a sample's comb.

    A template without system role falls back to `first_user`, as training does.

    Raises:
        TemplateError: no chat template, or it refuses the messages.
        DataError: see `build_comb`.
    """
    facts = inspect_template(tokenizer)
    note = ""
    if placement == "system" and not facts.has_system:
        placement, note = (
            "first_user",
            f"the template {facts.note}: shown with placement first_user",
        )
    built = build_comb(
        tokenizer, sample, placement=placement, supervise=supervise, max_length=max_length
    )
    kept = (1, *range(2 + built.num_exchanges_dropped, sample.dialogue.num_turns + 1))
    instruction = sample.instruction.text if sample.instruction else None
    dialogue = keep_turns(sample.dialogue, list(kept))
    view = training_view(dialogue, instruction, placement)
    encoded = encode_view(tokenizer, view)
    setup = _num_setup_tokens(tokenizer, dialogue, instruction, placement)
    parts: list[Part] = ["user"] * len(encoded.input_ids)
    parts[:setup] = ["setup"] * setup
    for start, end in encoded.reply_spans:
        parts[start:end] = ["reply"] * (end - start)
    for turn, length in enumerate(encoded.prompt_lengths, start=1):
        bare = encode(tokenizer, prompt_of_turn(view, turn), add_generation_prompt=False)
        begin = shared_length(bare, encoded.input_ids[:length])
        parts[begin:length] = ["prompt"] * (length - begin)
    turn_of_fork = dict(zip(encoded.prompt_lengths, kept, strict=True))
    comb = built.comb
    return ShownSample(
        built,
        placement,
        note,
        kept,
        _pieces(tokenizer, comb.trunk, comb.trunk_labels, parts),
        tuple(
            ShownBranch(
                turn_of_fork[b.fork],
                b.fork,
                _pieces(tokenizer, b.input_ids, b.labels, ["target"] * len(b.input_ids)),
            )
            for b in comb.branches
        ),
    )


def print_sample(
    console: Console, sample: GattSample, shown: ShownSample, *, is_plain: bool = False
) -> None:
    """Print a sample: legend, trunk, branches, counts, and what became of each turn."""
    comb = shown.built.comb
    instruction = sample.instruction.text if sample.instruction else "none (plain dialogue)"
    console.print(Text.assemble(("sample ", "bold"), f"{sample.id}  dialogue {sample.dialogue.id}"))
    console.print(Text.assemble(("instruction ", "bold"), f"({sample.family}) {instruction}"))
    if shown.note:
        console.print(Text(f"note: {shown.note}", "bold red"))
    console.print(_legend(is_plain))
    console.print(Text(f"\ntrunk, {len(comb.trunk)} tokens", "bold"))
    console.print(_text(shown.trunk, is_plain))
    for branch in shown.branches:
        count = sum(p.num_tokens for p in branch.pieces)
        title = f"branch of turn {branch.turn}, {count} tokens after trunk token {branch.fork}"
        console.print(Text(title, "bold"))
        console.print(_text(branch.pieces, is_plain))
    console.print(counts_line(shown.built))
    for reason in shown.built.dropped_targets:
        console.print(Text(f"left out: {reason}", "red"))
    console.print(_turn_table(sample, shown.kept_turns))


def counts_line(built: BuiltComb) -> str:
    """Return the token counts of a comb and of the rows that it stands for."""
    comb = built.comb
    expanded = sum(row.num_tokens for row in expand(comb))
    ratio = f" ({expanded / comb.num_tokens:.2f} times the comb)" if expanded else ""
    return (
        f"tokens: {len(comb.trunk)} trunk + {comb.num_tokens - len(comb.trunk)} branches = "
        f"{comb.num_tokens} comb; {comb.num_supervised} supervised; {expanded} expanded{ratio}; "
        f"exchanges dropped: {built.num_exchanges_dropped}"
    )


def _num_setup_tokens(
    tokenizer: Tokenizer, dialogue: Dialogue, instruction: str | None, placement: Placement
) -> int:
    """Return how many tokens stand before the user's first own word.

    Found as what two dialogues share that differ in that word, so that a default
    system message of the template counts too.
    """
    first = int(dialogue.has_system)
    prompts = []
    for word in ("a", "b"):
        messages = (*dialogue.messages[:first], Message("user", word))
        view = training_view(Dialogue(dialogue.id, messages), instruction, placement)
        prompts.append(encode(tokenizer, view.messages, add_generation_prompt=True))
    view = training_view(dialogue, instruction, placement)
    prompts.append(encode(tokenizer, prompt_of_turn(view, 1), add_generation_prompt=True))
    return min(shared_length(prompts[0], other) for other in prompts[1:])


def _pieces(
    tokenizer: Tokenizer, ids: tuple[int, ...], labels: tuple[int, ...], parts: list[Part]
) -> tuple[Piece, ...]:
    def kind(index: int) -> tuple[Part, bool, bool]:
        return parts[index], labels[index] != IGNORE, is_special(tokenizer, ids[index])

    pieces = []
    # Whole groups are decoded, since a character may be spread over several tokens.
    for (part, has_loss, is_control), group in groupby(range(len(ids)), key=kind):
        tokens = [ids[i] for i in group]
        text = tokenizer.decode(tokens, clean_up_tokenization_spaces=False)
        pieces.append(Piece(text, part, has_loss, is_control, len(tokens)))
    return tuple(pieces)


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


def _turn_table(sample: GattSample, kept: tuple[int, ...]) -> Table:
    table = Table(box=None, pad_edge=False, show_edge=False)
    for title in ("turn", "target", "attempts", "verdicts"):
        table.add_column(title, overflow="fold")
    for target in sample.targets:
        what = target.kind or "given" if target.reply is not None else f"none: {target.reason}"
        if target.turn not in kept:
            what += " (exchange dropped)"
        table.add_row(
            Text(str(target.turn)), Text(what), Text(str(target.attempts)), _verdicts(target)
        )
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
