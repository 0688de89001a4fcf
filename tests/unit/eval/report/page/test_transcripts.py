from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable
from typing import Any

import pytest

from eval.records.samples import Sample
from eval.report.data.selection import Curves, headline
from eval.report.page.transcripts import Transcripts, examples, packed
from gatt.verifiers.base import Verdict
from tests.support.runs.fake_samples import HOSTILE, fake_results, fake_samples, sample
from tests.support.texts.fake_lists import with_extras

ARMS = ("base", "gatt", "base+reminder")


def read(samples: Iterable[Sample]) -> tuple[dict[str, Any], list[list[Any]]]:
    found = Transcripts(ARMS, samples)
    # In the order of the page, which writes the index first.
    return found.index(), list(found.chunks())


def unpacked(text: str) -> object:
    return json.loads(zlib.decompress(base64.b64decode(text), -zlib.MAX_WBITS))


def test_every_reply_is_found_where_the_index_says() -> None:
    made = with_extras(fake_samples(num_dialogues=4))
    index, chunks = read(made)
    # Where nobody gave an instruction, to follow none is right.
    expected = {
        (s.dialogue, s.arm, s.turn, s.kind == "probe"): (
            s.user, s.reply, s.status[0] if s.instruction else "p", s.event,
        )
        for s in made
    }  # fmt: skip
    found = {}
    for c in index["cases"]:
        case = chunks[c["chunk"]][c["place"]]
        for (arm, turns, status, _), replies in zip(c["arms"], case, strict=True):
            for (turn, probe, event), letter, row in zip(turns, status, replies, strict=True):
                key = (c["dialogue"], index["arms"][arm][0], turn, bool(probe))
                found[key] = (row["u"], row["r"], letter, event or None)
    assert found == expected


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
    (((first, second),),) = chunks[0]
    assert first == {"u": "Hello?", "r": "Bonjour !"}
    assert second == first | {
        "o": "Hi.", "f": "length", "l": "pass", "x": "released",
        "v": [["f", "terms v3", "none", 0, 2]], "c": ["f", "task v1", "off topic"],
        "j": ["p", "judge v2", "fine"],
    }  # fmt: skip
    assert [arm[3] for arm in index["cases"][0]["arms"]] == ["07"]


def test_anchors_are_stable_and_unique_and_cases_have_no_arm_in_them() -> None:
    made = [sample(dialogue=d, arm=a) for d in ("a b", "a-b", "日本") for a in ("gatt", "new")]
    index, _ = read(made)
    assert [c["id"] for c in index["cases"]] == [
        "t-a-b-language-french-reference",
        "t-a-b-language-french-reference-2",
        "t-language-french-reference",
    ]
    # An arm without a curve comes after the others.
    assert [index["arms"][arm][0] for arm, *_ in index["cases"][0]["arms"]] == ["gatt", "new"]


@pytest.mark.parametrize("value", [HOSTILE, "é🙂\u2028", "broken \ud83d", {"a": [1, None]}])
def test_packed_text_holds_no_markup_and_means_the_same(value: object) -> None:
    text = packed(value)
    assert not set("<>&\n\"'") & set(text)
    assert unpacked(text) == value


@pytest.mark.parametrize(
    ("statuses", "chosen"),
    [
        # Of GAtt and the base model, dialogue by dialogue; families alternate.
        (["pf", "pf", "pf", "ff"], ["d0", "d1", "d3"]),
        (["ff", "ff", "pf", "pf"], ["d2", "d3", "d0"]),
        (["pp", "pp"], ["d0", "d1"]),
        (["pf"], ["d0"]),
        ([], []),
    ],
)
def test_three_dialogues_are_chosen_by_their_verdicts(
    statuses: list[str], chosen: list[str]
) -> None:
    words = {"p": "pass", "f": "fail"}
    made = [
        sample(arm=arm, dialogue=f"d{n}", turn=8, family=("a", "b")[n % 2], status=words[letter])
        for n, pair in enumerate(statuses)
        for arm, letter in zip(("gatt", "base"), pair, strict=True)
    ]
    curves = Curves.of(fake_results(made))
    found = examples(Transcripts(curves.arms, made).cases, curves, headline(curves))
    assert [e.replies[0].dialogue for e in found] == chosen
    assert {tuple(r.arm for r in e.replies) for e in found} <= {("base", "gatt")}
