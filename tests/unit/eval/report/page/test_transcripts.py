from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from eval.records.samples import Sample
from eval.report.page import transcripts
from eval.report.page.compressed import packed, unpacked
from eval.report.page.transcripts import Transcripts
from gatt.verifiers.base import Verdict
from tests.support.runs.fake_samples import HOSTILE, fake_samples, sample
from tests.support.texts.fake_lists import with_extras

ARMS = ("base", "gatt", "base+reminder")


def read(samples: Iterable[Sample]) -> tuple[dict[str, Any], list[list[dict[str, Any]]]]:
    with Transcripts(ARMS) as found:
        for one in samples:
            found.add(one)
        return found.index(), list(found.chunks())


def rows(index: dict[str, Any]) -> list[dict[str, Any]]:
    columns = index["transcripts"]
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


def test_arms_of_a_dialogue_stand_together_with_turns_rising() -> None:
    made = fake_samples(num_dialogues=2)[::-1]
    index, _ = read(made)
    found = rows(index)
    dialogues = ("chat-0412", "chat-0449")
    assert [(t["dialogue"], t["arm"]) for t in found[:6]] == [
        (d, a) for d in dialogues for a in (0, 1, 2)
    ]
    assert index["patterns"][found[0]["pattern"]] == [
        [t, is_probe, -1] for t in (1, 2, 4, 8, 20) for is_probe in (0, 1)
    ]
    assert sum(len(t["status"]) for t in found) == len(made)
    assert {len(t["status"]) == len(t["marks"]) for t in found} == {True}


def test_every_reply_is_found_where_the_index_says() -> None:
    made = with_extras(fake_samples(num_dialogues=4))
    index, chunks = read(made)
    expected = {
        (s.dialogue, s.arm, s.turn, s.kind == "probe"): (s.user, s.reply, s.status[0], s.event)
        for s in made
        if s.instruction
    }
    # Where nobody gave an instruction, to follow none is right.
    expected |= {
        (s.dialogue, s.arm, s.turn, False): (s.user, s.reply, "p", None)
        for s in made
        if not s.instruction
    }
    found = {}
    for t in rows(index):
        case = chunks[t["chunk"]][t["case"]]
        replies = case["arms"][t["row"]]
        for (turn, probe, event), status, row in zip(
            index["patterns"][t["pattern"]], t["status"], replies, strict=True
        ):
            key = (t["dialogue"], index["arms"][t["arm"]][0], turn, bool(probe))
            name = None if event < 0 else index["events"][event]
            found[key] = (case["texts"][row["u"]], case["texts"][row["r"]], status, name)
    assert found == expected


def test_what_all_arms_answer_stands_once_in_a_case() -> None:
    _, chunks = read(fake_samples(num_dialogues=3))
    for case in (case for chunk in chunks for case in chunk):
        assert len(case["texts"]) == len(set(case["texts"]))


def test_a_row_holds_what_is_out_of_the_ordinary_and_nothing_else() -> None:
    plain = sample(reference=None, verdicts=())
    rich = sample(
        turn=2,
        reference="Hi.",
        finish="length",
        verdicts=(Verdict("fail", "none", "terms", 3, (0, 2)),),
        status="fail",
        loose="pass",
        expected="released",
        completion=Verdict("fail", "off topic", "task", 1),
        judge=Verdict("pass", "fine", "judge", 2),
    )
    index, chunks = read([plain, rich])
    (first, second), texts = chunks[0][0]["arms"][0], chunks[0][0]["texts"]
    assert first == {"u": 0, "r": 1}
    assert texts[:2] == ["Hello?", "Bonjour !"]
    assert second == {
        "u": 0, "r": 1, "o": 2, "f": "length", "l": "pass", "x": "released",
        "v": [["f", 0, "none", 0, 2]], "c": ["f", 1, "off topic"], "j": ["p", 2, "fine"],
    }  # fmt: skip
    assert index["rules"] == ["terms v3", "task v1", "judge v2"]
    assert index["transcripts"]["marks"] == ["07"]


def test_a_judge_without_a_verdict_disagrees_with_nobody() -> None:
    silent = sample(judge=Verdict("undecided", "no verdict", "judge", 1))
    open_case = sample(turn=2, status="undecided", judge=Verdict("pass", "", "judge", 1))
    assert read([silent, open_case])[0]["transcripts"]["marks"] == ["00"]


def test_chunks_are_cut_between_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcripts, "CHUNK_BYTES", 10_000)
    index, chunks = read(fake_samples(num_dialogues=8))
    assert 1 < len(chunks) < 12
    cases: dict[tuple[str, str], set[tuple[int, int]]] = {}
    for t in rows(index):
        cases.setdefault((t["dialogue"], t["history"]), set()).add((t["chunk"], t["case"]))
    assert {len(places) for places in cases.values()} == {1}


def test_text_beyond_the_memory_s_share_goes_to_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    made = fake_samples(num_dialogues=3)
    expected = read(made)
    monkeypatch.setattr(transcripts, "MEMORY_BYTES", 100)
    assert read(made) == expected


def test_anchors_are_stable_and_unique() -> None:
    made = [sample(dialogue=d) for d in ("a b", "a-b", "日本", "한국")]
    assert read(made)[0]["transcripts"]["id"] == [
        "t-a-b-language-french-reference-base",
        "t-a-b-language-french-reference-base-2",
        "t-language-french-reference-base",
        "t-language-french-reference-base-2",
    ]


def test_an_arm_without_a_curve_comes_after_the_others() -> None:
    index, _ = read([sample(arm="new"), sample(arm="gatt")])
    assert [index["arms"][a][0] for a in index["transcripts"]["arm"]] == ["gatt", "new"]


def test_counts_are_those_of_the_samples() -> None:
    with Transcripts(ARMS) as found:
        for one in [sample(), sample(kind="probe", status="undecided"), sample(dialogue="d2")]:
            found.add(one)
        assert (len(found), found.num_dialogues) == (2, 2)
        assert (found.num_replies, found.num_probes, found.num_undecided) == (2, 1, 1)


@pytest.mark.parametrize("value", [HOSTILE, "é🙂\u2028", "broken \ud83d", {"a": [1, None]}])
def test_packed_text_holds_no_markup_and_means_the_same(value: object) -> None:
    text = packed(value)
    assert not set("<>&\n\"'") & set(text)
    assert unpacked(text) == value
