"""A sample as training sees it, as text or on a page.

The rows come from `gatt.train.data.rows.rows_of`, which training calls too, and the
draws and fallbacks from the same functions as there, so what is shown cannot be
other than what trains.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from gatt.comb.collator import RowLayout
from gatt.comb.comb import DEFAULT_OBJECTIVE, IGNORE, Comb, expand
from gatt.comb.objectives.table import TABLE
from gatt.commands.templates import filled
from gatt.data.sample import GattSample
from gatt.errors import DataError, TemplateError
from gatt.models.chat_template import Tokenizer
from gatt.models.template_facts import inspect_template, usable_placement
from gatt.train.config import TrainConfig
from gatt.train.data.labels import BuiltComb
from gatt.train.data.packing import choose_layout
from gatt.train.data.rows import DrawnSample, draw_sample, encode_sample, rows_of


@dataclass(frozen=True)
class ShownPiece:
    """Text of tokens that all carry loss, or none of which does."""

    text: str
    has_loss: bool


@dataclass(frozen=True)
class ShownRow:
    """A row, a branch of one, or what a teacher reads."""

    title: str
    pieces: tuple[ShownPiece, ...]


@dataclass(frozen=True)
class ShownSample:
    """A sample with what training makes of it."""

    sample: GattSample
    settings: str
    """How it is trained on, with what was drawn for it."""
    is_history_own: bool
    """Whether later turns read the dialogue's own replies."""
    left_out: tuple[str, ...]
    """Why the sample, or each of these targets, is not trained on."""
    parts: tuple[ShownRow, ...] = ()
    trained: frozenset[int] = frozenset()
    """Turns whose target carries loss."""
    counts: str = "no row: training leaves this sample out"


def view_sample(
    tokenizer: Tokenizer,
    sample: GattSample,
    config: TrainConfig,
    *,
    why_not_packable: Callable[[], str | None] = lambda: None,
) -> ShownSample:
    """Return a sample with the rows that a run makes of it.

    Fallbacks (no system role, no shared trunk) are those of training and are
    logged as there.

    Raises:
        TemplateError: no chat template.
    """
    facts = inspect_template(tokenizer)
    layout = choose_layout(config.layout, facts, why_not_packable)
    drawn = draw_sample(sample, config, facts, usable_placement(config.placement, facts))
    settings, is_own = _settings(drawn, config, layout), drawn.history in ("reference", "both")
    try:
        built = encode_sample(drawn, tokenizer, config, facts)
        rows, problems = rows_of(drawn, built, config, layout)
    except (DataError, TemplateError) as error:
        # Training counts such a sample as dropped and goes on.
        return ShownSample(sample, settings, is_own, (str(error),))
    left_out = (*built.dropped_targets, *problems)
    if not rows:
        return ShownSample(sample, settings, is_own, left_out)
    parts: list[ShownRow] = []
    for number, (comb, source) in enumerate(rows, start=1):
        parts += _parts(tokenizer, f"row {number} of {len(rows)}: ", comb, source)
    trained = () if drawn.supervise == "context_only" else built.targets
    counts = (
        f"{_counts([comb for comb, _ in rows])}; exchanges dropped: {built.num_exchanges_dropped}"
    )
    return ShownSample(sample, settings, is_own, left_out, tuple(parts), frozenset(trained), counts)


def lines_of(shown: ShownSample) -> Iterator[str]:
    """Yield a sample as text: settings, the rows that a run makes of it, counts, what became of each turn."""
    yield from _head(shown.sample)
    yield f"training {shown.settings}"
    yield "legend: ⏎ newline · «carries loss»"
    for part in shown.parts:
        text = "".join(f"«{p.text}»" if p.has_loss else p.text for p in part.pieces)
        marked = text.replace("\n", "⏎\n")
        yield f"\n{part.title}\n{marked}"
    yield f"\n{shown.counts}"
    for reason in shown.left_out:
        yield f"left out: {reason}"
    for target in shown.sample.targets:
        what = target.kind or "given" if target.reply is not None else f"none: {target.reason}"
        loss = "has loss" if target.turn in shown.trained else "no loss"
        verdicts = "".join(f"; {_verdict(verdict)}" for verdict in target.verdicts)
        yield f"turn {target.turn}: {what}, {loss}, attempts: {target.attempts}{verdicts}"


def page_of(title: str, samples: Sequence[ShownSample], model: str) -> str:
    """Return samples as a page of HTML, which needs no other file and no network.

    `title` names the file that they are from.
    """
    return filled("show/page.html.j2", title=title, model=model, samples=samples)


def _head(sample: GattSample) -> Iterator[str]:
    instruction = sample.instruction.text if sample.instruction else "none (plain dialogue)"
    yield f"sample {sample.id}  dialogue {sample.dialogue.id}"
    yield f"instruction ({sample.family}) {instruction}"
    for switch in sample.switches or ():
        yield f"from turn {switch.turn} ({switch.kind}, by the {switch.place}) {switch.text}"


def _settings(sample: DrawnSample, config: TrainConfig, layout: RowLayout) -> str:
    """Return how a sample is trained on, with what was drawn for it."""
    by_lot = f" (drawn from seed {config.seed} and the id)"
    summary = TABLE[sample.objective].summary
    loss = "" if sample.objective == DEFAULT_OBJECTIVE else f", loss {summary}"
    return (
        f"placement {sample.placement}{by_lot if config.placement == 'mixed' else ''}, "
        f"history {sample.history}{by_lot if config.history == 'mixed' else ''}, "
        f"supervise {sample.supervise}, layout {layout}{loss}"
    )


def _parts(tokenizer: Tokenizer, title: str, comb: Comb, source: BuiltComb) -> Iterator[ShownRow]:
    """Yield trunk, branches and teachers of a row of `rows_of`."""
    title += f"{'trunk of ' if comb.branches else ''}{len(comb.trunk)} tokens"
    title += f", from turns {ranges(source.turns)}" if source.turns else ""
    yield ShownRow(title, _pieces(tokenizer, comb.trunk, comb.trunk_labels))
    if comb.branches:
        firsts = (branch for branch in source.comb.branches if not branch.is_partner)
        turn_of = {b.fork: t for b, t in zip(firsts, source.targets, strict=True)}
    for branch in comb.branches:
        what = "rejected branch" if branch.is_partner else "branch"
        title = f"{what} of turn {turn_of[branch.fork]}, {len(branch.input_ids)} tokens after trunk token "
        yield ShownRow(f"{title}{branch.fork}", _pieces(tokenizer, branch.input_ids, branch.labels))
    for teacher in comb.teacher:
        title = f"the teacher of {teacher.num_supervised} of these tokens reads {len(teacher.trunk)} tokens"
        yield ShownRow(title, _pieces(tokenizer, teacher.trunk, (IGNORE,) * len(teacher.trunk)))


def _pieces(
    tokenizer: Tokenizer, ids: Sequence[int], labels: Sequence[int]
) -> tuple[ShownPiece, ...]:  # fmt: skip
    """Return the text of tokens, by whether they carry loss."""
    # Whole groups are decoded, since a character may be spread over several tokens.
    groups = groupby(zip(ids, labels, strict=True), key=lambda pair: pair[1] != IGNORE)
    return tuple(
        ShownPiece(
            tokenizer.decode([i for i, _ in group], clean_up_tokenization_spaces=False), has_loss
        )
        for has_loss, group in groups
    )


def _counts(combs: Sequence[Comb]) -> str:
    """Return the token counts of the rows, and of the plain rows that combs stand for."""
    total = sum(comb.num_tokens for comb in combs)
    supervised = sum(comb.num_supervised for comb in combs)
    counts = f"tokens: {total} in {len(combs)} rows; {supervised} supervised"
    if read := sum(t.num_tokens for comb in combs for t in comb.teacher):
        counts += f"; {read} read by the teacher"
    if any(comb.branches for comb in combs):
        expanded = sum(row.num_tokens for comb in combs for row in expand(comb))
        counts += f"; {expanded} in one row a target ({expanded / total:.2f} times that)"
    return counts


def ranges(turns: Sequence[int]) -> str:
    """Return ascending numbers as text: `1, 3-5`."""
    gaps = [(a, b) for a, b in pairwise(turns) if b != a + 1]
    starts, ends = [turns[0], *(b for _, b in gaps)], [*(a for a, _ in gaps), turns[-1]]
    runs = zip(starts, ends, strict=True)
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def _verdict(verdict: Mapping[str, Any]) -> str:
    if not {"verifier", "status"} <= set(verdict):
        return json.dumps(dict(verdict), ensure_ascii=False)
    evidence = f" ({verdict['evidence']})" if verdict.get("evidence") else ""
    return f"{verdict['verifier']} {verdict['status']}{evidence}"
