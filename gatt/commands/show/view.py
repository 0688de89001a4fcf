"""A sample as training sees it, as text.

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

from gatt.comb.comb import IGNORE, Comb, expand
from gatt.data.sample import GattSample
from gatt.errors import DataError, TemplateError
from gatt.models.chat_template import Tokenizer
from gatt.models.template_facts import inspect_template, usable_placement
from gatt.train.config import TrainConfig
from gatt.train.data.labels import BuiltSample, draw_sample, encode_sample
from gatt.train.data.rows import choose_layout, rows_of


@dataclass(frozen=True)
class Part:
    """A trunk, a branch, or a plain row."""

    title: str
    pieces: tuple[tuple[str, bool], ...]
    """Texts of neighbouring tokens, and whether they carry loss."""


@dataclass(frozen=True)
class ShownSample:
    """What training makes of one sample."""

    sample: GattSample
    settings: str
    """One line on how it is trained on, with what was drawn for it."""
    left_out: tuple[str, ...]
    """Why the sample, or each of these targets, is not trained on."""
    parts: tuple[Part, ...] = ()
    """Of all its rows, in order; none where training leaves the sample out."""
    trained: frozenset[int] = frozenset()
    """Turns whose target carries loss."""
    counts: str = "no row: training leaves this sample out"
    """One line on the tokens."""


def view_sample(
    tokenizer: Tokenizer,
    sample: GattSample,
    config: TrainConfig,
    *,
    why_not_packable: Callable[[], str | None] = lambda: None,
) -> ShownSample:
    """Return the rows that a training run would make of a sample, as pieces.

    Fallbacks (no system role, no shared trunk) are those of training and are
    logged as there.

    Args:
        tokenizer: of the run's model.
        sample: of `gatt.data.sample.read_samples`.
        config: of the run.
        why_not_packable: see `gatt.train.data.rows.choose_layout`.

    Raises:
        TemplateError: no chat template.
        ConfigError: see `gatt.train.data.rows.choose_layout`.
    """
    facts = inspect_template(tokenizer)
    layout = choose_layout(config.layout, facts, why_not_packable)
    one = draw_sample(sample, config, facts, usable_placement(config.placement, facts))
    drawn = f" (drawn from seed {config.seed} and the id)"
    history = "sampled" if one.has_sampled_history else "reference"
    settings = (
        f"placement {one.placement}{drawn if config.placement == 'mixed' else ''}, "
        f"history {history}{drawn if config.history == 'mixed' else ''}, "
        f"supervise {one.supervise}, layout {layout}"
    )
    if one.by_kl:
        settings += ", loss the KL divergence from the model without the adapter"
    try:
        built = encode_sample(one, tokenizer, config, facts)
        rows, problems = rows_of(one, built, config, layout)
    except (DataError, TemplateError) as error:
        # Training counts such a sample as dropped and goes on.
        return ShownSample(sample, settings, (str(error),))
    left_out = (*built.dropped_targets, *problems)
    if not rows:
        return ShownSample(sample, settings, left_out)
    parts = [
        part
        for number, (comb, turns) in enumerate(rows, start=1)
        for part in _parts_of_row(tokenizer, f"row {number} of {len(rows)}: ", comb, turns, built)
    ]
    trained = () if one.supervise == "context_only" else built.targets
    counts = (
        f"{_counts([comb for comb, _ in rows])}; exchanges dropped: {built.num_exchanges_dropped}"
    )
    return ShownSample(sample, settings, left_out, tuple(parts), frozenset(trained), counts)


def _parts_of_row(
    tokenizer: Tokenizer, title: str, comb: Comb, turns: tuple[int, ...], built: BuiltSample
) -> list[Part]:
    """Return trunk and branches of a row of `rows_of`."""
    title += f"{'trunk of ' if comb.branches else ''}{len(comb.trunk)} tokens"
    title += f", from turns {ranges(turns)}" if turns else ""
    parts = [Part(title, _pieces(tokenizer, comb.trunk, comb.trunk_labels))]
    if comb.branches:
        (source,) = (part for part in built.parts if part.turns == turns)
        turn_of = {b.fork: t for b, t in zip(source.comb.branches, source.targets, strict=True)}
    for branch in comb.branches:
        title = f"branch of turn {turn_of[branch.fork]}, {len(branch.input_ids)} tokens after trunk token "
        pieces = _pieces(tokenizer, branch.input_ids, branch.labels)
        parts.append(Part(f"{title}{branch.fork}", pieces))
    return parts


def _pieces(
    tokenizer: Tokenizer, ids: tuple[int, ...], labels: tuple[int, ...]
) -> tuple[tuple[str, bool], ...]:
    # Whole groups are decoded, since a character may be spread over several tokens.
    groups = groupby(zip(ids, labels, strict=True), key=lambda pair: pair[1] != IGNORE)
    return tuple(
        (tokenizer.decode([i for i, _ in group], clean_up_tokenization_spaces=False), has_loss)
        for has_loss, group in groups
    )


def _counts(combs: Sequence[Comb]) -> str:
    """Return the token counts of the rows, and of the plain rows that combs stand for."""
    total = sum(comb.num_tokens for comb in combs)
    supervised = sum(comb.num_supervised for comb in combs)
    counts = f"tokens: {total} in {len(combs)} rows; {supervised} supervised"
    if any(comb.branches for comb in combs):
        expanded = sum(row.num_tokens for comb in combs for row in expand(comb))
        counts += f"; {expanded} in one row a target ({expanded / total:.2f} times that)"
    return counts


def ranges(turns: Sequence[int]) -> str:
    """Return ascending numbers as text: `1, 3-5`."""
    gaps = [(a, b) for a, b in pairwise(turns) if b != a + 1]
    starts, ends = [turns[0], *(b for _, b in gaps)], [*(a for a, _ in gaps), turns[-1]]
    found = zip(starts, ends, strict=True)
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in found)


def as_lines(shown: ShownSample) -> Iterator[str]:
    """Yield a sample as text: settings, rows, counts, and what became of each turn."""
    sample = shown.sample
    instruction = sample.instruction.text if sample.instruction else "none (plain dialogue)"
    yield f"sample {sample.id}  dialogue {sample.dialogue.id}"
    yield f"instruction ({sample.family}) {instruction}"
    for switch in sample.switches or ():
        yield f"from turn {switch.turn} ({switch.kind}, by the {switch.place}) {switch.text}"
    yield f"training {shown.settings}"
    yield "legend: ⏎ newline · «carries loss»"
    for part in shown.parts:
        marked = (f"«{text}»" if has_loss else text for text, has_loss in part.pieces)
        yield f"\n{part.title}\n{''.join(marked).replace(chr(10), '⏎' + chr(10))}"
    yield f"\n{shown.counts}"
    for reason in shown.left_out:
        yield f"left out: {reason}"
    for target in sample.targets:
        what = target.kind or "given" if target.reply is not None else f"none: {target.reason}"
        loss = "has loss" if target.turn in shown.trained else "no loss"
        verdicts = "".join(f"; {_verdict(verdict)}" for verdict in target.verdicts)
        yield f"turn {target.turn}: {what}, {loss}, attempts: {target.attempts}{verdicts}"


def _verdict(verdict: Mapping[str, Any]) -> str:
    if not {"verifier", "status"} <= set(verdict):
        return json.dumps(dict(verdict), ensure_ascii=False)
    evidence = f" ({verdict['evidence']})" if verdict.get("evidence") else ""
    return f"{verdict['verifier']} {verdict['status']}{evidence}"
