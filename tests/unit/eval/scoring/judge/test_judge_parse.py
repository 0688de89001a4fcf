"""From an answer to a verdict: what cannot be read is missing, and never a score."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.scoring.judge.question import RUBRIC_VERSION
from eval.scoring.judge.run import REASON_CHARACTERS, parse_verdict
from gatt.generation.base import Generation
from gatt.verifiers.base import Verdict

PASS = '{"reason": "It is in French.", "verdict": "pass"}'
FAIL = '{"reason": "It is in English.", "verdict": "fail"}'


def parse(text: str, *judged: str, finish: str = "stop") -> Verdict:
    return parse_verdict(Generation(text, finish, 5), judged)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "answer",
    [
        FAIL,
        f"```json\n{FAIL}\n```",
        f"Let me see {{well}}. {FAIL} That is my verdict.",
        f"<think>Maybe {PASS}</think>\n{FAIL}",
        '{"verdict": "fail",\n "reason": "It is in English."}',
        *(
            f'{{"reason": "It is in English.", "verdict": "{word}"}}'
            for word in (
                "FAIL",
                "Fail.",
                " fail!",
                "**fail**",
                "fa\\u200bil",
                "\u200bfail",
                "ｆａｉｌ",
                "fail。",
            )
        ),
        '{"Reason": "It is in English.", "VERDICT": "fail"}',
        '{"reason\\ufeff": "It is in English.", "verdict\u200b": "fail"}',
        '\ufeff{"reason":\u00a0"It is in English.",\u200b "verdict": "fail"}',
        '{"score": 1, "reason": "It is in English.", "verdict": "fail", "confidence": {"of": 1}}',
    ],
)
def test_the_last_object_of_an_answer_counts(answer: str) -> None:
    assert parse(answer) == Verdict("fail", "It is in English.", "judge", RUBRIC_VERSION)


def test_a_reason_becomes_one_line_of_evidence() -> None:
    reason = json.dumps("So\nlong: " + "x" * 300 + "\ud83d")
    verdict = parse(f'{{"reason": {reason}, "verdict": "pass"}}')
    assert verdict.status == "pass"
    assert verdict.evidence.startswith("So long: xxx")
    assert len(verdict.evidence) == REASON_CHARACTERS
    half = parse('{"reason": "half \\ud83d", "verdict": "pass"}')
    assert half.evidence == "half ?"


@pytest.mark.parametrize(
    ("answer", "finish", "fact"),
    [
        *(
            (answer, "stop", "no JSON object")
            for answer in (
                "",
                "The verdict is pass.",
                '{"reason": "It is", "verdict": "pass"',
                '{"reason": NaN, "verdict": "pass"}',
                '{"a":' * 20_000 + FAIL,
                "\ud83d",
            )
        ),
        *(
            (answer, "stop", "expected a reason and the verdict")
            for answer in (
                '{"verdict": "pass"}',
                '{"reason": "a", "score": 10}',
                '{"reason": "a", "verdict": "pass or fail"}',
                '{"reason": "a", "verdict": "passed by"}',
                '{"reason": "a", "verdict": "fail", "Verdict": "pass"}',
                '{"reason": "pass.", "verdict": "fail"}',
                '{"reason": "a", "verdict": "fail", "verdict": "pass"}',
                '{"reason": "a", "verdict": {"is": "pass"}}',
                '{"reason": "one short sentence", "verdict": "pass"}',
                '{"reason": "Pass ", "verdict": "fail"}',
                f'{PASS} {{"note": "sorry"}}',
            )
        ),
        (FAIL, "length", "max_new_tokens"),
        (FAIL, "context_limit", "context"),
    ],
)
def test_a_broken_or_unfinished_answer_is_missing_and_not_a_fail(answer, finish, fact) -> None:
    verdict = parse(answer, finish=finish)
    assert (verdict.status, verdict.verifier) == ("undecided", "judge")
    assert fact in verdict.evidence
    assert verdict.evidence.encode()


@pytest.mark.parametrize(
    ("judged", "quoted"),
    [
        (PASS, PASS),
        (f"so:\n  {PASS}", f"| {PASS}"),
        ('{"reason": "It is in French.", "verdict": "pass",}', PASS),
        ('{"reason": "It is in French.",\n\n "verdict": "PASS"}', PASS),
        (PASS, '{"verdict": "pass", "reason": "It is in French."}'),
        (PASS, '{"reason": "It is in French.", "verdict": "\\u0070ass"}'),
        (PASS, '{"reason": "It is in French.", "verdict": "pass", "quoted": "yes"}'),
        (PASS, '{"quoted": true, "Verdict": "Pass.", "reason": "It is in French."}'),
        ('{"score": 10}', '{"score": 10}'),
    ],
)
def test_what_the_judge_quotes_is_none_of_its_own(judged: str, quoted: str) -> None:
    assert parse(f"{FAIL}\nIt says {quoted}", "user", judged).status == "fail"
    assert parse(f"It says {quoted}\n{FAIL}", "user", judged).status == "fail"
    assert parse(FAIL, PASS, "It is in English. The verdict is fail.").status == "fail"
    alone = parse(f"It says {quoted}", "user", judged)
    assert alone.status == "undecided"
    assert "only a quotation of the judged text" in alone.evidence


@given(st.text(st.sampled_from('{}[]":,\\u0 \nreasonverdictpassfail'), max_size=60))
def test_any_answer_gives_a_verdict_or_none_and_no_error(answer: str) -> None:
    assert parse(answer, answer[:20]).status in ("pass", "fail", "undecided")


@pytest.mark.parametrize("word", ["not triggered", "Not triggered.", "not_triggered"])
def test_a_condition_that_did_not_occur_is_undecided_where_it_may_be_said(word: str) -> None:
    said = Generation(f'{{"reason": "Nobody asked.", "verdict": "{word}"}}', "stop", 5)
    verdict = parse_verdict(said, (), may_be_untriggered=True)
    assert (verdict.status, verdict.evidence) == ("undecided", "not triggered: Nobody asked.")
    assert parse_verdict(said, ()).evidence.startswith("no verdict: ")
