"""Splits a model's own replies by rules, and chooses the pair of each turn.

Chosen is a reply that keeps its instruction and answers its turn, and is no copy. Rejected is a failure of the
model's own, of the worst kind that it has at this turn. Of all such pairs the one with the smallest gap in
length is taken, so that no length is learned.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Final

from data_synth.filters import Draw, refuse
from data_synth.pairs.draw import Drawn
from data_synth.quality import QualityConfig
from data_synth.sample_targets import SHORT_REPEATS, SHORT_WORDS, SampleTargets
from gatt.data.answers import answers
from gatt.data.catalog.switch_leakage import still_follows
from gatt.data.sample import GattSample, TurnTarget
from gatt.data.views import prompt_of_turn
from gatt.generation.base import Generation
from gatt.verifiers import check_all, overall
from gatt.verifiers.base import Verdict
from gatt.verifiers.role import RoleRule
from gatt.verifiers.text.copying import copy_of, repeats
from gatt.verifiers.text.words import words

FAILURES: Final = {
    "canned": "the same words at other turns too, whatever the user says",
    "repeats_prompt": "gives the user's message or the history back",
    "repeats_reply": "says an earlier reply again",
    "mentions_instruction": "talks about the instruction instead of following it",
    "says_ai": "calls itself an AI or a language model",
    "out_of_role": "steps out of its role",
    "rejected": "a verifier rejected it",
    "wrong": "lacks what its turn expects, or says a wrong answer",
    "leaks": "still follows the instruction that was replaced or taken back",
    "degenerate": "loops, repeats or holds no words",
    "repetitive": "says the same phrases again",
    "clipped": "stops in mid-sentence, though not at the length limit",
}
"""What a rejected reply did."""
_WORST_FIRST: Final = (
    ("canned", "repeats_prompt", "repeats_reply", "mentions_instruction", "says_ai", "out_of_role"),
    ("rejected", "wrong", "leaks"),
    ("degenerate", "repetitive", "clipped"),
)
"""A failure of the first kind that a turn has is rejected. Broken text comes last: it teaches least. Replies
that were cut, withheld or blank, and those on which no rule could decide, are on no side of a pair."""

NO_PAIR: Final = {
    "no_success": "no draw keeps and answers",
    "no_failure": "no draw fails",
    "not_asked": "the context was full before this turn",
}
"""Why a turn has no pair."""
NONE: Final = "-"
"""Stands in `rejected_for` where a turn has no rejected reply."""


@dataclass(frozen=True)
class _Reply:
    """A draw, judged."""

    text: str
    num_tokens: int
    reason: str | None
    """Why it fails, or can be on no side; None: it keeps and answers."""
    verdicts: tuple[Verdict, ...] = ()


def chosen_pairs(drawn: Drawn, quality: QualityConfig, provenance: dict[str, Any]) -> GattSample:
    """Return the sample of an item: at each turn the chosen and the rejected reply, or why there is none.

    Args:
        drawn: the draws.
        quality: which replies fail, whatever the verifiers say.
        provenance: of the run; the item's history and why each turn's reply was rejected are added.
    """
    sample = drawn.item.sample
    judged = [
        [_checked(drawn, turn, generation, quality) for generation in draws]
        for turn, draws in enumerate(drawn.by_turn, start=1)
    ]
    _mark_canned(judged, drawn)
    held = (sample.instruction, *(s.instruction for s in sample.switches or ()))
    taken = SampleTargets(quality, held)
    targets = [_target(turn, replies, taken) for turn, replies in enumerate(judged, start=1)]
    return replace(
        sample,
        id=drawn.item.id,
        dialogue=drawn.dialogue,
        targets=tuple(target for target, _ in targets),
        provenance=provenance
        | {"history": drawn.item.history, "rejected_for": " ".join(why for _, why in targets)},
    )


def _checked(drawn: Drawn, turn: int, generation: Generation, quality: QualityConfig) -> _Reply:
    text, num_tokens = generation.text.strip(), generation.num_tokens
    sample, dialogue = drawn.item.sample, drawn.dialogue
    instruction = sample.instruction_at(turn)
    read = tuple(m.content for m in prompt_of_turn(dialogue, turn))
    expect = dialogue.expectations[turn - 1]
    draw = Draw(text, generation.finish, instruction, None, read, expect)
    # What the turn expects is judged here, together with the earlier replies.
    reason = refuse(draw, replace(quality, answers=False))
    if reason is not None:
        return _Reply(text, num_tokens, reason)
    earlier = dialogue.replies[: turn - 1]
    verdicts = check_all(instruction.verifiers, text) if instruction else ()
    status = overall(verdicts) if instruction else "pass"
    if status == "fail":
        is_out = any(v.status == "fail" and v.verifier == RoleRule.kind for v in verdicts)
        reason = "out_of_role" if is_out else "rejected"
    elif repeats(text, earlier) and expect is None:
        reason = "repeats_reply"
    elif quality.answers and expect is not None:
        given = instruction.text if instruction else ""
        answer = answers(expect, text, read[-1], earlier, dialogue.expectations[: turn - 1], given)
        if answer.status == "fail":
            is_copy = bool(copy_of(text, read[-1]))
            reason = "repeats_reply" if repeats(text, earlier) else "wrong"
            reason = "repeats_prompt" if is_copy else reason
        elif answer.status == "undecided":
            reason = "undecided"
    if reason is None and status == "undecided":
        reason = "undecided"
    if reason is None and still_follows(
        sample.instruction, sample.switches or (), sample.dialogue, turn, text
    ):
        reason = "leaks"
    return _Reply(text, num_tokens, reason, tuple(verdicts))


def _mark_canned(judged: list[list[_Reply]], drawn: Drawn) -> None:
    """Let replies fail that stand at other turns word for word, unless they answer what their turn expects.

    A reply of few words may stand at as many turns as `SampleTargets` allows.
    """
    turns: dict[str, set[int]] = defaultdict(set)
    for turn, replies in enumerate(judged):
        for reply in replies:
            turns[_plain(reply.text)].add(turn)
    for turn, replies in enumerate(judged):
        is_expected = drawn.dialogue.expectations[turn] is not None
        for place, reply in enumerate(replies):
            plain = _plain(reply.text)
            most = SHORT_REPEATS if len(plain.split()) <= SHORT_WORDS else 1
            is_open = reply.reason in FAILURES or (reply.reason is None and not is_expected)
            if plain and is_open and len(turns[plain]) > most:
                replies[place] = replace(reply, reason="canned")


def _target(turn: int, replies: Sequence[_Reply], taken: SampleTargets) -> tuple[TurnTarget, str]:
    """Return the target of a turn, and why its rejected reply failed."""
    passed = [reply for reply in replies if reply.reason is None]
    kinds = ([r for r in replies if r.reason in reasons] for reasons in _WORST_FIRST)
    failed = next(filter(None, kinds), [])
    pairs = sorted(
        product(passed, failed), key=lambda pair: abs(pair[0].num_tokens - pair[1].num_tokens)
    )
    refused = [reply.reason for reply in replies if reply.reason is not None]
    ordered: list[tuple[_Reply, _Reply | None]] = [*pairs] or [(reply, None) for reply in passed]
    chosen, rejected = next(
        ((better, worse) for better, worse in ordered if taken.take(better.text)), (None, None)
    )
    if chosen is None:
        refused += ["repeats_target"] * len(passed)
        rejected = failed[0] if failed else None
    shown = chosen or rejected
    reason = None if chosen else "no_success" if replies else "not_asked"
    target = TurnTarget(
        turn=turn,
        reply=chosen.text if chosen else None,
        reason=reason,
        kind="sampled" if chosen else None,
        attempts=len(replies),
        verdicts=tuple(v.as_dict() for v in shown.verdicts) if shown else (),
        rejected=rejected.text if rejected else None,
        refused=tuple(refused),
    )
    return target, rejected.reason or NONE if rejected else NONE


def _plain(text: str) -> str:
    return " ".join(words(text.casefold()))


def why_no_pair(target: TurnTarget) -> str | None:
    """Return why a turn has no pair, a key of `NO_PAIR`; None where it has one."""
    if target.reply is None:
        return target.reason
    return "no_failure" if target.rejected is None else None


def num_by_reason(sample: GattSample) -> Counter[str]:
    """Return how many pairs of a sample of `chosen_pairs` have a rejected reply of each reason."""
    reasons = str(sample.provenance.get("rejected_for", "")).split()
    turns = zip(sample.targets, reasons, strict=False)
    return Counter(reason for target, reason in turns if why_no_pair(target) is None)
