"""How often each part of an instruction holds: in every reply, or where a turn asks for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from eval.metrics.curves import by_arm
from eval.records.samples import Sample
from gatt.data.parts import Part
from gatt.verifiers.base import Status, Verdict
from gatt.verifiers.judge import JUDGE
from gatt.verifiers.table import overall


@dataclass(frozen=True, kw_only=True)
class PartRate:
    """A part of an instruction, in the replies of one arm."""

    arm: str
    history: str
    part: str
    """It in the user's words."""
    is_judged: bool
    """Whether anything judges it: a rule, or a judge model that was asked. The numbers of a part that nothing
    judges are 0, apart from replies that a judge model could decide."""
    is_asked_for: bool
    """Whether only replies to turns that ask for it count."""
    num_replies: int
    """Decided ones."""
    num_kept: int
    num_undecided: int


def part_rates(samples: Iterable[Sample]) -> list[PartRate]:
    """Return the rate of each part, by arm and history; nothing where no instruction names its parts."""
    rates = []
    for (arm, history), members in by_arm(samples).items():
        judged: dict[Part, list[Status]] = {}
        waiting: set[Part] = set()
        for sample in members:
            instruction = sample.instruction
            if instruction is None or sample.kind != "turn" or sample.expected != "kept":
                continue
            for part in instruction.parts:
                statuses = judged.setdefault(part, [])
                specs = [instruction.verifiers[number] for number in instruction.verifiers_of(part)]
                if specs and all(spec.kind == JUDGE for spec in specs):
                    waiting.add(part)
                if (status := part_status(sample, part)) is not None:
                    statuses.append(status)
        rates += [
            PartRate(
                arm=arm,
                history=history,
                part=part.about,
                is_judged=part.is_judged and not (part in waiting and {*statuses} <= {"undecided"}),
                is_asked_for=part.is_asked_for,
                num_replies=len(statuses) - statuses.count("undecided"),
                num_kept=statuses.count("pass"),
                num_undecided=statuses.count("undecided"),
            )
            for part, statuses in judged.items()
        ]
    return rates


def part_status(sample: Sample, part: Part) -> Status | None:
    """Return whether a reply holds a part; None where it does not count."""
    instruction = sample.instruction
    assert instruction is not None
    if not part.is_judged:
        return None
    verdicts: list[Verdict] = []
    if part.is_asked_for:
        is_asked = sample.asks_what == part.about or (
            sample.asks == "speaker" and sample.asks_what in part.facts
        )
        if not is_asked or sample.answer is None:
            return None
        verdicts.append(sample.answer)
    # A reply that was judged as a whole, such as an empty one, has one verdict for all.
    is_whole = len(sample.verdicts) != len(instruction.verifiers)
    own = range(len(sample.verdicts)) if is_whole else instruction.verifiers_of(part)
    return overall([*verdicts, *(sample.verdicts[number] for number in own)])
