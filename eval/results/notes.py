"""What a reader of the rates must know: sentences of `results.json`, shown under the first chart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from eval.cases.asked_turns import judged_turns, shown_turns
from eval.cases.unmeasured import Triggers
from eval.config import EvalConfig, used_adapters
from eval.metrics.curves import ALL, CurvePoint
from eval.records.case import Case
from eval.records.samples import Sample
from gatt.data.instruction import Instruction
from gatt.data.training_marks import read_marks

MUCH_REPEATED: Final = 0.5
"""If at least this share of an arm's replies are repeated, a note says so."""
MUCH_CUT: Final = 0.1
"""If the limit cut at least this share of the replies of some arm, a note gives the shares of all arms."""


def notes(
    config: EvalConfig, cases: Sequence[Case], triggers: Triggers | None, unknown: Sequence[str]
) -> list[str]:
    """Return what the configuration, its cases and its adapters limit.

    `triggers` is None in a run without plain dialogues; `unknown` are arms that do not say what they
    were trained on.
    """
    lines = []
    given = [i for c in cases for i in (c.instruction, *(s.instruction for s in c.switches)) if i]
    num_dialogues = len({c.dialogue.id for c in cases})
    if num_dialogues < len(cases):
        num_told = len({instruction.id for instruction in given})
        lines.append(
            f"{len(cases)} cases share {num_dialogues} dialogues and {num_told} instructions."
        )
    if triggers:
        total = len(triggers.entries) + len(triggers.left_out)
        lines.append(
            f"A false trigger follows one of {len(triggers.entries)} of the {total} catalogue entries; "
            f"the other {len(triggers.left_out)} are left out, because ordinary replies satisfy them."
        )
    releases = [case.release_turn for case in cases if case.release_turn is not None]
    if releases:
        lines.append(
            f"In {len(releases)} of {len(cases)} cases the user takes the instruction back, at turn "
            f"{min(releases)} or later: from there on such a case counts for leakage alone, and the other "
            "curves rest on fewer cases."
        )
    changed = [case for case in cases if case.switches]
    if changed:
        kinds = Counter(s.kind for case in changed for s in case.switches)
        turns = [s.turn for case in changed for s in case.switches]
        at = f"turn {min(turns)}" if len(set(turns)) == 1 else f"turns {min(turns)} to {max(turns)}"
        counted = ", ".join(f"{num} {kind}" for kind, num in sorted(kinds.items()))
        lines.append(
            f"In {len(changed)} of {len(cases)} cases the instruction changes at {at} ({counted}): "
            "adherence is to the one in force. Leakage counts replies that satisfy the rules of the one "
            "that was replaced or cancelled, by chance or not: read it against the dialogue's own replies."
        )
    if clusters := {c.cluster for c in cases if c.cluster}:
        inside = sum(bool(c.cluster) for c in cases)
        lines.append(
            f"{inside} of {len(cases)} cases begin with the same exchange as another: they count as "
            f"{len(clusters)} independent dialogues in every interval."
        )
    if num_given := sum(c.is_given for c in cases):
        lines.append(
            f"In {num_given} of {len(cases)} cases the user's own messages have the instruction: no arm "
            "was given its text, so a reminder changes nothing there."
        )
    unasked = [case for case in cases if not judged_turns(case, config)]
    if unasked:
        lines.append(
            f"{len(unasked)} of {len(cases)} cases have none of the turns {shown_turns(config)}, as the case "
            f"{unasked[0].id!r} with {unasked[0].num_turns}: they are in no rate."
        )
    asked = [max(judged_turns(c, config)) for c in cases if judged_turns(c, config)]
    if config.turns == "last" or any(c.turns for c in cases):
        # Each case is asked at turns of its own.
        asked = []
    if len(set(asked)) > 1:
        lines.append(
            f"Cases have {min(asked)} to {max(asked)} turns: later turns rest on fewer of them."
        )
    if unknown:
        lines.append(
            f"{', '.join(unknown)}: no list of training dialogues beside the adapter; whether some of "
            "them are evaluated here was not checked."
        )
    if config.cases:
        return lines
    if config.only_trained:
        lines.append(
            "Seen instructions are drawn from the entries that every adapter was trained on."
        )
    lines += _half_seen(config, [i for i in given if i.split == "train"])
    if config.part == "validation":
        lines.append(
            "Dialogues are of the validation part: the recipe may have been chosen by them."
        )
    elif config.part != "eval":
        lines.append(
            "Dialogues were not limited to the evaluation part: training may have seen them."
        )
    return lines


def _half_seen(config: EvalConfig, seen: Sequence[Instruction]) -> list[str]:
    """Return a note for each arm whose training had only some of the seen instructions."""
    if not config.engine.has_weights:
        return []
    lines = []
    for arm, folder in used_adapters(config).items():
        marks = read_marks(folder)
        if marks is None or marks.entries is None:
            continue
        num = sum(marks.entries.issuperset(instruction.entries) for instruction in seen)
        if num < len(seen):
            lines.append(
                f"{arm} was trained on {num} of the {len(seen)} seen instructions of the cases: the "
                "others are of the catalogue's training split, and its data did not draw them "
                "(only_trained leaves them out)."
            )
    return lines


def notes_of_replies(
    points: Sequence[CurvePoint], samples: Sequence[Sample], max_new_tokens: int
) -> list[str]:
    """Return what the replies themselves limit, with a line for each kind of trouble.

    Arms that mostly repeat themselves in their own history, at its last turn; ordinary replies that their
    limit cut, for all arms where they are many in one.
    """
    wanted = ("repetition", "own", ALL, ALL)
    repeated = [p for p in points if (p.metric, p.history, p.split, p.family) == wanted]
    last = {p.arm: p for p in sorted(repeated, key=lambda p: p.turn) if p.rate is not None}
    lines = [
        f"{arm}: {100 * point.rate:.0f} % of its replies at turn {point.turn} of its own history are earlier "
        "ones word for word. A copy keeps what its original kept, so adherence says little about later turns."
        for arm, point in last.items()
        if point.rate is not None and point.rate >= MUCH_REPEATED
    ]
    turns = [sample for sample in samples if sample.kind == "turn"]
    num = Counter(sample.arm for sample in turns)
    cut = Counter(sample.arm for sample in turns if sample.finish == "length")
    if any(cut[arm] >= MUCH_CUT * num[arm] for arm in num):
        shares = ", ".join(f"{arm} {100 * cut[arm] / num[arm]:.0f} %" for arm in num)
        lines.append(
            f"Judged replies that the limit of {max_new_tokens} tokens cut: {shares}. Text beyond "
            "the limit is not judged."
        )
    return lines
