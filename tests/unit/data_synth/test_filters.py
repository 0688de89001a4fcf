"""The filters: order, reasons, switches, and what all of them must let through."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from data_synth.filters import FILTERS, REASONS, Draw, is_clipped, refuse
from data_synth.introduction import asks_who
from data_synth.quality import QualityConfig
from data_synth.sample_targets import SampleTargets, character_grams, is_near
from gatt.data.bank.read import load_bank
from gatt.data.expectation import Expectation
from gatt.data.instruction import Instruction
from gatt.data.parts import Part
from gatt.generation.base import FinishReason
from gatt.verifiers.spec import VerifierSpec
from tests.support.runs.switched import hobby

TENNIS = hobby("tennis", verifiers=())
QUESTION = "What was the river like on day one?"
LEGS = "How many legs does a spider have?"
EIGHT = Expectation(any_of=("8", "eight"), kind="question")
QUALITY = QualityConfig()
INES = replace(
    TENNIS,
    facts={"name": ("Ines",), "work": ("a baker", "baker"), "home": ("Porto",), "age": ("41",)},
)
REFUSED = {
    "cut": Draw("We played tennis on the", "length", TENNIS),
    "context_limit": Draw("We played tennis on the", "context_limit", TENNIS),
    "content_filter": Draw("", "content_filter", TENNIS),
    "ended": Draw("We played tennis.", "other", TENNIS),
    "blank": Draw("", "stop", TENNIS),
    "degenerate": Draw("tennis tennis tennis tennis tennis", "stop", TENNIS),
    "repetitive": Draw("I am a marine biologist, and I am a marine biologist.", "stop", TENNIS),
    "mentions_instruction": Draw("As you asked, I will bring up tennis.", "stop", TENNIS),
    "says_ai": Draw("As an AI language model, I love tennis.", "stop", TENNIS),
    "repeats_prompt": Draw("what was the RIVER like, on day one?!", "stop", TENNIS, None, (QUESTION,)),
    "clipped": Draw("I would take the early train, and", "stop", TENNIS),
    "declines": Draw("I cannot help with that.", "stop", TENNIS, own="Call us after noon."),
    "introduction": Draw("I'm Ines, a baker from Porto.", "stop", INES, None, ("It snowed all night.",)),
    "lost_fact": Draw("You have a while.", "stop", TENNIS, own="You have 30 days."),
    "added_fact": Draw("You have 30 days at Kaufhaus.", "stop", TENNIS, own="You have 30 days."),
    "wrong": Draw("It has six legs, I think.", "stop", TENNIS, None, (LEGS,), EIGHT),
}  # fmt: skip
ALWAYS = ("cut", "context_limit", "content_filter", "ended", "blank")
OFF = {
    "degenerate": QualityConfig(degenerate=False, repeated_share=None),
    "repetitive": QualityConfig(repeated_share=None),
    "mentions_instruction": QualityConfig(mentions_instruction=False),
    "says_ai": QualityConfig(says_ai=False), "repeats_prompt": QualityConfig(repeats_prompt=False),
    "clipped": QualityConfig(clipped=False), "declines": QualityConfig(declines=False),
    "introduction": QualityConfig(introductions=False),
    "lost_fact": QualityConfig(keeps_facts=False), "added_fact": QualityConfig(keeps_facts=False),
    "wrong": QualityConfig(answers=False),
}  # fmt: skip


def test_every_filter_is_tried_here_has_a_meaning_and_a_switch() -> None:
    assert list(REFUSED) == list(FILTERS)
    assert set(REFUSED) < set(REASONS)
    assert set(OFF) | set(ALWAYS) == set(REFUSED)
    assert all(REASONS.values())
    assert {*get_args(FinishReason)} - {"stop", "length", "other"} < {*ALWAYS}


@pytest.mark.parametrize("reason", REFUSED)
def test_each_filter_has_its_reason_and_refuses_nothing_when_it_is_off(reason) -> None:
    assert refuse(REFUSED[reason], QUALITY) == reason
    if reason in OFF:
        assert refuse(REFUSED[reason], OFF[reason]) is None


@pytest.mark.parametrize(
    ("text", "own", "is_asked", "reason"),
    [
        ("I am sorry, but we do not promise dates.", None, False, "declines"),
        ("I am sorry, but we do not promise dates.", None, True, None),
        ("It should be there soon.", None, False, None),
        ("I cannot say, please ask a lawyer.", "It is in the contract.", False, "declines"),
        # What the user's own reply declines is no fault of the target.
        ("We do not offer that, sorry.", "We do not offer that.", False, None),
    ],
)
def test_only_a_message_that_asks_for_what_is_forbidden_is_declined(
    text, own, is_asked, reason
) -> None:
    part = Part(about="never promise a delivery date", asks=("Will it come on Monday?",))
    expect = part.expectation() if is_asked else None
    shop = replace(TENNIS, parts=(part,))
    assert refuse(Draw(text, "stop", shop, None, ("Hm?",), expect, own), QUALITY) == reason
    if own is None:
        # Other instructions may be asked for what nobody can do.
        assert refuse(Draw(text, "stop", TENNIS, None, ("Hm?",)), QUALITY) is None


def test_a_copy_of_the_question_repeats_it_and_a_reply_in_its_words_does_not() -> None:
    for text, reason in (
        ("The river like on day one.", "repeats_prompt"),
        ("On day one the river was high and brown.", None),
    ):
        assert refuse(Draw(text, "stop", TENNIS, None, (QUESTION,)), QUALITY) == reason


@pytest.mark.parametrize(
    "text", ["Eight!", "A spider has eight legs.", "Tennis first: it has 8 legs."]
)
def test_a_right_answer_may_use_the_words_of_its_question(text) -> None:
    assert refuse(Draw(text, "stop", TENNIS, None, (LEGS,), EIGHT), QUALITY) is None


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("En tant que modèle de langage, je nage.", True),
        ("Sorry, but I'm an AI and play no tennis.", True),
        ("Well, Cleverbot was an early AI language model.", False),
        ("As an air traffic controller I love tennis.", False),
    ],
)
def test_only_a_speaker_who_calls_itself_an_ai_is_refused(text, is_one) -> None:
    assert (refuse(Draw(text, "stop", TENNIS), QUALITY) == "says_ai") == is_one
    assert refuse(Draw(text, "stop", None), QUALITY) != "says_ai"


@pytest.mark.parametrize(
    ("text", "message", "is_one"),
    [
        ("Hello! My name is Ines, and I live in Porto.", "My bus was late.", True),
        ("I am a baker.", "My bus was late.", True),
        ("Ich bin Ines, eine Bäckerin aus Porto.", "Mein Bus kam zu spät.", True),
        ("Me llamo Ines.", "El autobús llegó tarde.", True),
        ("Je m'appelle Ines, et je suis boulangère à Porto.", "Le bus était en retard.", True),
        ("I am Ines.", "Could you help me with my coat?", True),
        ("I am Ines, and I am sorry about your bus; warm up first.", "My bus was late.", False),
        ("I am Ines. Warm up first.", "My bus was late.", False),
        ("I am Ines, warm up first.", "My bus was late.", False),
        ("As a baker I get up before the first bus.", "My bus was late.", False),
        ("I am 41 as well.", "I turned 41 today.", False),
        ("I am a baker.", "My aunt is a baker.", False),
        ("I am Ines, a baker.", "And what do you do?", False),
        ("I am Ines.", "Good morning!", False),
        ("I am Ines, a baker from Porto.", "I'm Paul, by the way.", False),
        ("Soy Ines.", "¿Quién es?", False),
    ],
)
def test_a_reply_that_only_introduces_the_speaker_is_refused_where_nobody_asked(
    text, message, is_one
) -> None:
    draw = Draw(text, "stop", INES, None, (message,))
    assert (refuse(draw, QUALITY) == "introduction") == is_one
    # Of other instructions, where something is expected, or as in the user's own reply it may.
    expected = Expectation(any_of=("Ines",), kind="speaker", fact="name")
    for other in (
        replace(draw, instruction=TENNIS),
        replace(draw, expect=expected),
        replace(draw, own=text),
    ):
        assert refuse(other, QUALITY) != "introduction"


@pytest.mark.parametrize("finish", [f for f in get_args(FinishReason) if f != "stop"])
def test_whatever_ended_a_reply_but_the_model_is_refused_for_what_it_is(finish) -> None:
    reason = {"length": "cut", "other": "ended"}.get(finish, finish)
    for text in ("We played tennis on the hill.", ""):
        assert refuse(Draw(text, finish, TENNIS), QUALITY) == reason


@pytest.mark.parametrize(
    "text",
    [
        "We played tennis on the hill.",
        "Yes",
        "Ha ha ha, that is what my coach says as well!",
        "Old pond\na frog jumps in\nwater's sound",
        "1. I like tea\n2. I like milk\n3. I like bread\n4. I like jam",
        "```python\nprint(a[0])\nprint(a[1])\nprint(a[2])\n```",
        '{"answer": "Take the train.", "reason": "It is faster."}',
        "I love tea and I love milk and I love bread, what can I say?",
        "Ask not what your country can do for you, ask what you can do for your country.",
        "今日はいい天気ですね。明日もいい天気だといいですね。",
        "はい、はい、はい。",
        "no no no, that is fine",
        "สวัสดีครับ ผมชื่อสมชายและผมชอบเล่นเทนนิสกับเพื่อนทุกวันอาทิตย์",
        "So sorry to hear that :(",
        "Is it 5'10\" or 6'?",
    ],
)
def test_real_replies_pass(text) -> None:
    assert refuse(Draw(text, "stop", TENNIS, "Answer in one short sentence."), QUALITY) is None


@pytest.mark.parametrize(
    "text",
    [
        "Ciao, ciao! Ciao, ciao!",
        "你好，你好！你好，你好！你好，你好！",
        "El equipo de tradencia athletic es el equipo de tradencia athletic.",
        "Mhmmmm, your hobby is swimming, and your hobby is my hobby, and your hobby is my hobby.",
        "I'm going to the bar. As Einstein, I'm going to the bar. I'm going to the bar.",
        "我喜欢喝茶和咖啡。你呢？我喜欢喝茶和咖啡。好的。我喜欢喝茶和咖啡。",
        "- tea\n- tea\n- tea\n- tea",
    ],
)
def test_loops_and_repeats_that_models_wrote_do_not(text) -> None:
    assert refuse(Draw(text, "stop", None), QUALITY) in ("degenerate", "repetitive")


def clipped(text: str, instruction: Instruction | None = None) -> bool:
    return is_clipped(Draw(text, "stop", instruction))


@pytest.mark.parametrize(
    ("text", "is_broken_off"),
    [
        ("You've already answered your own question, so I'll just rephrase it for you:", True),
        ("I can only remember three words of it,", True),
        ("My favorite part of it was the", True),
        ("J'aime les chats et", True),
        ('She said: "I will come tomorrow.', True),
        ("We met (in the old town", True),
        ("「そうですね", True),
        ("Er sagte: „Ich komme morgen", True),
        ("```python\nprint(1)", True),
        ("Here are some [links", True),
        ("yeah it was fun", False),
        ("I like vitamin A", False),
        ("I went home :( but she stayed", False),
        ("1) tea 2) milk", False),
        ('It is a 27" screen', False),
        ('"Yes", she said, "of course"', False),
        ("Er sagte: „Ich komme morgen.“", False),
        ("「そうですね」と言いました。", False),
        ("We met (in the old town).", False),
        ("Rock 'n' roll - what else?", False),
        ("Shaken, not stirred", False),
        ("Who are you and who am I", False),
    ],
)
def test_a_reply_that_breaks_off(text, is_broken_off) -> None:
    assert clipped(text) == is_broken_off


def test_an_instruction_about_the_form_judges_it_itself() -> None:
    rule = VerifierSpec("ends_with", {"any_of": ["and"]})
    asks = hobby("tennis", text="End every reply with the word 'and'.", verifiers=(rule,))
    assert not clipped("I went home and", asks)
    assert clipped("I went home and", replace(asks, verifiers=(VerifierSpec("words", {"max": 9}),)))


FIONA = "I'm Fiona, 51, a skilled bagpipe maker from Edinburgh."


def taken(*texts: str, told: Instruction | None = None, **settings: object) -> list[bool]:
    targets = SampleTargets(QualityConfig(**settings), [told])
    return [targets.take(text) for text in texts]


@pytest.mark.parametrize(
    ("other", "is_taken"),
    [
        (FIONA.upper(), False),
        ("I'm Fiona, 52, a skilled bagpipe maker from Edinburgh!", False),
        ("I'm Fiona, and I have lived here for long.", True),
    ],
)
def test_nearly_the_same_is_taken_once_however_far_back(other, is_taken) -> None:
    between = [f"Number {n} is what {n * 7919} people asked for {n * n} times." for n in range(20)]
    assert taken(FIONA, other) == [True, is_taken]
    assert taken(FIONA, *between, other)[-1] is is_taken


def test_short_replies_may_come_twice_and_each_on_its_own() -> None:
    assert taken(*["Of course."] * 3, "I agree.") == [True, True, False, True]
    assert taken("是的。", "是的！", "是的") == [True, True, False]


def test_the_settings_decide() -> None:
    assert taken(FIONA, FIONA, near_duplicate=None) == [True, True]
    close = FIONA.replace("skilled", "humble")
    assert taken(FIONA, close, near_duplicate=1.0) == [True, True]
    assert taken(FIONA, close, near_duplicate=0.5) == [True, False]


def test_what_the_instruction_prescribes_is_left_out() -> None:
    thanks = "Thank you for choosing our shop for all that you need."
    texts = (f"It rains a lot. {thanks}", f"My cat is asleep. {thanks}")
    assert taken(*texts, near_duplicate=0.5) == [True, False]
    told = replace(TENNIS, utterances=(thanks,))
    assert taken(*texts, told=told, near_duplicate=0.5) == [True, True]
    assert taken(thanks, thanks.upper(), told=told) == [True, False]


def test_the_jaccard_index_by_hand() -> None:
    # abcd bcde cdef | abcd bcde cdeg: 2 of 4 in common.
    a, b = character_grams("abcdef"), character_grams("abcdeg")
    assert is_near(a, b, 0.5)
    assert not is_near(a, b, 0.51)
    assert character_grams("ab") == {"ab"}


def test_each_question_of_the_bank_about_the_speaker_asks_who_it_is() -> None:
    for question in load_bank().speaker:
        assert asks_who(question.ask, {"name": ["Mia"], question.fact: ["x"]}), question.ask
