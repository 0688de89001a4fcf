from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from eval.records.samples import Sample
from eval.report.page.render import render_report, report_pieces
from gatt.errors import DataError
from gatt.verifiers.base import Verdict
from tests.support.runs.fake_samples import HOSTILE, fake_results, sample
from tests.support.texts.fake_lists import fake_lists


def report_html(results: dict[str, Any], samples: list[Sample]) -> str:
    return "".join(report_pieces(results, samples))


VOID = {"meta", "input", "br", "img", "link", "hr"}


class Page(HTMLParser):
    """Tags, attributes, text, and the content of script elements, as a browser reads them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.packed: dict[str, str] = {}
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.data_id = dict(attrs).get("id")
            if self.data_id is None:
                self.scripts.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            if self.data_id is None:
                self.scripts[-1] += data
            else:
                self.packed[self.data_id] = self.packed.get(self.data_id, "") + data
        else:
            self.text += data

    def sections(self) -> list[str]:
        return [str(a["id"]) for tag, a in self.tags if tag == "section"]

    def value(self, name: str) -> Any:
        return json.loads(zlib.decompress(base64.b64decode(self.packed[name]), -zlib.MAX_WBITS))


@pytest.fixture(scope="module")
def page(run_results: dict[str, Any], run_samples: list[Sample]) -> Page:
    return Page(report_html(run_results | fake_lists(), run_samples))


def test_the_page_holds_answer_curves_rates_and_run(page: Page) -> None:
    text = " ".join(page.text.replace("\N{NO-BREAK SPACE}", " ").split())
    assert re.search(r"At turn 20 GAtt .* in \d+ of 100 replies, the base model in \d+\.", text)
    for words in ("Survival", "False triggers", "Unseen value", "half-life", "gatt run configs/demo.yaml",
                  "turns:", "Greedy decoding; replies are at most 64 tokens."):  # fmt: skip
        assert words in text
    # Two of the first chart, then adherence to unseen values and probe recall.
    assert sum(tag == "svg" for tag, _ in page.tags) == 2 + 2
    assert any(tag == "noscript" for tag, _ in page.tags)
    assert sum(a.get("class") == "example" for _, a in page.tags) == 3


def test_the_sections_stand_in_the_order_of_a_reader(page: Page) -> None:
    assert page.sections() == [
        "transcripts", "kinds", "compared", "trust", "curves", "rates", "run",
    ]  # fmt: skip
    for words in ("<0.001", "0.78", "60 %", "not covered", "format.no-digits"):  # fmt: skip
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
    assert links >= set(page.sections())


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
    harmless = Page(report_html(fake_results(tame), tame))
    hostile = Page(report_html(results, made))
    for tag in ("script", "style", "img"):
        expected = sum(t == tag for t, _ in harmless.tags)
        assert sum(t == tag for t, _ in hostile.tags) == expected, tag
    assert hostile.text.count(HOSTILE) >= 4
    ((case,),) = (hostile.value(name) for name in hostile.packed if name != "index")
    assert case[0][0]["u"] == HOSTILE
    assert case[0][0]["r"] == HOSTILE + "\u2028\ud800"
    assert hostile.scripts == harmless.scripts


def test_samples_are_taken_one_by_one_and_a_broken_one_leaves_the_old_page(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    made = [sample(reply="broken \ud83d", family="also \ud83d")]
    render_report(fake_results(made), made, path)
    read = Page(path.read_text(encoding="utf-8"))
    assert read.value("chunk-0")[0][0][0]["r"] == "broken \ud83d"
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
    assert Page(report_html(made, [])).sections() == ["kinds", "rates", "run"]
    read = Page(report_html({"schema": 3, "curves": []}, []))
    assert "No adherence was measured in this run." in read.text
    assert not read.scripts
