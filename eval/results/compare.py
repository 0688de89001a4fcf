"""Two evaluations of the same model on the same prompts, reply by reply: local against served, say.

Greedy replies to the same prompts should be the same words. Where they are not,
sums were rounded in another order, or something is wrong: another model,
template, placement or sampling.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from eval.records.file_names import samples_of_run
from eval.records.samples import Sample, read_samples
from gatt.errors import DataError
from gatt.models.chat_template import shared_length

Key = tuple[str, ...]

SINCE_EARLIER: Final = "reads an earlier reply that differs"


@dataclass(frozen=True)
class Pair:
    """Two replies to the same prompt."""

    left: Sample
    right: Sample
    is_since_earlier: bool = False
    """In its own history the model has read an earlier reply that differs: this one follows from it."""

    @property
    def has_same_reply(self) -> bool:
        """Whether the words are the same."""
        return self.left.reply == self.right.reply

    @property
    def has_same_verdict(self) -> bool:
        """Whether the verdicts are the same."""
        return self.left.status == self.right.status

    @property
    def num_shared(self) -> int:
        """Characters with which both replies begin."""
        return shared_length(self.left.reply, self.right.reply)

    def as_dict(self) -> dict[str, Any]:
        """Return the pair as JSON takes it."""
        sample = self.left
        return {
            "arm": sample.arm,
            "history": sample.history,
            "dialogue": sample.dialogue,
            "instruction": sample.instruction.id if sample.instruction else "",
            "kind": sample.kind,
            "turn": sample.turn,
            "user": sample.user,
            "replies": [self.left.reply, self.right.reply],
            "statuses": [self.left.status, self.right.status],
            "finishes": [self.left.finish, self.right.finish],
            "num_shared": self.num_shared,
            "is_since_earlier": self.is_since_earlier,
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

    @property
    def total(self) -> Tally:
        """The tally of all pairs."""
        return _tally(self.pairs)

    @property
    def arms(self) -> Mapping[str, Tally]:
        """The tally of each arm."""
        names = dict.fromkeys(p.left.arm for p in self.pairs)
        return {name: _tally([p for p in self.pairs if p.left.arm == name]) for name in names}

    @property
    def differences(self) -> tuple[Pair, ...]:
        """Pairs that differ; those with different verdicts come first."""
        found = [p for p in self.pairs if not (p.has_same_reply and p.has_same_verdict)]
        return tuple(sorted(found, key=lambda p: p.has_same_verdict))

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON takes it."""
        return {
            "total": {**self.total._asdict(), "verdict_rate": self.total.verdict_rate},
            "arms": {name: tally._asdict() for name, tally in self.arms.items()},
            "num_only_left": self.num_only_left,
            "num_only_right": self.num_only_right,
            "num_other_prompts": self.num_other_prompts,
            "differences": [pair.as_dict() for pair in self.differences],
        }


def _tally(pairs: Sequence[Pair]) -> Tally:
    same = sum(p.has_same_reply for p in pairs), sum(p.has_same_verdict for p in pairs)
    return Tally(len(pairs), *same)


def compare(left: Path, right: Path, arms: Mapping[str, str] | None = None) -> Comparison:
    """Return two evaluations side by side.

    Replies belong together by arm, history, dialogue, instruction, kind and turn.

    Args:
        left: output_dir of an evaluation.
        right: of the other.
        arms: arm of the left one -> the arm of the right one to compare it with; None compares all arms
            with those of the same name.

    Raises:
        DataError: a folder without samples, broken ones, no such arm, or not one reply in common.
    """
    one, other = _samples(left), _samples(right)
    if arms:
        one = _of_arms(one, {name: name for name in arms}, left)
        other = _of_arms(other, {theirs: ours for ours, theirs in arms.items()}, right)
    both = [key for key in one if key in other]
    same = [key for key in both if _prompt(one[key]) == _prompt(other[key])]
    if not same:
        raise DataError(
            f"{left} and {right}: no reply to the same prompt in both (arms {_arms(one)} and "
            f"{_arms(other)}): expected the same suite, seed and names of arms"
        )
    # Dialogue in its own history -> the first turn whose reply differs; probes stand in no history.
    first: dict[Key, int] = {}
    for sample in (one[key] for key in same if one[key].reply != other[key].reply):
        if sample.history == "own" and sample.kind == "turn":
            first[_dialogue(sample)] = min(first.get(_dialogue(sample), sample.turn), sample.turn)
    pairs = []
    for key in same:
        sample = one[key]
        since = sample.history == "own" and first.get(_dialogue(sample), sample.turn) < sample.turn
        pairs.append(Pair(sample, other[key], since))
    return Comparison(
        tuple(pairs), len(one) - len(both), len(other) - len(both), len(both) - len(same)
    )


def _samples(folder: Path) -> dict[Key, Sample]:
    path = samples_of_run(folder)
    if not path.is_file():
        raise DataError(f"{path}: no such file: expected the output_dir of `gatt eval`")
    return {sample.key: sample for sample in read_samples(path)}


def _of_arms(
    samples: Mapping[Key, Sample], names: Mapping[str, str], folder: Path
) -> dict[Key, Sample]:
    """Return the samples of some arms, under other names."""
    for name in names:
        if all(sample.arm != name for sample in samples.values()):
            raise DataError(f"{folder}: no arm {name!r} in it: expected one of {_arms(samples)}")
    found = (replace(s, arm=names[s.arm]) for s in samples.values() if s.arm in names)
    return {sample.key: sample for sample in found}


def _prompt(sample: Sample) -> tuple[str, str]:
    return sample.user, sample.instruction.text if sample.instruction else ""


def _dialogue(sample: Sample) -> Key:
    return (sample.arm, *sample.case)


def _arms(samples: Mapping[Key, Sample]) -> str:
    names = dict.fromkeys(s.arm for s in samples.values())
    return ", ".join(repr(name) for name in names) or "none"
