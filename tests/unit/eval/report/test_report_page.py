from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from fake_samples import HOSTILE, fake_results, fake_samples, sample

from eval.report import render_report
from eval.report.render import report_html
from eval.report.transcripts import embeddable_json, transcript_data
from eval.samples import Sample
from gatt.errors import DataError, StoreError
from gatt.verifiers.base import Verdict

VOID = {"meta", "input", "br", "img", "link", "hr"}


class Page(HTMLParser):
    """Tags, attributes, text, and the content of script elements, as a browser reads them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        else:
            self.text += data


@pytest.fixture(scope="module")
def page(run_results: dict[str, Any], run_samples: list[Sample]) -> Page:
    return Page(report_html(run_results, run_samples))


def test_the_page_states_verdict_curves_rates_and_run(page: Page) -> None:
    text = page.text.replace("\N{NO-BREAK SPACE}", " ")
    assert re.search(r"At turn 20 GAtt keeps \d+ % \[\d+, \d+\] of its instructions", text)
    for words in ("Survival", "Probe recall", "False triggers", "unseen value", "Napoleon"):
        assert words in page.text or any(words in script for script in page.scripts)
    assert "gatt run configs/demo.yaml" in page.text
    assert "config.eval.turns" in page.text
    assert "Greedy decoding; replies are at most 64 tokens." in page.text
    assert sum(tag == "svg" for tag, _ in page.tags) >= 2 + 3 + 6
    assert any(tag == "noscript" for tag, _ in page.tags)


def test_the_rates_show_their_counts_and_the_worst_that_undecided_replies_allow() -> None:
    statuses = ["pass"] * 10 + ["fail"] * 2 + ["undecided"] * 4
    made = [sample(dialogue=f"d{n}", status=s) for n, s in enumerate(statuses)]
    text = " ".join(Page(report_html(fake_results(made), made)).text.split())
    assert "10/12, 4?worst 62" in text
    assert "62 % if the 4 undecided had failed" in text
    decided = " ".join(Page(report_html(fake_results(made[:12]), made)).text.split())
    assert "10/12" in decided
    assert "10/12, 4?worst" not in decided


def test_nothing_on_the_page_leads_outside(page: Page) -> None:
    for tag, attrs in page.tags:
        for name, value in attrs.items():
            if name in ("src", "href", "xlink:href", "action", "data"):
                assert value, tag
                assert value.startswith("#"), f"{tag} {name}={value}"
    policy = next(a["content"] for _, a in page.tags if a.get("http-equiv"))
    assert policy
    assert policy.startswith("default-src 'none'")


def test_only_the_page_s_own_script_may_run(page: Page) -> None:
    data, script = page.scripts
    assert json.loads(data)["transcripts"]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = next(a["content"] for _, a in page.tags if a.get("http-equiv"))
    assert f"script-src 'sha256-{digest}'" in str(policy)


def test_ids_are_unique_and_links_lead_somewhere(page: Page) -> None:
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    links = {str(a["href"])[1:] for tag, a in page.tags if tag == "a"}
    assert links <= set(ids)


def test_hostile_texts_show_as_text() -> None:
    made = [
        sample(
            arm=arm,
            dialogue=HOSTILE,
            user=HOSTILE,
            reply=HOSTILE + "\u2028\ud800",
            reference=HOSTILE,
            family=HOSTILE,
            verdicts=(Verdict("pass", HOSTILE, HOSTILE, 1, (0, 8)),),
        )
        for arm in ("base", HOSTILE)
    ]
    results = fake_results(made)
    results["run"]["command"] = HOSTILE
    results["run"]["name"] = HOSTILE
    results["notes"] = [HOSTILE]
    harmless = Page(report_html(fake_results([sample(), sample(arm="x")]), [sample()]))
    hostile = Page(report_html(results, made))
    for tag in ("script", "style", "img"):
        expected = sum(t == tag for t, _ in harmless.tags)
        assert sum(t == tag for t, _ in hostile.tags) == expected, tag
    assert hostile.text.count(HOSTILE) >= 4
    data = json.loads(hostile.scripts[0])
    assert data["texts"] == [HOSTILE, HOSTILE + "\u2028\ud800"]
    assert hostile.scripts[1] == harmless.scripts[1]


def test_embedded_json_holds_no_markup_and_means_the_same() -> None:
    value = {"a": "</script><!--&\u2028\u2029", "b": ["é", "🙂"]}
    text = embeddable_json(value)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == value


def test_the_file_is_written_whole_and_a_lone_surrogate_does_not_stop_it(tmp_path: Path) -> None:
    made = [sample(reply="broken \ud83d")]
    render_report(fake_results(made), made, tmp_path / "report.html")
    read = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert json.loads(read.scripts[0])["texts"][1] == "broken \ud83d"
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"report\.html: cannot write the report: No such file"):
        render_report(fake_results([]), [], tmp_path / "none" / "report.html")


def test_broken_results_are_refused_before_a_file_is_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="schema is None"):
        render_report({}, [], tmp_path / "report.html")
    assert not list(tmp_path.iterdir())


def test_a_run_without_samples_or_curves_still_gives_a_page() -> None:
    read = Page(report_html({"schema": 2, "curves": []}, []))
    assert "No adherence was measured in this run." in read.text
    assert not read.scripts


def test_transcripts_put_the_arms_of_a_dialogue_together_with_turns_rising() -> None:
    made = fake_samples(num_dialogues=2)[::-1]
    data = transcript_data(made, ("base", "gatt", "base+reminder"))
    shown = [(t["dialogue"], t["arm"]) for t in data["transcripts"]]
    dialogues = ("chat-0412", "chat-0449")
    assert shown[:6] == [(dialogue, arm) for dialogue in dialogues for arm in (0, 1, 2)]
    turns = [(t["turn"], t["kind"]) for t in data["transcripts"][0]["turns"]]
    assert turns == [(t, kind) for t in (1, 2, 4, 8, 20) for kind in ("turn", "probe")]
    assert sum(len(t["turns"]) for t in data["transcripts"]) == len(made)
    assert len(data["texts"]) == len(set(data["texts"]))


def test_transcript_anchors_are_stable_and_unique() -> None:
    made = [sample(dialogue="a b"), sample(dialogue="a-b")]
    ids = [t["id"] for t in transcript_data(made, ("base",))["transcripts"]]
    assert ids == ["t-a-b-language-french-reference-base", "t-a-b-language-french-reference-base-2"]
