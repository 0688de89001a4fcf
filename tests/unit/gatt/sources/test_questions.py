from __future__ import annotations

import re
from dataclasses import replace

import pytest

from gatt.data.hash_split import PARTS, partition
from gatt.errors import ConfigError, DataError
from gatt.generation.base import Generation, GenerationRequest, SamplingParams
from gatt.generation.scripted import ScriptedEngine
from gatt.sources import SourceReport, SourceRequest, load_dialogues
from gatt.sources.answering import Script, answer_scripts, last_sentence_cut, usable_reply
from gatt.sources.questions import make_scripts, question_bank
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
    with pytest.raises(DataError, match=r"^script 'a': no user message"):
        Script("a", ())


def test_answers_see_the_history_and_keep_order() -> None:
    engine = ScriptedEngine(lambda r: f"Reply to {len(r.messages)} messages.")
    scripts = [Script("a", ("One?", "Two?")), Script("b", ("Three?",)), Script("c", ("Four?",))]
    report = SourceReport("questions")
    found = list(answer_scripts(engine, scripts, SamplingParams(), report, num_at_once=2))
    assert [d.id for d in found] == ["a", "b", "c"]
    assert found[0].replies == ("Reply to 1 messages.", "Reply to 3 messages.")
    assert engine.num_requests == 4
    assert report.num_read == 3


def test_cut_and_empty_replies() -> None:
    def reply(request: GenerationRequest) -> str:
        return {
            "cut": "It is fine. I would go on and on",
            "none": "I would go on and on and on",
            "empty": " ",
        }[request.group]

    scripts = [Script(name, ("One?",)) for name in ("cut", "none", "empty")]
    report = SourceReport("questions")
    params = SamplingParams(max_new_tokens=6)
    reasons: dict[str, str] = {}
    engine = ScriptedEngine(reply)
    found = list(answer_scripts(engine, scripts, params, report, num_at_once=2, reasons=reasons))
    assert reasons == {"none": "no whole sentence before the limit", "empty": "empty reply"}
    assert [(d.id, d.replies) for d in found] == [("cut", ("It is fine.",))]
    assert report.dropped == {"no whole sentence before the limit": 1, "empty reply": 1}


def test_a_withheld_reply_is_dropped_by_that_name() -> None:
    engine = RecordingEngine(lambda _: Generation("", "content_filter", 0))
    report = SourceReport("questions")
    assert not list(answer_scripts(engine, [Script("a", ("One?",))], SamplingParams(), report))
    assert report.dropped == {"withheld by the server's filter": 1}


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


def test_stopped_reply_stays_whole_and_context_limit_is_cut() -> None:
    assert usable_reply(Generation(" no full stop ", "stop", 3)) == "no full stop"
    assert usable_reply(Generation("no full stop", "context_limit", 3)) == ""


def test_load_dialogues_answers_a_part() -> None:
    engine = ScriptedEngine(lambda r: f"{len(r.messages)} {r.key}.")
    dialogues, report = load_dialogues(
        "questions", REQUEST, part="eval", engine=engine, params=SamplingParams()
    )
    assert len(dialogues) == report.num_kept == 12
    assert all(partition(d.id) == "eval" and d.num_turns == 24 for d in dialogues)
