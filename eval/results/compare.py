"""Two evaluations of the same model on the same prompts, reply by reply: local against served, say.

Greedy replies to the same prompts should be the same words. Where they are not,
sums were rounded in another order, or something is wrong: another model,
template, placement or sampling.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from eval.metrics.paired import asked
from eval.records.samples import Sample, read_samples, samples_of_run
from gatt.errors import DataError
from gatt.models.chat_template import shared_length


class Pair(NamedTuple):
    """Two replies to the same prompt."""

    left: Sample
    right: Sample

    @property
    def is_same_verdict(self) -> bool:
        """Whether the verdicts are the same."""
        return self.left.status == self.right.status

    @property
    def is_same_reply(self) -> bool:
        """Whether the words are the same."""
        return self.left.reply == self.right.reply

    @property
    def num_shared(self) -> int:
        """Characters with which both replies begin."""
        return shared_length(self.left.reply, self.right.reply)

    def as_dict(self) -> dict[str, Any]:
        """Return the pair as JSON takes it."""
        left, fields = self.left, ("arm", "history", "dialogue", "kind", "turn", "user")
        return {
            **{name: getattr(left, name) for name in fields},
            "instruction": left.instruction.id if left.instruction else "",
            "replies": [sample.reply for sample in self],
            "statuses": [sample.status for sample in self],
            "finishes": [sample.finish for sample in self],
            "num_shared": self.num_shared,
        }


class Tally(NamedTuple):
    """How many replies agree."""

    num: int
    num_same_replies: int
    num_same_verdicts: int

    @property
    def verdict_rate(self) -> float:
        """Share of equal verdicts."""
        return self.num_same_verdicts / self.num


@dataclass(frozen=True)
class Comparison:
    """Two evaluations side by side."""

    pairs: tuple[Pair, ...]
    num_only_left: int
    num_only_right: int
    num_other_prompts: int
    """Pairs under the same name that were asked something else, and are in no rate."""

    def tally(self, arm: str | None = None) -> Tally:
        """Return the tally of an arm, or of all pairs."""
        found = [p for p in self.pairs if arm in (None, p.left.arm)]
        same = sum(p.is_same_reply for p in found), sum(p.is_same_verdict for p in found)
        return Tally(len(found), *same)

    @property
    def total(self) -> Tally:
        """The tally of all pairs."""
        return self.tally()

    @property
    def arms(self) -> Mapping[str, Tally]:
        """The tally of each arm."""
        return {arm: self.tally(arm) for arm in dict.fromkeys(p.left.arm for p in self.pairs)}

    @property
    def differences(self) -> list[Pair]:
        """Pairs that differ; those with different verdicts come first."""
        found = [p for p in self.pairs if not (p.is_same_reply and p.is_same_verdict)]
        return sorted(found, key=lambda p: p.is_same_verdict)

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON takes it."""
        nums = ("num_only_left", "num_only_right", "num_other_prompts")
        return {
            "total": {**self.total._asdict(), "verdict_rate": self.total.verdict_rate},
            "arms": {name: tally._asdict() for name, tally in self.arms.items()},
            **{name: getattr(self, name) for name in nums},
            "differences": [pair.as_dict() for pair in self.differences],
        }


def compare(left: Path, right: Path, arms: Mapping[str, str] | None = None) -> Comparison:
    """Return two evaluations side by side.

    Replies belong together by arm, history, dialogue, instruction, kind and turn.

    Args:
        left: output_dir of an evaluation.
        right: of the other.
        arms: arm of the left one -> the arm of the right one to compare it with; None compares all arms
            with those of the same name.

    Raises:
        DataError: a folder without samples, broken ones, or not one reply in common.
    """
    theirs = {theirs: ours for ours, theirs in (arms or {}).items()}
    one = _samples(left, {name: name for name in arms or ()})
    other = _samples(right, theirs)
    both = [key for key in one if key in other]
    same = [Pair(one[key], other[key]) for key in both if asked(one[key]) == asked(other[key])]
    if not same:
        raise DataError(
            f"{left} and {right}: no reply to the same prompt in both (arms {_arms(one)} and "
            f"{_arms(other)}): expected the same suite, seed and names of arms, or --arm"
        )
    num = len(both)
    return Comparison(tuple(same), len(one) - num, len(other) - num, num - len(same))


def _samples(folder: Path, names: Mapping[str, str]) -> dict[tuple[str, ...], Sample]:
    """Return the samples of some arms under other names, or of all arms if there are no names."""
    path = samples_of_run(folder)
    if not path.is_file():
        raise DataError(f"{path}: no such file: expected the output_dir of `gatt eval`")
    samples = (s for s in read_samples(path) if not names or s.arm in names)
    found = (replace(s, arm=names.get(s.arm, s.arm)) for s in samples)
    return {sample.key: sample for sample in found}


def _arms(samples: Mapping[tuple[str, ...], Sample]) -> str:
    return ", ".join(repr(arm) for arm in dict.fromkeys(s.arm for s in samples.values())) or "none"
