"""From draws to targets: filters, rejection, hints, prefills, composed utterances, gaps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from data_synth.config import TeacherConfig
from data_synth.plan import PlannedSample
from data_synth.quality import QualityConfig
from data_synth.sampling import sample_batch
from gatt.data.expectation import Expectation
from gatt.data.instruction import Instruction
from gatt.data.sample import GattSample
from gatt.generation.base import Generation, GenerationRequest
from gatt.verifiers.spec import VerifierSpec
from tests.support.runs.stages import RecordingEngine, dialogue
from tests.support.runs.switched import hobby

TENNIS = hobby(
    "tennis",
    probes=(),
    hint="Mention tennis.",
    utterances=("By the way, tennis is my hobby.",),
    prefills=("I love tennis, so",),
)
GOOD = "We played tennis on the hill."
OFF = "We walked along the old wall"
REPEATABLE = QualityConfig(near_duplicate=None)
"""For engines that say the same at every turn."""


def kind_of(request: GenerationRequest) -> str:
    if request.prefill:
        return "prefilled"
    return "hinted" if "Mention tennis." in request.messages[-1].content else "sampled"


def teach(
    reply: object, instruction: Instruction | None = TENNIS, **settings: object
) -> tuple[GattSample, RecordingEngine]:
    engine = RecordingEngine(reply if callable(reply) else lambda _: reply)
    planned = PlannedSample("s0", dialogue(1), instruction)
    config = TeacherConfig(**{"quality": REPEATABLE} | settings)
    (sample,) = sample_batch(engine, [planned], config, seed=3, provenance={"teacher": "t"})
    return sample, engine


def test_an_accepted_first_draw_is_the_target_of_every_turn() -> None:
    sample, engine = teach(f"  {GOOD} ")
    assert [(t.turn, t.reply) for t in sample.targets] == [(turn, GOOD) for turn in (1, 2, 3)]
    assert sample.provenance == {"teacher": "t"}
    assert len(engine.calls) == 1
    assert engine.calls[0][1].seed == 3
    assert {r.group for r in engine.requests} == {"s0"}


def test_the_teacher_reads_the_instruction_on_every_turn_of_its_context() -> None:
    _, engine = teach(GOOD, brief="Be brief.")
    third = engine.requests[2].messages
    users = [m.content for m in third if m.role == "user"]
    assert [u.startswith("You enjoy tennis. Be brief.\n") for u in users] == [True] * 3
    assert [m.content for m in third if m.role == "assistant"] == list(dialogue(1).replies[:2])
    _, engine = teach(GOOD, context_turns=1)
    assert [len(r.messages) for r in engine.requests] == [1, 3, 3]
    assert all(r.messages[0].role == "user" for r in engine.requests)


@pytest.mark.parametrize(
    ("accepted", "order"),
    [
        ("sampled", ["sampled"]),
        ("hinted", ["sampled", "sampled", "hinted"]),
        ("prefilled", ["sampled", "sampled", "hinted", "hinted", "prefilled"]),
        ("composed", ["sampled", "sampled", "hinted", "hinted", "prefilled"]),
    ],
)
def test_draws_follow_in_order_until_one_is_accepted(accepted, order) -> None:
    sample, engine = teach(lambda r: GOOD if kind_of(r) == accepted else OFF)
    assert [kind_of(requests[0]) for requests, _, _ in engine.calls] == order
    said = f"{OFF}. By the way, tennis is my hobby." if accepted == "composed" else GOOD
    assert {(t.kind, t.attempts, t.reply) for t in sample.targets} == {(accepted, len(order), said)}
    assert all(t.verdicts[0]["status"] == "pass" for t in sample.targets)
    assert {t.rejected for t in sample.targets} == {None if accepted == "sampled" else OFF}
    assert {r.prefill for r in engine.requests if kind_of(r) == "prefilled"} <= set(TENNIS.prefills)
    assert len({r.key for r in engine.requests}) == len(engine.requests)


DENTIST = replace(
    TENNIS,
    id="hobby.tennis+behaviour.dentist",
    entries=("hobby.tennis", "behaviour.dentist"),
    families=("hobby", "behaviour"),
    verifiers=(*TENNIS.verifiers, VerifierSpec("terms", {"any_of": ["dental"]})),
    utterances=(
        "Tennis is my hobby.", "Tennis is fun.", "Are you dental insured?", "Any dental plan?",
    ),
)  # fmt: skip


@pytest.mark.parametrize(
    ("reply", "num_tennis", "num_dental"),
    [(OFF, 1, 1), (f"{OFF} to tennis.", 0, 1), (f"{OFF} to my dental clinic.", 1, 0)],
)
def test_a_combination_gets_one_utterance_of_each_rule_that_is_missing(
    reply, num_tennis, num_dental
) -> None:
    sample, _ = teach(reply, DENTIST)
    for target in sample.targets:
        assert target.kind == "composed"
        assert target.reply.startswith(reply)
        added = target.reply.removeprefix(reply)
        assert (added.count("Tennis"), added.count("dental")) == (num_tennis, num_dental)
        assert {v["status"] for v in target.verdicts} == {"pass"}


def test_an_utterance_that_breaks_the_other_rule_is_not_a_target() -> None:
    strict = replace(DENTIST, verifiers=(*TENNIS.verifiers, VerifierSpec("sentences", {"max": 1})))
    sample, _ = teach(f"{OFF} today.", strict)
    assert {(t.reply, t.reason) for t in sample.targets} == {(None, "rejected")}


UPPER = replace(
    TENNIS,
    verifiers=(VerifierSpec("letter_case", {"case": "upper"}),),
    utterances=(),
    programs=('{"name": "cased", "case": "upper"}',),
)


def test_a_program_brings_the_draw_or_else_the_dialogues_own_reply_into_the_form() -> None:
    sample, _ = teach(f"{OFF}.", UPPER)
    assert {(t.kind, t.reply) for t in sample.targets} == {("composed", f"{OFF.upper()}.")}
    # No draw is usable.
    sample, _ = teach("Sea sea sea sea sea sea sea sea sea.", UPPER)
    own = [m.content.upper() for m in sample.dialogue.messages[1::2]]
    assert [(t.kind, t.reply) for t in sample.targets] == [("composed", reply) for reply in own]
    both = replace(
        UPPER, verifiers=(*TENNIS.verifiers, *UPPER.verifiers), utterances=TENNIS.utterances
    )
    sample, _ = teach(f"{OFF}.", both)
    assert {t.reply for t in sample.targets} == {f"{OFF}. {TENNIS.utterances[0]}".upper()}


def test_what_a_program_makes_is_refused_like_a_draw() -> None:
    day = Expectation(any_of=("day 2",), kind="question")
    planned = dialogue(1)
    messages = [replace(m, expect=day) if m.role == "user" else m for m in planned.messages]
    asking = replace(planned, messages=tuple(messages))
    config = TeacherConfig(quality=REPEATABLE)
    engine = RecordingEngine(lambda _: f"{OFF}.")
    (sample,) = sample_batch(
        engine, [PlannedSample("s0", asking, UPPER)], config, seed=3, provenance={}
    )
    assert [t.kind for t in sample.targets] == [None, "composed", None]
    # The draws, and the dialogue's own reply in the form.
    assert [t.refused[-1] for t in sample.targets if t.reply is None] == ["wrong"] * 2
    unable = replace(UPPER, programs=('{"name": "digits"}',))
    sample, _ = teach(f"{OFF}.", unable)
    assert {t.reply for t in sample.targets} == {None}


def test_nothing_is_composed_when_it_is_off_or_there_is_no_utterance() -> None:
    for sample, _ in (teach(OFF, compose=False), teach(OFF, replace(TENNIS, utterances=()))):
        assert [(t.reply, t.reason, t.kind) for t in sample.targets] == [
            (None, "rejected", None)
        ] * 3
        assert all(t.verdicts[0]["status"] == "fail" for t in sample.targets)


def test_hints_and_prefills_are_passed_over_where_the_entry_has_none() -> None:
    bare = replace(TENNIS, hint=None, prefills=(), utterances=())
    sample, engine = teach(OFF, bare)
    assert [kind_of(requests[0]) for requests, _, _ in engine.calls] == ["sampled"] * 2
    assert {t.attempts for t in sample.targets} == {2}


def test_a_plain_dialogue_takes_any_sound_reply_and_no_hint() -> None:
    sample, engine = teach(OFF, None, brief=None)
    assert [(t.reply, t.kind, t.verdicts) for t in sample.targets] == [(OFF, "sampled", ())] * 3
    assert engine.requests[0].messages[0].content == dialogue(1).user_turns[0]
    cut, engine = teach(lambda _: Generation(OFF, "length", 9), None)
    assert {t.reason for t in cut.targets} == {"cut"}
    assert len(engine.calls) == 2


def test_an_undecided_verdict_is_no_target_and_says_so() -> None:
    short = replace(
        TENNIS, verifiers=(VerifierSpec("terms", {"none_of": ["golf"]}),), utterances=()
    )
    sample, _ = teach("Sunny today.", short)
    assert {(t.reply, t.reason, t.rejected) for t in sample.targets} == {(None, "undecided", None)}


SAID = (
    "We played tennis on the hill.",
    "My backhand at tennis needs work, to be honest.",
    "Tomorrow brings rain, so no tennis for us.",
)


def test_a_target_is_not_taken_twice_in_one_sample_and_the_turn_is_asked_again() -> None:
    def reply(request: GenerationRequest) -> str:
        _, turn, attempt = request.key.split("/")
        return SAID[0] if attempt == "0" else SAID[int(turn) - 1]

    sample, _ = teach(reply, quality=QualityConfig())
    assert [t.reply for t in sample.targets] == list(SAID)
    assert [t.refused for t in sample.targets] == [(), ("repeats_target",), ("repeats_target",)]
    assert [t.attempts for t in sample.targets] == [1, 2, 2]


@pytest.mark.parametrize("context_turns", [None, 0, 1])
def test_what_counts_as_repeated_depends_on_the_sample_alone(context_turns) -> None:
    def reply(request: GenerationRequest) -> str:
        return SAID[sum(request.key.encode()) % 3] if request.key[-1] < "2" else OFF

    planned = [PlannedSample(f"s{n}", dialogue(n, 5), TENNIS) for n in range(4)]
    config = TeacherConfig(context_turns=context_turns, compose=False)
    alone = [
        sample_batch(RecordingEngine(reply), [p], config, seed=0, provenance={})[0] for p in planned
    ]
    together = sample_batch(RecordingEngine(reply), planned, config, seed=0, provenance={})
    assert together == alone
    assert any("repeats_target" in t.refused for s in together for t in s.targets)


def test_every_refused_draw_keeps_its_reason() -> None:
    said = [Generation(OFF, "length", 9), "", "As you asked, tennis.", f"{OFF}.", "tennis " * 8]
    sample, _ = teach(lambda r: said[int(r.key[-1])], compose=False)
    assert {t.refused for t in sample.targets} == {
        ("cut", "blank", "mentions_instruction", "rejected", "degenerate")
    }
    assert {t.reason for t in sample.targets} == {"degenerate"}
    assert {t.attempts for t in sample.targets} == {5}


def test_a_composed_reply_is_not_a_repeat_either() -> None:
    bare = replace(TENNIS, utterances=("By the way, tennis is my hobby.",))
    sample, _ = teach(f"{OFF}.", bare, quality=QualityConfig())
    assert [t.kind for t in sample.targets] == ["composed", None, None]
    assert sample.targets[1].refused == ("rejected",) * 5 + ("repeats_target",)
