"""Rates of the dialogue's own replies: what a rate is without any instruction.

Adherence to "use no digits" is near 100 % for a model that never read it. The dialogue's own replies
were written without the instruction too: compare adherence and false triggers with their rate.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from eval.metrics.curves import METRICS, OWN_REPLIES, VACUOUS, CurvePoint, curves
from eval.records.case import Case
from eval.records.samples import Sample
from eval.scoring.verdict import verdicts_of_turn
from gatt.data.catalog.switch_leakage import leak_status
from gatt.data.instruction import Entry


def vacuous_curves(
    samples: Iterable[Sample], pool: Sequence[Entry], cases: Iterable[Case] = ()
) -> list[CurvePoint]:
    """Return the rates of the own replies in place of the arms', as `curves` does.

    They are the same for all arms and histories. There is one record for each history, so that it can
    be compared with those of the arms. A turn without an own reply is not counted.

    Args:
        samples: of all arms; those of one case and turn count once.
        pool: the entries that count for false triggers.
        cases: those that say what a change of the instruction has ended, for leakage.
    """
    changed = {
        (case.dialogue.id, case.instruction.id, case.twin): case
        for case in cases
        if case.instruction and case.switches
    }
    own: dict[tuple[str | int, ...], Sample] = {}
    for sample in samples:
        if sample.kind == "turn" and sample.reference is not None:
            own.setdefault((sample.history, *sample.case, sample.turn), sample)
    judged = []
    for sample in own.values():
        reply = sample.reference or ""
        status, verdicts = verdicts_of_turn(reply, sample.instruction, pool)
        case = changed.get(sample.case)
        judged.append(
            replace(
                sample,
                arm=OWN_REPLIES,
                reply=reply,
                finish="stop",
                status=status,
                verdicts=verdicts,
                loose=None,
                completion=None,
                judge=None,
                leak=leak_status(case.ended_rules(sample.turn), reply) if case else None,
            )
        )
    return curves(judged, {name: METRICS[metric] for metric, name in VACUOUS.items()})
