"""Lines for terminal and report on replies that are undecided because of the settings."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from eval.records.samples import Sample
from eval.scoring.judge.question import UNTRIGGERED
from gatt.verifiers.judge import JUDGE

_KIND: Final = re.compile(r"(?:no verdict: )?(found|\w+ \w+)")
"""The reason at the beginning of a judge's evidence, without the text that the judge wrote."""
_LONGEST: Final = 160


def notes_of_undecided(samples: Sequence[Sample], max_new_tokens: int) -> list[str]:
    """Return a line for each kind of reply without a verdict, with its number of all and what helps."""
    return [*_of_the_judge(samples), *_of_arms(samples, max_new_tokens)]


def _of_the_judge(samples: Iterable[Sample]) -> Iterator[str]:
    verdicts = [v for s in samples for v in (s.judge, s.completion) if v and v.verifier == JUDGE]
    undecided = [v.evidence for v in verdicts if v.status == "undecided"]
    missing = [evidence for evidence in undecided if not evidence.startswith(UNTRIGGERED)]
    if num := len(undecided) - len(missing):
        yield (
            f"The judge found in {num} of {len(verdicts)} replies that the condition of the instruction "
            "did not occur: they are undecided, and in no rate."
        )
    if not missing:
        return
    kinds: dict[str, list[str]] = defaultdict(list)
    for evidence in missing:
        begin = _KIND.match(evidence)
        kinds[begin[1] if begin else ""].append(evidence)
    largest = max(kinds.values(), key=len)
    why = largest[0].removeprefix("no verdict: ")
    why = why if len(why) <= _LONGEST else f"{why[:_LONGEST].rstrip()} …"
    most = "" if len(largest) == len(missing) else f" (so {len(largest)} of them)"
    yield f"The judge gave no verdict on {len(missing)} of {len(verdicts)} replies: {why}{most}."


def _of_arms(samples: Iterable[Sample], max_new_tokens: int) -> Iterator[str]:
    by_arm: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        if sample.kind == "turn":
            by_arm[sample.arm].append(sample)
    for arm, turns in by_arm.items():
        if cut := sum(s.finish == "length" and not s.reply.strip() for s in turns):
            yield (
                f"{arm}: the limit of {max_new_tokens} tokens came before any text in {cut} of {len(turns)} "
                "replies, as with a model that reasons first: raise sampling.max_new_tokens, or switch the "
                "reasoning off."
            )
        if words := Counter(s.server_end for s in turns if s.server_end):
            ends = ", ".join(f"{word!r} {count}" for word, count in words.most_common())
            yield (
                f"{arm}: the server ended {words.total()} of {len(turns)} replies with a word of its own, and "
                f"they have no verdict ({ends}): server.stop_reasons lets such a word mean a whole reply."
            )
