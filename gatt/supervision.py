"""Which tokens carry loss, and the one builder of token ids and labels.

Source: Llama 2, arXiv:2307.09288, section 3.3: the loss is 0 on all tokens of
earlier turns, "including assistant messages", since those were not written
under the instruction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from gatt.chat_template import EncodedView, Tokenizer, encode_reply, encode_view
from gatt.comb import IGNORE, Branch, Comb
from gatt.dialogue import Dialogue
from gatt.errors import DataError, TemplateError
from gatt.sample import GattSample
from gatt.views import Placement, training_view

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
    """One reason per target that could not be encoded."""


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
        max_length: most tokens that one prompt and its target may take. Longer
            ones lose whole oldest exchanges after the first; turn 1 with the
            instruction and the last turns stay.

    Raises:
        TemplateError: no chat template, or it refuses the messages.
        DataError: a dialogue that breaks the prefix rule, or that does not fit
            with turn 1 and the last turn alone.
    """
    if supervise not in SUPERVISE:
        raise DataError(f"unknown supervise {supervise!r}: expected one of {', '.join(SUPERVISE)}")
    turns = list(range(1, sample.dialogue.num_turns + 1))
    num_dropped = 0
    while True:
        dialogue = keep_turns(sample.dialogue, turns)
        view = training_view(
            dialogue, sample.instruction.text if sample.instruction else None, placement
        )
        encoded = encode_view(tokenizer, view)
        branches, problems = _branches(tokenizer, sample, view, encoded, turns, supervise)
        longest = max(
            (b.fork + len(b.input_ids) for b in branches), default=len(encoded.input_ids)
        )
        if max_length is None or longest <= max_length:
            break
        if len(turns) <= 2:
            raise DataError(
                f"sample {sample.id!r}: {longest} tokens with turn 1 and the last turn alone, more than "
                f"max_length {max_length}: raise it or shorten the messages"
            )
        del turns[1]
        num_dropped += 1
    labels = [IGNORE] * len(encoded.input_ids)
    if supervise != "last_turn":
        for start, end in encoded.reply_spans:
            labels[start:end] = encoded.input_ids[start:end]
    comb = Comb(encoded.input_ids, tuple(labels), tuple(branches))
    return BuiltComb(comb, len(branches), num_dropped, tuple(problems))


def keep_turns(dialogue: Dialogue, turns: list[int]) -> Dialogue:
    """Return the dialogue with only the given turns (from 1, ascending)."""
    first = int(dialogue.has_system)
    messages = list(dialogue.messages[:first])
    for turn in turns:
        messages += dialogue.messages[first + 2 * turn - 2 : first + 2 * turn]
    return Dialogue(dialogue.id, tuple(messages))


def _branches(
    tokenizer: Tokenizer,
    sample: GattSample,
    view: Dialogue,
    encoded: EncodedView,
    turns: list[int],
    supervise: Supervise,
) -> tuple[list[Branch], list[str]]:
    branches, problems = [], []
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
        labels = (IGNORE,) * len(ids) if supervise == "context_only" else ids
        branches.append(Branch(fork, ids, labels))
    return branches, problems
