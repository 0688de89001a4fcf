"""Pairs of a model's own replies: which are chosen, over which history, and the file that goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from data_synth.pairs.choose import why_no_pair
from data_synth.pairs.config import PairsConfig
from data_synth.pairs.run import COUNTS_FILE, PairsResult, run_pairs
from gatt.data.dialogue import Dialogue, Message
from gatt.data.expectation import Expectation
from gatt.data.instruction import Instruction
from gatt.data.sample import GattSample, TurnTarget, read_samples
from gatt.errors import DataError, StoreError
from gatt.generation.base import Generation, GenerationRequest
from gatt.verifiers.spec import VerifierSpec
from tests.support.models.tiny import NO_SYSTEM, tiny_tokenizer
from tests.support.runs.stages import RecordingEngine, dialogue, hobby, write_jsonl, write_model
from tests.support.runs.switched import switched, to

Reply = str | Generation


def sample(
    talk: Dialogue, instruction: Instruction | None, name: str = "s0", reply: str = "Tennis!"
) -> GattSample:
    targets = tuple(TurnTarget(turn, reply) for turn in range(1, talk.num_turns + 1))
    return GattSample(name, talk, instruction, targets, {"seed": 1})


def asking(*expected: Expectation | None) -> Dialogue:
    """Return a dialogue of questions of other words, each with what it expects."""
    asked = ("What is the capital of France?", "Did the river rise?", "Who wrote Hamlet back then?")
    messages = []
    for text, expect in zip(asked, expected, strict=False):
        messages += [Message("user", text, expect), Message("assistant", "Well, well.")]
    return Dialogue("d1", tuple(messages))


def make(
    folder: Path,
    samples: list[GattSample],
    reply: Callable[[GenerationRequest], Reply],
    interrupt_at: int | None = None,
    template: str = "",
    **changes: Any,
) -> tuple[PairsResult, RecordingEngine]:
    folder.mkdir(exist_ok=True)
    path = write_jsonl(folder / "in.jsonl", (one.as_dict() for one in samples))
    settings: dict[str, Any] = {
        "samples": (path,), "output_dir": folder / "out", "replies": 4, "histories": ("reference",),
    }  # fmt: skip
    engine = RecordingEngine(reply, interrupt_at=interrupt_at)
    if template:
        vars(engine)["tokenizer"] = tiny_tokenizer(template)
    return run_pairs(PairsConfig(**settings | changes), lambda: engine), engine


def drawn(by_turn: list[list[Reply]]) -> Callable[[GenerationRequest], Reply]:
    """Return what answers a request with the draw of its turn and number."""

    def reply(request: GenerationRequest) -> Reply:
        _, turn, number = request.key.rsplit("/", 2)
        return by_turn[int(turn) - 1][int(number)]

    return reply


ROLE = replace(
    hobby("tennis"), verifiers=(VerifierSpec("role", {"names": ["Maria"]}),), families=("persona",)
)
PARIS = Expectation(any_of=("Paris",))


def said(text: str, num_tokens: int, finish: Any = "stop") -> Generation:
    return Generation(text, finish, num_tokens)


@pytest.mark.parametrize(
    ("instruction", "expect", "draws", "chosen", "rejected", "why"),
    [
        pytest.param(
            hobby("tennis"), None,
            [said("I stayed in all day.", 5), said("I play a lot of tennis here.", 9),
             said("No idea at all, sorry.", 6), said("Tennis keeps me busy.", 6)],
            "Tennis keeps me busy.", "No idea at all, sorry.", "rejected",
            id="the pair with the smallest gap",
        ),
        pytest.param(
            hobby("tennis"), PARIS,
            [said("Tennis and London.", 4), said("Rome, but no rackets.", 7),
             said("Paris, and its tennis.", 9), said("Paris, with tennis courts.", 4)],
            "Paris, with tennis courts.", "Tennis and London.", "wrong",
            id="keeps without an answer fails",
        ),
        pytest.param(
            hobby("tennis"), PARIS,
            [said("I would rather be elsewhere.", 5), said("Paris has tennis too.", 5),
             said("As an AI I do not play tennis.", 20), said("Rome.", 5)],
            "Paris has tennis too.", "As an AI I do not play tennis.", "says_ai",
            id="a reply out of role before others, whatever its length",
        ),
        pytest.param(
            ROLE, None,
            [said("My name is Alex.", 4), said("The river is high.", 4), said("The The The The The The The", 4),
             said("It rose a little.", 4)],
            "The river is high.", "My name is Alex.", "out_of_role",
            id="another name",
        ),
        pytest.param(
            hobby("tennis"), PARIS,
            [said("What is the capital of France?", 6), said("Tennis!", 2), said("Paris loves tennis.", 5),
             said("Paris", 3)],
            "Paris loves tennis.", "What is the capital of France?", "repeats_prompt",
            id="a copy of the message",
        ),
        pytest.param(
            hobby("tennis"), None,
            [said("I like tennis and", 5, "length"), said("", 1), said("Tennis it is.", 3),
             said("Nothing at", 2, "length")],
            "Tennis it is.", None, "-",
            id="what was cut or blank is on no side",
        ),
    ],
)  # fmt: skip
def test_the_pair_of_a_turn(tmp_path, instruction, expect, draws, chosen, rejected, why) -> None:
    result, _ = make(tmp_path, [sample(asking(expect), instruction)], drawn([draws]))
    (made,) = read_samples(result.samples)
    (target,) = made.targets
    assert (target.reply, target.rejected) == (chosen, rejected)
    assert made.provenance["rejected_for"] == why
    assert result.counts.rejected == ({why: 1} if rejected else {})


def test_the_same_words_at_other_turns_are_canned_unless_they_answer(tmp_path) -> None:
    canned = "Well, tennis is my one and only love."
    draws = [
        [canned, "I saw Paris and tennis.", "Paris? Tennis is there.", "Dull."],
        [canned, "It rose over the tennis courts.", "So.", "Hm."],
        ["Shakespeare, who never saw tennis.", "Shakespeare, who never saw tennis.", canned, "Marlowe."],
    ]  # fmt: skip
    talk = asking(PARIS, None, Expectation(any_of=("Shakespeare",)))
    result, _ = make(tmp_path, [sample(talk, hobby("tennis"))], drawn(draws))
    (made,) = read_samples(result.samples)
    assert [t.rejected for t in made.targets] == [canned] * 3
    assert [t.reply for t in made.targets][1:] == [draws[1][1], draws[2][0]]
    assert result.counts.rejected == {"canned": 3}
    assert result.counts.refused["canned"] == 3


def test_a_turn_with_one_side_missing_gives_no_pair_and_is_counted(tmp_path) -> None:
    draws: list[list[Reply]] = [
        ["I love tennis.", "Tennis, for sure.", "It is tennis again.", "Tennis first."],
        ["No.", "Maybe.", "I stayed at home.", "The sea was calm."],
        ["Long live tennis here.", "Dull.", "Dark.", "Cold."],
    ]
    result, _ = make(tmp_path, [sample(dialogue(1), hobby("tennis"))], drawn(draws))
    (made,) = read_samples(result.samples)
    assert [why_no_pair(target) for target in made.targets] == ["no_failure", "no_success", None]
    # What `objective: targets` learns.
    assert [target.reply is not None for target in made.targets] == [True, False, True]
    counts = json.loads((result.samples.with_name(COUNTS_FILE)).read_text(encoding="utf-8"))
    assert counts["no_pair"] == {"no_failure": 1, "no_success": 1}
    assert (counts["num_pairs"], counts["num_targets"], counts["num_draws"]) == (1, 2, 12)
    assert counts["by_history"] == {"reference": {"turns": 3, "targets": 2, "pairs": 1}}


def varied(request: GenerationRequest) -> str:
    name, turn, number = request.key.rsplit("/", 2)
    kind = sum(request.key.encode()) % 3
    return f"On day {turn} {name} {('played tennis', 'slept', 'met friends for tennis')[kind]}, {number}."


def test_each_history_is_a_sample_with_what_the_model_read(tmp_path) -> None:
    told = sample(dialogue(1), hobby("tennis"))
    plain = sample(dialogue(2), None, "s1")
    result, engine = make(tmp_path, [told, plain], varied, histories=("own", "reference"))
    passed, own, reference = read_samples(result.samples)
    assert (passed.targets, passed.dialogue) == (plain.targets, plain.dialogue)
    assert [own.id, reference.id] == ["s0-own", "s0-reference"]
    assert reference.dialogue == told.dialogue
    first = {r.key: varied(r) for r in engine.requests if r.key.endswith("/0")}
    assert list(own.dialogue.replies) == [first[f"s0-own/{turn}/0"] for turn in (1, 2, 3)]
    asked = {r.key: r.messages for r in engine.requests}
    # The instruction stands once, and later turns read the first draw.
    assert [m.content for m in asked["s0-own/2/3"]] == [
        "You enjoy tennis.", told.dialogue.user_turns[0], first["s0-own/1/0"], told.dialogue.user_turns[1],
    ]  # fmt: skip
    assert asked["s0-reference/2/0"][2].content == told.dialogue.replies[0]
    assert not any("s1" in key for key in asked)


def test_where_the_template_takes_no_system_message_users_say_it(tmp_path) -> None:
    told = switched([to("chess", place="system")])
    result, engine = make(tmp_path, [told], varied, template=NO_SYSTEM)
    asked = next(r.messages for r in engine.requests if "/3/0" in r.key)
    assert [m.role for m in asked] == ["user", "assistant"] * 2 + ["user"]
    (change,) = told.switches or ()
    assert change.text in asked[2].content
    # Training moves it by itself.
    (made,) = read_samples(result.samples)
    assert made.switches == told.switches


def test_behind_a_full_context_nobody_is_asked(tmp_path) -> None:
    def reply(request: GenerationRequest) -> Reply:
        if "/2/" in request.key:
            return Generation("", "context_limit", 0)
        return varied(request)

    result, engine = make(
        tmp_path, [sample(dialogue(1), hobby("tennis"))], reply, histories=("own",)
    )
    (made,) = read_samples(result.samples)
    assert not any("/3/" in request.key for request in engine.requests)
    assert [target.reason for target in made.targets][1:] == ["no_success", "not_asked"]


def test_an_interrupted_run_goes_on_to_the_same_file(tmp_path) -> None:
    samples = [sample(dialogue(n), hobby("tennis"), f"s{n}") for n in range(5)]
    samples.append(sample(dialogue(9), None, "s9"))
    settings = {"batch_samples": 3, "histories": ("own", "reference")}
    whole, _ = make(tmp_path / "a", samples, varied, **settings)
    with pytest.raises(KeyboardInterrupt):
        make(tmp_path / "b", samples, varied, interrupt_at=7, **settings)
    stored = len(list(read_samples(tmp_path / "b" / "out" / "samples.jsonl")))
    again, _ = make(tmp_path / "b", samples, varied, **settings)
    assert 1 < stored < len(list(read_samples(whole.samples))) == 11
    assert again.num_new == 11 - stored
    assert again.samples.read_bytes() == whole.samples.read_bytes()
    done, engine = make(tmp_path / "b", samples, varied, **settings)
    assert (done.num_new, engine.calls) == (0, [])
    with pytest.raises(StoreError, match="replies"):
        make(tmp_path / "b", samples, varied, replies=5, **settings)


def test_what_gives_nothing_to_learn_is_refused(tmp_path) -> None:
    told = sample(dialogue(1), hobby("tennis"))
    with pytest.raises(DataError, match=r"12 draws.*rejected"):
        make(tmp_path / "a", [told], lambda request: f"Nothing of the kind, {request.key}.")
    with pytest.raises(DataError, match="instruction"):
        make(tmp_path / "b", [replace(told, instruction=None)], varied)
    with pytest.raises(DataError, match="'s0'"):
        make(tmp_path / "c", [told, told], varied)


def test_other_weights_of_the_adapter_are_refused(tmp_path) -> None:
    told = [sample(dialogue(1), hobby("tennis"))]
    adapter = write_model(tmp_path / "adapter")
    (adapter / "adapter_model.safetensors").write_bytes(b"one")
    make(tmp_path / "run", told, varied, adapter=adapter)
    (adapter / "adapter_model.safetensors").write_bytes(b"other")
    with pytest.raises(StoreError, match="adapter_weights"):
        make(tmp_path / "run", told, varied, adapter=adapter)
