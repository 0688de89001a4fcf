from __future__ import annotations

import re
from dataclasses import replace

import pytest

from gatt.data.hash_split import PARTS, partition
from gatt.errors import ConfigError
from gatt.generation.base import Generation, GenerationRequest, SamplingParams
from gatt.sources import SourceRequest
from gatt.sources.answered import answer_scripts, last_sentence_cut
from gatt.sources.questions import Script, make_scripts, question_bank
from tests.support.runs.stages import RecordingEngine

PROBES = (
    "Who are you?",
    "What is your favorite hobby?",
    "What language do you speak?",
    "What is your name?",
    "Where do you live?",
    "What do you do for a living?",
    "How old are you?",
    "What are you best known for?",
    "Where are you from?",
    "What do you do in your free time?",
)
REQUEST = SourceRequest(20, 24, 12, 3)


def plain(text: str) -> str:
    spelled = text.lower().replace("favourite", "favorite").replace("'s", " is")
    return " ".join(re.findall(r"[a-z]+", spelled))


def test_bank_is_large_and_varied() -> None:
    topics = question_bank().topics
    assert len(topics) >= 60
    assert all(len(t.messages) >= 8 for t in topics)
    assert sum(t.about_you for t in topics) >= 0.25 * len(topics)
    messages = [m for t in topics for m in t.messages]
    repeated = {m for m in messages if messages.count(m) > 1}
    assert not repeated - {"Is that normal?", "What happened then?"}
    assert len({t.id for t in topics}) == len(topics)


def test_bank_holds_no_probe_of_the_evaluation() -> None:
    bank = question_bank()
    messages = [*bank.openers, *(m for t in bank.topics for m in t.messages)]
    probes = [plain(p) for p in PROBES]
    assert not [m for m in messages for p in probes if p in plain(m)]


def test_scripts_are_seeded_and_stay_in_their_part() -> None:
    assert make_scripts(REQUEST) == make_scripts(REQUEST)
    assert make_scripts(REQUEST) != make_scripts(replace(REQUEST, seed=4))
    assert make_scripts(replace(REQUEST, num=5)) == make_scripts(REQUEST)[:5]
    bank = question_bank()
    part_of = {m: partition(t.id) for t in bank.topics for m in t.messages}
    for part in PARTS:
        for script in make_scripts(REQUEST, part):  # type: ignore[arg-type]
            assert partition(script.id) == part
            assert len(script.user_turns) == 24
            assert {part_of[m] for m in script.user_turns if m not in bank.openers} == {part}


def test_scripts_refuse() -> None:
    with pytest.raises(ConfigError, match=r"^source 'questions' needs num"):
        make_scripts(replace(REQUEST, num=None))
    with pytest.raises(ConfigError, match=r"min_turns is 2000, .* part 'train' have \d+ messages"):
        make_scripts(SourceRequest(2000, 2000, 1, 0))


def test_answers_see_the_history_and_those_without_one_are_dropped() -> None:
    ends = {
        "a": ("Two.", "stop"),
        "cut": ("It is fine. I would go on", "length"),
        "open": (" no full stop ", "stop"),
        "none": ("I would go on and on", "context_limit"),
        "empty": (" ", "stop"),
        "withheld": ("", "content_filter"),
        "full": ("", "context_limit"),
    }

    def reply(request: GenerationRequest) -> Generation:
        text, finish = ends[request.group]
        if len(request.messages) == 1 and request.group == "a":
            text = "One."
        return Generation(text, finish, 3)  # type: ignore[arg-type]

    engine = RecordingEngine(reply)
    scripts = [Script(name, ("1?", "2?") if name == "a" else ("1?",)) for name in ends]
    found = answer_scripts(engine, scripts, SamplingParams())
    assert [answer if isinstance(answer, str) else answer.replies for answer in found] == [
        ("One.", "Two."), ("It is fine.",), ("no full stop",), "context limit reached", "empty reply",
        "withheld by the server's filter", "context limit reached",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Yes! Take: 1. eggs 2.", "Yes!"),
        ('He said "stop." And then he', 'He said "stop."'),
        ("Version 3.5 is", ""),
        ("是的。我", "是的。"),
        ("Done.", "Done."),
    ],
)
def test_last_sentence(text: str, expected: str) -> None:
    assert last_sentence_cut(text) == expected
