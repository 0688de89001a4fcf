"""Similarity to the question: which similarity counts, and where none is measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from data_synth.filters import Draw
from data_synth.filters.off_topic import off_topic
from gatt.data.instruction import Instruction
from gatt.verifiers.spec import VerifierSpec
from gatt.verifiers.topics.sentence_encoder import Vectors
from tests.support.runs.switched import hobby

QUESTION = "What is the weather like in your town today?"
PLAIN = "There is a football match on the square this evening."
THANKS = "Thank you for shopping with us today, and do come again."
TOPICS = ("weather", "football", "shopping")


class TopicEncoder:
    """One dimension a topic, the last for none of them."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def encode(self, texts: Sequence[str]) -> Vectors:
        self.calls.append(list(texts))
        rows = [[float(t in text) for t in TOPICS] for text in texts]
        found = np.array([[*row, float(not any(row))] for row in rows], dtype=np.float32)
        return found / np.linalg.norm(found, axis=1, keepdims=True)


def draw(text: str, instruction: Instruction | None = None) -> Draw:
    return Draw(text, "stop", instruction, None, ("Hello there, my friend.", QUESTION), PLAIN)


def instruction(**settings: object) -> Instruction:
    return hobby("tennis", **{"verifiers": (), **settings})


GOOD = draw("I think that the weather will be fine until the weekend.")
ALSO_GOOD = draw("My brother and I are going to watch the football this evening.")
BAD = draw("I am happy to help you with your project at any time.")


def test_the_larger_similarity_counts_and_all_are_encoded_together() -> None:
    encoder = TopicEncoder()
    assert off_topic([GOOD, BAD, ALSO_GOOD], encoder, 0.5) == [False, True, False]
    assert len(encoder.calls) == 1


def test_without_a_plain_reply_the_question_decides() -> None:
    draws = [replace(GOOD, plain_reply=""), replace(ALSO_GOOD, plain_reply="")]
    assert off_topic(draws, TopicEncoder(), 0.5) == [False, True]


def test_what_the_instruction_wants_said_is_left_out() -> None:
    shop = instruction(utterances=(THANKS,))
    asked = replace(draw(f"{BAD.text} {THANKS}", shop), told=(f"{THANKS} Is that right?",))
    assert off_topic([asked], TopicEncoder(), 0.5) == [True]
    assert off_topic([replace(asked, text=THANKS)], TopicEncoder(), 0.5) == [False]


def test_other_languages_are_left_alone() -> None:
    encoder = TopicEncoder()
    french = instruction(verifiers=(VerifierSpec("language", {"language": "fr"}),))
    draws = [
        draw(BAD.text, french),
        draw("Je suis très heureux de pouvoir vous aider avec votre projet."),
        replace(BAD, told=("Quel temps fait-il chez vous aujourd'hui, mon ami ?",)),
        replace(BAD, told=()),
    ]
    assert off_topic(draws, encoder, 0.5) == [False] * 4
    assert not encoder.calls
    english = instruction(verifiers=(VerifierSpec("language", {"language": "en"}),))
    assert off_topic([draw(BAD.text, english)], encoder, 0.5) == [True]
