"""Talk about the instruction, and talk that only sounds like it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from data_synth.filters import Draw
from data_synth.filters.instruction_talk import mentions_instruction
from gatt.data.instruction import Instruction
from gatt.verifiers.spec import VerifierSpec

BRIEF = "Answer in one short sentence."
FRENCH = Instruction(
    id="language.fr",
    text="Speak in French.",
    wording="verbose",
    entries=("language.fr",),
    families=("language",),
    split="train",
    verifiers=(),
    hint="Réponds uniquement en français. Answer only in French.",
)
SHOP = replace(
    FRENCH,
    id="behaviour.shop",
    text="Thank you for shopping with us. Always thank the customer.",
    hint='Answer in two sentences, then say, in words such as: "Your first session is free."',
    utterances=("Thank you for shopping with us.", "Your first session is free."),
    prefills=("As Napoleon, I",),
)
TENNIS = replace(
    FRENCH,
    id="hobby.tennis",
    text="You enjoy tennis and bring it up in every answer.",
    hint="Answer the question in one sentence, and mention your hobby, tennis, in the next one.",
    verifiers=(VerifierSpec("likes", {"any_of": ["tennis", "racket", "Wimbledon"]}),),
)
NAPOLEON = replace(
    FRENCH,
    id="figure.napoleon",
    text="Act as Napoleon.",
    hint="Answer in the first person as Napoleon, never as an AI, and mention your army.",
)
SENTENCE = replace(
    FRENCH, id="format.sentence", text="Answer in one sentence only.", hint="Say it in a sentence."
)
HELD_OUT = yaml.safe_load(
    Path(__file__).with_name("instruction_talk_held_out.yaml").read_text(encoding="utf-8")
)
INSTRUCTIONS = {"tennis": TENNIS, "french": FRENCH, "napoleon": NAPOLEON, "sentence": SENTENCE}


def mentions(
    text: str, instruction: Instruction | None = FRENCH, brief: str | None = BRIEF
) -> bool:
    return mentions_instruction(Draw(text, "stop", instruction, brief))


@pytest.mark.parametrize(
    "text",
    [
        "As you asked, I will mention tennis.",
        "As requested, here is my answer.",
        "My instructions say tennis.",
        "I was told to speak French.",
        "As an AI language model I was instructed to be brief.",
        "I'll answer in French from now on.",
        "I will be acting as she.",
        "Sure, I will follow your instructions.",
        "I'm glad that you're happy with the prompt.",
        "Can you please provide a response in one or two sentences?",
        "Always let your love of ballet shine through in my responses.",
        "Here is my reply in French: oui.",
        "I'm ready to help! Just answer in one short sentence.",
        "In one short sentence: yes.",
        "Comme vous l'avez demandé, je parle du tennis.",
        "Je vais vous répondre en français.",
        "Como me pediste, hablo de tenis.",
        "Responderé en español.",
        "Wie du es verlangt hast, spreche ich über Tennis.",
        "Ich werde nur auf Deutsch antworten.",
        "Come mi hai chiesto, parlo di tennis.",
        "Risponderò in italiano.",
        "Como você pediu, falo de tênis.",
        "Хорошо, отвечу вам по-русски.",
        "Vastaan suomeksi.",
        "Odpovím česky.",
        "Odpowiem po polsku.",
        "Szívesen, magyarul válaszolok.",
    ],
)
def test_talk_about_the_instruction(text) -> None:
    assert mentions(text)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("tennis", "I'm supposed to mention tennis."),
        ("napoleon", "You asked me to act as Napoleon."),
        ("napoleon", "I have to act as Napoleon now."),
        ("tennis", "Per the instructions, I like tennis."),
        ("tennis", "Okay, I'll mention tennis: it is a fine game."),
        ("tennis", "Sure, here is a reply that mentions tennis"),
        ("tennis", "I have been told that I enjoy tennis"),
        ("tennis", "I'm supposed to enjoy tennis"),
        ("tennis", "You told me that I enjoy tennis, so I do"),
        ("tennis", "I will bring up my racket, as you can see."),
        ("french", "Bien sûr, je vais parler en français"),
        ("french", "Je dois parler français maintenant"),
        ("sentence", "I must answer with one sentence."),
    ],
)
def test_talk_about_what_this_instruction_says(key, text) -> None:
    assert mentions(text, INSTRUCTIONS[key])


@pytest.mark.parametrize("key", INSTRUCTIONS)
@pytest.mark.parametrize(
    "text",
    [
        "I was told to speak up more at work",
        "They told me to never give up",
        "I was asked to be a bridesmaid!",
        "Here is my answer: yes.",
        "I have to act as a judge tomorrow.",
        "I'll mention that to my boss.",
        "I was told to use the other door.",
        "I did as I was told.",
        "The instructions say to bake it for an hour.",
    ],
)
def test_what_people_are_told_in_life(key, text) -> None:
    assert not mentions(text, INSTRUCTIONS[key])


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("napoleon", "I have to act as a judge, and Napoleon was one too."),
        ("tennis", "I was told to enjoy my tea. Tennis comes later."),
        ("tennis", "I'm supposed to enjoy tennis with my boss tomorrow."),
        ("tennis", "You said you'd come."),
    ],
)
def test_the_subject_must_follow_at_once_and_not_in_life(key, text) -> None:
    assert not mentions(text, INSTRUCTIONS[key])


def _pairs(texts: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(key, text) for key, listed in texts.items() for text in listed]


@pytest.mark.parametrize(("key", "text"), _pairs(HELD_OUT["tells"]))
def test_held_out_talk_about_the_instruction(key, text) -> None:
    assert mentions(text, INSTRUCTIONS[key])


@pytest.mark.parametrize(("key", "text"), _pairs(HELD_OUT["tells_nothing"]))
def test_held_out_talk_of_life(key, text) -> None:
    assert not mentions(text, INSTRUCTIONS[key])


@pytest.mark.parametrize(
    "text",
    [
        "My instructions to the baker were to leave out the salt.",
        "Read the instructions on the box first.",
        "I followed the instructions of my doctor.",
        "I was asked to leave the bar.",
        "I was told to come at nine.",
        "You told me to call the plumber, and I did.",
        "I was instructed in Latin by the monks.",
        "As you asked me yesterday about the train: it leaves at six.",
        "I'll speak in public tomorrow.",
        "I will act in a play next week.",
        "I'll answer as soon as I can.",
        "Here is the answer to your question.",
        "Thank you for the prompt reply.",
        "The system is down.",
        "Let me say this: I love Paris.",
        "I always speak French with my mother.",
        "I must write my mother in French.",
        "She asked me to act in her film.",
        "Comme vous le voyez, il pleut.",
        "Comme tu veux.",
        "Je parle français avec ma mère.",
        "Como siempre, llueve.",
        "Me pidieron que viniera.",
        "Wie du weißt, spiele ich Tennis.",
        "Ich bin gebeten worden zu kommen.",
        "Come sai, gioco a tennis.",
        "Como você sabe, jogo tênis.",
    ],
)
def test_talk_that_only_sounds_like_it(text) -> None:
    assert not mentions(text)


@pytest.mark.parametrize(
    "text",
    [
        "Réponds uniquement en français.",
        "Français ! Bonjour ! réponds uniquement en français",
        "Answer only in French",
        "speak in French",
        "Bonjour. Speak in French!",
    ],
)
def test_a_sentence_of_the_instruction_or_its_hint_given_back(text) -> None:
    assert mentions(text)


@pytest.mark.parametrize("text", ["Do you speak in French?", "Speak in French?", "French."])
def test_a_question_or_a_word_of_it_is_no_echo(text) -> None:
    assert not mentions(text)


@pytest.mark.parametrize(
    "text",
    [
        "Thank you for shopping with us.",
        "Good. Your first session is free.",
        "As Napoleon, I like tea. Thank you for shopping with us!",
    ],
)
def test_what_the_instruction_wants_said_is_no_echo(text) -> None:
    assert not mentions(text, SHOP)


def test_the_rest_of_that_instruction_is() -> None:
    assert mentions("Always thank the customer.", SHOP)


def test_a_plain_dialogue_may_speak_of_instructions_but_not_repeat_the_brief() -> None:
    assert not mentions("As you asked, I read the prompt.", None)
    assert mentions("Answer in one short sentence.", None)
    assert not mentions("Answer in one short sentence.", None, None)
