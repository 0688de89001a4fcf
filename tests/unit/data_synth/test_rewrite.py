"""A shop's own replies as targets: kept, brought into the form by program, or rewritten with their facts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from data_synth.config import SynthConfig, TeacherConfig
from data_synth.plan import PlannedSample
from data_synth.rewrite import unlabelled
from data_synth.sampling import sample_batch
from gatt.data.dialogue import Dialogue, Message
from gatt.data.expectation import Expectation
from gatt.data.parts import Part
from gatt.data.sample import TurnTarget
from gatt.sources.config import SourceConfig
from gatt.verifiers.spec import VerifierSpec
from tests.support.runs.stages import RecordingEngine, hobby

RETURNS = {"any_of": ["return", "returns"], "beside": [["free"]]}
MIA = hobby(
    "Mia",
    text="You are Mia of Bergfreund. At most two sentences. Always mention our free returns.",
    probes=(),
    verifiers=(
        VerifierSpec("role", {"names": ["Mia"]}),
        VerifierSpec("sentences", {"max": 2}),
        VerifierSpec("says", RETURNS),
    ),
    utterances=("Remember our free returns.", "Let me remind you of our free returns."),
    facts={"name": ("Mia",), "company": ("Bergfreund",)},
)
FRENCH = hobby(
    "fr",
    text="Answer in French.",
    verifiers=(VerifierSpec("language", {"language": "fr"}),),
    probes=(),
)
NAMED = Expectation(any_of=("Mia",), kind="speaker", fact="name")


def rewritten(
    own: str, reply: str, instruction=MIA, expect: Expectation | None = None, **settings: object
) -> tuple[TurnTarget, RecordingEngine]:
    engine = RecordingEngine(lambda _: reply)
    messages = (Message("user", "My boots are too small.", expect), Message("assistant", own))
    planned = PlannedSample("s0", Dialogue("d", messages), instruction)
    config = TeacherConfig(**{"mode": "rewrite", "leave_share": 1.0} | settings)
    (sample,) = sample_batch(engine, [planned], config, seed=0, provenance={})
    return sample.targets[0], engine


@pytest.mark.parametrize(
    ("own", "ends"),
    [
        ("Send them back within 30 days.", ("free returns.",)),
        ("Send them back within 30 days. The slip is in the box.", ("free returns.",)),
        ("It is ready. Send it within 30 days. Use the slip.", ("free returns.",)),
        ("I am sorry. When did you buy them?", ("When did you buy them?", "when did you buy them?")),
    ],
)  # fmt: skip
def test_a_program_adds_what_a_reply_lacks_and_keeps_its_words(own, ends) -> None:
    target, engine = rewritten(own, "No.")
    assert (target.kind, target.attempts, target.rejected) == ("composed", 0, own)
    assert target.reply.endswith(ends)
    assert {v["status"] for v in target.verdicts} == {"pass"}
    for word in ("30", "slip", "buy"):
        assert (word in target.reply) == (word in own)
    assert engine.requests == []


def test_a_reply_that_keeps_the_instruction_stays_and_a_share_of_them_is_rewritten() -> None:
    own = "Returns are free, Anna, within 30 days."
    assert rewritten(own, "No.")[0].kind == "kept"
    better = "Anna, our returns are free within 30 days."
    target, _ = rewritten(own, better, leave_share=0.0)
    assert (target.kind, target.reply) == ("rewritten", better)
    # No draw was accepted.
    target, _ = rewritten(own, "Returns are free.", leave_share=0.0)
    assert (target.kind, target.reply, set(target.refused)) == ("kept", own, {"lost_fact"})
    assert rewritten(own, "No.", instruction=None)[0].kind == "kept"


def test_the_teacher_rewrites_what_no_program_can_and_facts_stay() -> None:
    own = "You can send them back within 30 days, Anna."
    said = "Vous pouvez les renvoyer sous trente jours, Anna."
    target, engine = rewritten(own, f'Answer: "{said}"', FRENCH, brief="Be brief.")
    assert (target.kind, target.reply) == ("rewritten", said)
    (request,) = engine.requests
    (prompt,) = request.messages
    assert all(text in prompt.content for text in (FRENCH.text, own, "My boots are too small."))
    assert "Be brief." not in prompt.content
    target, _ = rewritten(own, "Vous pouvez les renvoyer quand vous voulez, Anna.", FRENCH)
    assert (target.reply, target.reason) == (None, "lost_fact")
    target, _ = rewritten(own, "Vous avez 30 jours, Anna, ou 60 avec la carte.", FRENCH)
    assert (target.reply, target.reason) == (None, "added_fact")


def test_a_draw_with_a_hint_reads_two_example_replies_in_front_of_it() -> None:
    examples = ("Where is it?", "Voilà, à gauche.", "When?", "Ce soir.", "Why?", "Parce que oui.")
    shown = replace(FRENCH, examples=examples)
    _, engine = rewritten("It is blue.", "No.", shown, attempts=1, hint_attempts=1)
    plain, hinted = (request.messages[0].content for request in engine.requests)
    assert hinted.startswith(plain)
    said = hinted.removeprefix(plain)
    assert [text in said for text in examples] == [False, True, False, True, False, False]
    hint = "Write French words."
    _, engine = rewritten("It is blue.", "No.", replace(shown, hint=hint), attempts=1)
    assert engine.requests[1].messages[0].content == f"{hinted}\n\n{hint}"
    _, engine = rewritten("It is blue.", "No.", replace(FRENCH, hint=hint), attempts=1)
    assert engine.requests[1].messages[0].content == f"{plain}\n\n{hint}"


@pytest.mark.parametrize(
    ("drawn", "own", "reply"),
    [
        ("La respuesta es: Cuatro.", "Four.", "Cuatro."),
        ("A resposta é: A resposta é: Quatro.", "Four.", "Quatro."),
        ("Ein Kunde schrieb: Wie viele?\nDie Antwort ist: Vier.", "Four.", "Vier."),
        ("Soll ich?\nDie Antwort ist: Ja.", "Yes.", "Ja."),
        ("Nota: ele fecha às 18:30.", "Note: it closes at 18:30.", "Nota: ele fecha às 18:30."),
        ("Helper: Four.", "Four.", "Helper: Four."),
        ("Rewritten answer: Four.", "4.", "Four."),
        ("Answer: Four.", "Answer: four.", "Answer: Four."),
        ("The answer is: Hours: 9 to 5.", "Hours: 9 to 5.", "Hours: 9 to 5."),
        ("Es ist 18:30 Uhr.", "It is 18:30.", "Es ist 18:30 Uhr."),
        ('{"answer": "Four."}', "Four.", '{"answer": "Four."}'),
        ("Eins.\nZwei.", "One.\nTwo.", "Eins.\nZwei."),
    ],
)
def test_labels_of_the_prompt_in_any_language_are_no_part_of_a_reply(drawn, own, reply) -> None:
    assert unlabelled(drawn, own, "Begin each reply with 'Helper:'.") == reply


def test_questions_between_are_answered_by_program() -> None:
    target, engine = rewritten("I'd rather not say.", "I am a language model.", expect=NAMED)
    assert engine.requests == []
    assert (target.kind, "Mia" in str(target.reply)) == ("composed", True)
    # The instruction's own sentence is no reply: another way to say the fact is.
    text = "You are the keeper of a small harbour in the north."
    roles = {"work": (text[8:-1], "the keeper", "keeper")}
    keeper = replace(
        MIA,
        text=text,
        hint=f"Keep to this: {text}",
        verifiers=MIA.verifiers[1:2],
        utterances=(),
        facts=roles,
    )
    asked = Expectation(any_of=roles["work"], kind="speaker", fact="work")
    target, _ = rewritten("I'd rather not say.", "No.", keeper, asked)
    assert (target.kind, "harbour" in str(target.reply)) == ("composed", False)
    advice = Part(
        about="no advice", asks=("Which pills?",), replies=("I cannot give medical advice.",)
    )
    mia = replace(MIA, parts=(Part(about="the rest", num_verifiers=3), advice))
    target, _ = rewritten("Let us stay.", "Take two of them.", mia, advice.expectation())
    assert (target.kind, str(target.reply).startswith(advice.replies[0])) == ("composed", True)


@pytest.mark.parametrize(
    ("source", "mode", "expected"),
    [
        ({"name": "jsonl", "path": "x"}, None, "rewrite"),
        ({"name": "hub", "path": "x"}, None, "rewrite"),
        ({"name": "faq", "path": "x"}, None, "rewrite"),
        ({"name": "chitchat"}, None, "sample"),
        ({"name": "jsonl", "path": "x"}, "sample", "sample"),
    ],
)
def test_the_mode_follows_from_the_source_unless_it_is_set(
    tmp_path, source, mode, expected
) -> None:
    config = SynthConfig(
        output_dir=tmp_path, source=SourceConfig(**source), teacher=TeacherConfig(mode=mode)
    )
    assert config.resolved_teacher.mode == expected
