"""Which tokens carry loss, and the one builder of token ids and labels.

Source: Llama 2, arXiv:2307.09288, section 3.3: the loss is 0 on all tokens of
earlier turns, "including assistant messages", since those were not written
under the instruction.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Literal, get_args

from gatt.chat_template import (
    Tokenizer,
    encode,
    encode_reply,
    encode_view,
    refuse_control_tokens,
)
from gatt.comb import IGNORE, Branch, Comb
from gatt.dialogue import Dialogue
from gatt.errors import DataError, TemplateError
from gatt.sample import GattSample
from gatt.views import Placement, prompt_of_turn, training_view

Supervise = Literal["last_turn", "all_turns", "context_only"]
SUPERVISE: tuple[str, ...] = get_args(Supervise)


@dataclass(frozen=True)
class BuiltComb:
    """A sample as one comb, and what was left out of it on the way."""

    comb: Comb
    num_targets: int
    num_exchanges_dropped: int
    """Oldest exchanges after the first that the length policy removed."""
    dropped_targets: tuple[str, ...]
    """One reason per target that went with its exchange or could not be encoded."""


def build_comb(
    tokenizer: Tokenizer,
    sample: GattSample,
    *,
    placement: Placement = "system",
    supervise: Supervise = "last_turn",
    max_length: int | None = None,
) -> BuiltComb:
    """Return the comb of a sample: ids and labels from one pass, so they cannot drift.

    Every mode of supervision gives the same tokens; only labels differ:

    - `last_turn`: the sampled targets and their end-of-turn tokens (the paper);
    - `all_turns`: these and the dialogue's own replies (the mismatch that the
      paper warns of, a control);
    - `context_only`: the dialogue's own replies alone (ordinary fine-tuning, a
      control).

    Args:
        tokenizer: with a chat template that keeps prefixes.
        sample: at least one turn.
        placement: where the instruction stands.
        supervise: which tokens carry loss.
        max_length: most tokens that the trunk, or one prompt and its target, may
            take. Longer ones lose whole oldest exchanges after the first, as few
            as will do; turn 1 with the instruction and the last turns stay.

    Raises:
        TemplateError: no chat template, or it refuses the messages.
        DataError: a dialogue that breaks the prefix rule, or that does not fit
            with turn 1 and the last turn alone.
    """
    if supervise not in SUPERVISE:
        raise DataError(f"unknown supervise {supervise!r}: expected one of {', '.join(SUPERVISE)}")
    num_turns = sample.dialogue.num_turns

    def drop(num_exchanges: int) -> tuple[BuiltComb, int]:
        turns = [1, *range(2 + num_exchanges, num_turns + 1)]
        return _build(tokenizer, sample, turns, placement, supervise, max_length)

    built, longest = drop(0)
    if max_length is None or longest <= max_length:
        return built
    # Fewer exchanges are never longer, so the least number to drop is found by bisection.
    most = max(num_turns - 2, 0)
    least = bisect_left(range(most + 1), True, key=lambda number: drop(number)[1] <= max_length)
    built, longest = drop(min(least, most))
    if least > most:
        raise DataError(
            f"sample {sample.id!r}: {longest} tokens with turn 1 and the last turn alone, more "
            f"than max_length {max_length}: raise it or shorten the messages"
        )
    return built


@dataclass(frozen=True)
class BuiltRows:
    """A sample as plain rows, one a supervised reply, and what was left out of it."""

    rows: tuple[Comb, ...]
    """Without branches; the loss is on the reply that ends the row."""
    num_targets: int
    num_exchanges_dropped: int
    """Exchanges that the length policy removed, over all rows."""
    dropped_targets: tuple[str, ...]
    """One reason per target that could not be encoded or does not fit."""


def build_expanded(
    tokenizer: Tokenizer,
    sample: GattSample,
    *,
    placement: Placement = "system",
    supervise: Supervise = "last_turn",
    max_length: int | None = None,
) -> BuiltRows:
    """Return one row per supervised reply, each prompt rendered on its own.

    For templates that rewrite earlier turns when a new one comes: there no two
    turns share a trunk, but each row is what the model will see at that turn.
    With a template that keeps prefixes the rows are those of
    `gatt.comb.expand`, but for the dialogue's own replies, which get a row each
    instead of one for all.

    Args and modes are those of `build_comb`; the length policy holds per row.

    Raises:
        TemplateError: no chat template, or it refuses the messages.
        DataError: an unknown mode of supervision.
    """
    if supervise not in SUPERVISE:
        raise DataError(f"unknown supervise {supervise!r}: expected one of {', '.join(SUPERVISE)}")
    rows, problems = [], []
    num_targets = num_exchanges_dropped = 0
    for turn in range(1, sample.dialogue.num_turns + 1):
        target = sample.targets[turn - 1].reply
        # As in the comb: the history of the last prompt ends before the last turn's own reply.
        own = sample.dialogue.replies[turn - 1] if turn < sample.dialogue.num_turns else None
        replies = (
            (target, supervise != "context_only", True),
            (own, supervise != "last_turn", False),
        )
        for reply, is_supervised, is_target in replies:
            if reply is None or not is_supervised:
                continue
            try:
                row, num_dropped = _row(tokenizer, sample, turn, reply, placement, max_length)
            except DataError as error:
                problems.append(str(error))
                continue
            rows.append(row)
            num_targets += is_target
            num_exchanges_dropped += num_dropped
    return BuiltRows(tuple(rows), num_targets, num_exchanges_dropped, tuple(problems))


def _row(
    tokenizer: Tokenizer,
    sample: GattSample,
    turn: int,
    reply: str,
    placement: Placement,
    max_length: int | None,
) -> tuple[Comb, int]:
    """Return the prompt of a turn and a reply as one row, and how many exchanges it lost."""
    turns = list(range(1, turn + 1))
    while True:
        view = training_view(
            keep_turns(sample.dialogue, turns),
            sample.instruction.text if sample.instruction else None,
            placement,
        )
        last = len(turns)
        for message in prompt_of_turn(view, last):
            refuse_control_tokens(tokenizer, message.content, f"dialogue {view.id!r}")
        prompt = encode(tokenizer, prompt_of_turn(view, last), add_generation_prompt=True)
        ids = encode_reply(tokenizer, view, last, prompt, reply)
        num_tokens = len(prompt) + len(ids)
        if max_length is None or num_tokens <= max_length:
            return Comb(prompt + ids, (IGNORE,) * len(prompt) + ids), turn - last
        if last <= 2:
            raise DataError(
                f"sample {sample.id!r}: {num_tokens} tokens with turn 1 and turn {turn} alone, "
                f"more than max_length {max_length}: raise it or shorten the messages"
            )
        del turns[1]


def keep_turns(dialogue: Dialogue, turns: list[int]) -> Dialogue:
    """Return the dialogue with only the given turns (from 1, ascending)."""
    first = int(dialogue.has_system)
    messages = list(dialogue.messages[:first])
    for turn in turns:
        messages += dialogue.messages[first + 2 * turn - 2 : first + 2 * turn]
    return Dialogue(dialogue.id, tuple(messages))


def _build(
    tokenizer: Tokenizer,
    sample: GattSample,
    turns: list[int],
    placement: Placement,
    supervise: Supervise,
    max_length: int | None,
) -> tuple[BuiltComb, int]:
    """Return the comb of the given turns, and the tokens of its longest sequence."""
    instruction = sample.instruction.text if sample.instruction else None
    view = training_view(keep_turns(sample.dialogue, turns), instruction, placement)
    encoded = encode_view(tokenizer, view)
    branches: list[Branch] = []
    num_dropped = sample.dialogue.num_turns - len(turns)
    problems = [
        f"dialogue {view.id!r}, turn {t.turn}: its exchange was dropped "
        f"to fit max_length {max_length}"
        for t in sample.targets
        if t.turn not in turns and t.reply is not None
    ]
    for index, turn in enumerate(turns, start=1):
        reply = sample.targets[turn - 1].reply
        if reply is None:
            continue
        fork = encoded.prompt_lengths[index - 1]
        try:
            ids = encode_reply(tokenizer, view, index, encoded.input_ids[:fork], reply)
        except (DataError, TemplateError) as error:
            problems.append(str(error))
            continue
        if turn == 1 < len(turns) and max_length is not None and fork + len(ids) > max_length:
            # No dropped exchange would shorten it, so the others must not pay for it.
            problems.append(
                f"dialogue {view.id!r}, turn 1: prompt and target take {fork + len(ids)} tokens, "
                f"more than max_length {max_length}"
            )
            continue
        labels = (IGNORE,) * len(ids) if supervise == "context_only" else ids
        branches.append(Branch(fork, ids, labels))
    trunk_labels = [IGNORE] * len(encoded.input_ids)
    if supervise != "last_turn":
        for start, end in encoded.reply_spans:
            trunk_labels[start:end] = encoded.input_ids[start:end]
    comb = Comb(encoded.input_ids, tuple(trunk_labels), tuple(branches))
    longest = max(len(comb.trunk), *(b.fork + len(b.input_ids) for b in branches), 0)
    return BuiltComb(comb, len(branches), num_dropped, tuple(problems)), longest
