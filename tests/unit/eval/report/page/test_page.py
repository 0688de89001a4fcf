"""The page as HTML: its sections and its transcripts."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from eval.records.samples import Sample
from eval.report.data.selection import Curves, headline
from eval.report.data.transcripts import Transcripts, examples
from eval.report.page.render import render_report, report_text
from gatt.errors import DataError
from gatt.verifiers.base import Verdict
from tests.support.runs.fake_samples import HOSTILE, fake_results, fake_samples, sample
from tests.support.texts.fake_lists import fake_lists, with_extras


class Page(HTMLParser):
    """Tags, attributes, text, and the content of script elements, as a browser reads them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.packed: dict[str, str] = {}
        self.text = ""
        self.script: str | None = None
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.script = ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "script" and self.script is not None:
            if name := self.tags[-1][1].get("id"):
                self.packed[name] = self.script
            else:
                self.scripts.append(self.script)
            self.script = None

    def handle_data(self, data: str) -> None:
        if self.script is None:
            self.text += data
        else:
            self.script += data

    def sections(self) -> list[str]:
        parts = [(tag, a) for tag, a in self.tags if a.get("class") == "inner" or tag == "section"]
        return [str(a["id"]) for _, a in parts if "id" in a]

    def value(self, name: str) -> Any:
        return json.loads(zlib.decompress(base64.b64decode(self.packed[name]), -zlib.MAX_WBITS))


def page_of(results: dict[str, Any], samples: list[Sample]) -> Page:
    return Page(report_text(results, samples))


@pytest.fixture(scope="module")
def page(run_results: dict[str, Any], run_samples: list[Sample]) -> Page:
    return page_of(run_results | fake_lists(), run_samples)


def test_the_page_holds_answer_curves_rates_and_run(page: Page) -> None:
    text = " ".join(page.text.replace("\N{NO-BREAK SPACE}", " ").split())
    assert re.search(
        r"At turn 20 GAtt .* in \d+ of \d+ replies; without GAtt \d+ of \d+: too few", text
    )
    for words in ("Survival", "False triggers", "Unseen value", "half-life", "gatt run configs/demo.yaml",
                  "turns:", "Greedy decoding; replies are at most 64 tokens."):  # fmt: skip
        assert words in text
    # Two of the first chart and of the loss, then unseen values and probe recall.
    assert sum(tag == "svg" for tag, _ in page.tags) == 2 + 2 + 2
    assert any(tag == "noscript" for tag, _ in page.tags)
    assert sum(a.get("class") == "example" for _, a in page.tags) == 3


def test_the_sections_stand_in_the_order_of_a_reader(page: Page) -> None:
    assert page.sections() == [
        "kinds", "worst", "dialogues", "transcripts", "compared", "training", "trust", "curves", "rates",
        "notes", "run",
    ]  # fmt: skip
    for words in ("<0.001", "0.78", "format.no-digits"):  # fmt: skip
        assert words in " ".join(page.text.split()), words


def test_nothing_leads_outside_and_only_the_page_s_own_script_may_run(page: Page) -> None:
    for tag, attrs in page.tags:
        for name, value in attrs.items():
            if name in ("src", "href", "xlink:href", "action", "data"):
                assert value, tag
                assert value.startswith("#"), f"{tag} {name}={value}"
    policy = str(next(a["content"] for _, a in page.tags if a.get("http-equiv")))
    assert policy.startswith("default-src 'none'")
    (script,) = page.scripts
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    kinds = {a.get("type") for tag, a in page.tags if tag == "script" and "id" in a}
    assert kinds == {"application/octet-stream"}


def test_ids_are_unique_and_links_lead_somewhere(page: Page) -> None:
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    links = {str(a["href"])[1:] for tag, a in page.tags if tag == "a"}
    # Those of dialogues are made by the script.
    assert {link for link in links if not link.startswith("t-")} <= set(ids)
    # What is folded is found by scrolling; its most read parts are in the bar.
    assert links >= {"verdict", "kinds", "dialogues", "transcripts", "rates", "run"}


def test_hostile_texts_show_as_text() -> None:
    made = [
        sample(
            arm=arm, dialogue=HOSTILE, user=HOSTILE, reply=HOSTILE + "\u2028\ud800", reference=HOSTILE,
            family=HOSTILE, verdicts=(Verdict("pass", HOSTILE, HOSTILE, 1, (0, 8)),),
        )
        for arm in ("base", HOSTILE)
    ]  # fmt: skip
    results = fake_results(made)
    results["run"]["command"] = ["gatt", HOSTILE]
    results["run"]["name"] = HOSTILE
    results["notes"] = [HOSTILE]
    tame = [sample(family="x"), sample(arm="x", family="x")]
    harmless = page_of(fake_results(tame), tame)
    hostile = page_of(results, made)
    for tag in ("script", "style", "img"):
        expected = sum(t == tag for t, _ in harmless.tags)
        assert sum(t == tag for t, _ in hostile.tags) == expected, tag
    assert hostile.text.count(HOSTILE) >= 4
    (row,) = hostile.value("cases")["cases"][0]["arms"][0][1]
    assert row["u"] == HOSTILE
    assert row["r"] == HOSTILE + "\u2028\ud800"
    assert hostile.scripts == harmless.scripts


def test_samples_are_taken_one_by_one_and_a_broken_one_leaves_the_old_page(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    made = [sample(reply="broken \ud83d", family="also \ud83d")]
    render_report(fake_results(made), made, path)
    read = Page(path.read_text(encoding="utf-8"))
    assert read.value("cases")["cases"][0]["arms"][0][1][0]["r"] == "broken \ud83d"
    assert "also \\ud83d" in read.text
    old = path.read_bytes()

    def broken() -> Any:
        yield sample()
        raise DataError("samples.jsonl line 2: broken")

    with pytest.raises(DataError, match="line 2"):
        render_report(fake_results([sample()]), broken(), path)
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("report.html", old)]


def test_a_run_without_samples_or_curves_still_gives_a_page() -> None:
    made = fake_results([sample()]) | {"differences": []}
    assert page_of(made, []).sections() == ["kinds", "rates", "notes", "run"]
    read = page_of({"schema": 3, "curves": []}, [])
    assert "No reply under an instruction was decided in this run." in read.text
    assert not read.scripts


ARMS = ("base", "gatt", "base+system+reminder")


def read(samples: Iterable[Sample]) -> dict[str, Any]:
    return Transcripts(ARMS, samples).as_dict()


def test_every_reply_is_there() -> None:
    made = with_extras(fake_samples(num_dialogues=4))
    data = read(made)
    # Where nobody gave an instruction, to follow none is right.
    expected = {
        (s.dialogue, s.arm, s.turn, s.kind == "probe"): (
            s.user, s.reply, ((s.joint or s.status)[0] if s.instruction else "p"), s.event,
        )
        for s in made
    }  # fmt: skip
    found = {}
    for case in data["cases"]:
        for arm, replies in case["arms"]:
            for row in replies:
                key = (case["dialogue"], data["arms"][arm][0], row["t"], "p" in row)
                found[key] = (row["u"], row["r"], row["s"], row.get("e"))
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
    ((_, (first, second)),) = read([plain, rich])["cases"][0]["arms"]
    assert first == {"t": 1, "s": "p", "u": "Hello?", "r": "Bonjour !"}
    assert second == first | {
        "t": 2, "s": "f", "o": "Hi.", "f": "length", "l": "pass", "x": "released",
        "v": [["f", "terms v3", "none", 0, 2]], "c": ["f", "task v1", "off topic"],
        "j": ["p", "judge v2", "fine"], "i": "",
    }  # fmt: skip


def test_anchors_are_stable_and_unique_and_cases_have_no_arm_in_them() -> None:
    made = [sample(dialogue=d, arm=a) for d in ("a b", "a-b", "日本") for a in ("gatt", "new")]
    data = read(made)
    assert [c["id"] for c in data["cases"]] == [
        "t-a-b-language-french-reference",
        "t-a-b-language-french-reference-2",
        "t-language-french-reference",
    ]
    # An arm without a curve comes after the others.
    assert [data["arms"][arm][0] for arm, _ in data["cases"][0]["arms"]] == ["gatt", "new"]


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
def test_three_dialogues_are_chosen_by_their_verdicts(statuses, chosen) -> None:
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
