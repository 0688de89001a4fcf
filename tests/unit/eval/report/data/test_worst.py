"""Which replies a report shows as the worst of each thing that fails."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from eval.records.samples import Sample
from eval.report.data.selection import Curves, headline
from eval.report.data.transcripts import Transcripts
from eval.report.data.worst import Failing, worst_replies
from gatt.data.parts import Part
from gatt.verifiers.base import Status, Verdict
from tests.support.runs.fake_samples import fake_results, instruction, sample


def said(number: int, reply: str, keeps: Status, answers: Status, **changes: Any) -> Sample:
    return sample(
        **{"arm": "gatt", "dialogue": f"d{number}", "turn": 8} | changes,
        reply=reply,
        status=keeps,
        verdicts=(Verdict(keeps, "seen", "language", 1),),
        answer=Verdict(answers, "says 8", "answers", 1),
        asks="question",
    )


def failing(samples: list[Sample]) -> list[Failing]:
    curves = Curves.of(fake_results(samples))
    return worst_replies(Transcripts(curves.arms, samples).cases, curves, headline(curves))


def shown(found: Failing) -> list[str]:
    return [worst.reply.reply for worst in found.replies]


def test_what_fails_twice_comes_first_then_what_is_no_reply_then_the_shortest() -> None:
    samples = [
        said(1, "Eight legs.", "fail", "pass"),
        said(2, "A spider has eight legs.", "fail", "pass"),
        said(3, "Hello?", "fail", "pass"),  # a copy of the message
        said(4, "I would not know about any of that.", "fail", "fail"),
        said(5, "Eight  LEGS.", "fail", "pass"),
        said(6, "Huit.", "pass", "pass"),
        said(7, "Sept.", "pass", "fail"),
        said(8, "Of the base model.", "fail", "fail", arm="base"),
        said(9, "Of another history.", "fail", "fail", history="own"),
        said(10, "Nobody can tell.", "undecided", "undecided"),
    ]
    family, answers = failing(samples)
    assert (family.part, family.num_failed, family.num_decided) == ("language", 5, 7)
    assert shown(family) == ["I would not know about any of that.", "Hello?", "Eight legs."]
    assert family.replies[0].reasons == ["language: seen", "answers: says 8"]
    assert (answers.part, answers.num_failed, answers.num_decided) == ("answers its turn", 1, 2)
    assert shown(answers) == ["Sept."]
    assert failing([said(6, "Huit.", "pass", "pass")]) == []


def test_parts_stand_in_the_order_of_the_instruction_in_place_of_families() -> None:
    parts = (
        Part(about="you are Mia", num_verifiers=1, facts=("name",)),
        Part(about="French", num_verifiers=1),
    )
    given = instruction("language", "French")
    given = replace(given, verifiers=given.verifiers * 2, parts=parts)
    rows = [
        replace(
            said(n, f"Reply {n}.", "fail", "fail"),
            instruction=given,
            asks="speaker" if n == 2 else "question",
            asks_what="name" if n == 2 else "",
            verdicts=(Verdict("pass", "seen", "role", 1), Verdict("fail", "no", "language", 1)),
        )
        for n in (1, 2)
    ]
    assert [(f.part, f.num_failed, f.num_decided) for f in failing(rows)] == [
        ("you are Mia", 1, 1), ("French", 2, 2),
    ]  # fmt: skip
