"""Transcripts as a reader meets them: filters, search, addresses, keys, marks, hostile texts."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eval.records.samples import Sample
from eval.report.data.transcripts import Transcripts
from eval.report.tables.rated import rated_section
from gatt.data.ratings import read_ratings
from tests.support.runs.fake_samples import HOSTILE
from tests.support.texts.browser import choose, focused, opened_card, shown

pytestmark = pytest.mark.integration

EVIDENCE = "🙂 <b>Bonjour</b> tout le monde"
NAPOLEON = "t-chat-0449-figure-napoleon-reference"
FRENCH = "t-chat-0412-language-french-reference"
Open = Callable[..., Any]


def did_well(sample: Sample) -> str:
    swapped = {"pass": "fail", "fail": "pass"}
    return sample.status if sample.instruction else swapped.get(sample.status, sample.status)


def judged(sample: Sample, verdict: str) -> bool:
    """Return whether the filter of that name means the reply; unasked for, a pass is a fail."""
    judge = sample.judge.status if sample.judge else "undecided"
    return {
        "judge": "undecided" not in (judge, sample.status) and judge != sample.status,
        "wrong": sample.keeps == "pass" and sample.answers == "fail",
        "loose": sample.loose not in (None, sample.status),
    }.get(verdict, did_well(sample) == verdict)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("instruction", "Figure: Napoleon."),
        ("arm", "gatt"),
        ("family", "figure"),
        ("split", "heldout_value"),
        ("turn", "8"),
        ("event", "cancel"),
        ("verdict", "undecided"),
        ("verdict", "judge"),
        ("verdict", "wrong"),
        ("verdict", "loose"),
    ],
)
def test_each_filter_shows_what_fits_it(open_page, made_samples, name, value) -> None:
    def fits(sample: Sample) -> bool:
        if name == "verdict":
            return judged(sample, value)
        if name == "instruction":
            return sample.instruction is not None and sample.instruction.text == value
        return str(getattr(sample, name)) == value

    expected = {s.dialogue for s in made_samples if fits(s)}
    assert expected
    page = open_page("#transcripts")
    page.evaluate("document.getElementById('more-filters').open = true")
    choose(page, name, value)
    assert page.locator("#count").inner_text() == f"{len(expected)} of 24 dialogues"
    assert len(shown(page)) == min(12, len(expected))
    page.locator(".transcript > summary").first.click()
    body = page.locator(".transcript[open] .body:not([aria-busy])")
    body.wait_for()
    assert body.locator(".reply:not(.dim)").count() > 0
    if name == "verdict" and value == "undecided":
        assert body.locator(".reply:not(.dim):not(.undecided)").count() == 0
        assert body.locator(".reply.dim.undecided").count() == 0
    elif name in ("turn", "event"):
        turns = body.locator(".turn:not(.dim)")
        assert {turns.nth(n).get_attribute("data-turn") for n in range(turns.count())} == {"8"}


def test_filters_stand_together_and_in_the_address(open_page: Open) -> None:
    page = open_page("#transcripts")
    count = page.locator("#count")
    assert count.inner_text() == "24 of 24 dialogues"
    choose(page, "arm", "gatt")
    choose(page, "verdict", "fail")
    choose(page, "turn", "20")
    ids = shown(page)
    assert 0 < len(ids) < 24
    assert count.inner_text() == f"{len(ids)} of 24 dialogues"
    again = open_page(f"#{page.url.partition('#')[2]}")
    assert shown(again) == ids
    assert again.locator("[name=arm]").input_value() == "gatt"
    page.click("#filters [type=reset]")
    page.wait_for_url(re.compile(r"#transcripts$"))
    assert count.inner_text() == "24 of 24 dialogues"


def test_the_search_reads_every_reply(open_page: Open, made_samples: list[Sample]) -> None:
    page = open_page("#transcripts")
    page.keyboard.press("/")
    page.fill("[name=text]", "ÉTAIT CALME")
    page.wait_for_url(re.compile("text="))
    expected = {s.dialogue for s in made_samples if "était calme" in s.reply.lower()}
    assert expected
    assert page.locator("#count").inner_text() == f"{len(expected)} of 24 dialogues"
    page.fill("[name=text]", "no such words")
    page.locator("#list", has_text="No dialogue fits these filters.").wait_for()
    assert page.locator("#count").inner_text() == "0 of 24 dialogues"


def test_a_card_is_titled_by_its_dialogue_and_first_message(
    open_page: Open, made_samples: list[Sample]
) -> None:
    page = open_page("#transcripts")
    titles = page.locator(".transcript .title").all_inner_texts()
    assert len(set(titles)) == len(titles) == 12
    dialogue, _, words = page.locator(f"#{FRENCH} .title").inner_text().partition(" ")
    first = made_samples[0]
    assert (dialogue, first.turn) == (first.dialogue, 1)
    assert words.endswith(" …")
    assert len(words) < len(first.user)
    assert first.user.startswith(words[:-1])
    second_line = page.locator(f"#{NAPOLEON} .who").inner_text()
    assert second_line.split("\n") == ["Figure: Napoleon.", "figure", "seen"]


def test_an_anchor_opens_its_transcript_at_its_turn(open_page: Open) -> None:
    page = open_page(f"#{NAPOLEON}?at=8")
    card = opened_card(page, NAPOLEON)
    target = card.locator(".turn.target").first
    assert target.get_attribute("data-turn") == "8"
    assert 0 <= target.bounding_box()["y"] < page.viewport_size["height"]
    link = card.locator("a.number").first.get_attribute("href")
    assert link == f"#{NAPOLEON}?at=1"
    page.evaluate(f"location.hash = '{FRENCH}'")
    opened_card(page, FRENCH)
    assert card.is_visible()
    page.evaluate("location.hash = 't-nowhere'")
    assert page.locator(".transcript[open]").count() == 2


def test_an_anchor_outside_the_filters_is_found(open_page: Open) -> None:
    page = open_page("#t-plain-03-reference?instruction=Figure%3A+Napoleon.")
    opened_card(page, "t-plain-03-reference")
    assert page.locator("[name=instruction]").input_value() == ""
    assert page.locator("#earlier").is_visible()
    assert page.locator("#more").is_hidden()
    before = len(shown(page))
    page.click("#earlier")
    assert before < len(shown(page))
    assert shown(page)[-1] == "t-plain-03-reference"


def test_arms_stand_side_by_side_under_one_user_message(open_page: Open) -> None:
    page = open_page(f"#{NAPOLEON}")
    card = opened_card(page, NAPOLEON)
    turn = card.locator(".turn[data-turn='2']").first
    assert turn.locator(".asked .text").count() == 1
    names = turn.locator(".reply .name").all_inner_texts()
    assert names == ["base model", "GAtt", "system + reminder"]
    boxes = [turn.locator(".reply").nth(n).bounding_box() for n in range(3)]
    assert len({box["y"] for box in boxes}) == 1
    assert len({box["x"] for box in boxes}) == 3


def test_replies_are_coloured_by_verdict_and_their_evidence_marked(open_page: Open) -> None:
    page = open_page(f"#{FRENCH}")
    card = opened_card(page, FRENCH)
    first = card.locator(".turn .reply").first
    assert "fail" in first.get_attribute("class")
    assert first.locator(".text").inner_text() == EVIDENCE
    assert first.locator("mark").inner_text() == EVIDENCE[2:9]
    colours = {
        name: page.evaluate(
            f"getComputedStyle(document.querySelector('.reply.{name}')).backgroundColor"
        )
        for name in ("pass", "fail")
    }
    assert colours["pass"] != colours["fail"]
    assert first.locator(".verdicts").inner_text().startswith("✗ terms v1 found it")


def test_thumbs_stay_in_the_browser_and_are_saved_for_the_report(
    open_page: Open, tmp_path: Path, made_samples: list[Sample]
) -> None:
    page = open_page(f"#{FRENCH}")
    replies = opened_card(page, FRENCH).locator(".turn .reply:has(.thumbs)")
    save = page.locator("#save-ratings")
    assert save.is_hidden()
    for number, label in ((0, "bad reply"), (1, "bad reply"), (1, "good reply"), (2, "bad reply")):
        replies.nth(number).get_by_label(label).click()
    replies.nth(2).get_by_label("bad reply").click()
    page.reload()
    pressed = page.locator(".thumbs button[aria-pressed=true]")
    opened_card(page, FRENCH)
    assert pressed.evaluate_all("all => all.map((one) => one.dataset.thumb)") == ["down", "up"]
    assert save.inner_text() == "Save 2 ratings"
    with page.expect_download() as downloading:
        save.click()
    file = tmp_path / "ratings.jsonl"
    downloading.value.save_as(file)
    first, second = read_ratings(file)
    assert (first.arm, first.turn, first.rating, first.reply) == ("base", 1, "down", EVIDENCE)
    assert (second.case, second.rating) == (FRENCH, "up")
    section = rated_section([first, second], Transcripts(["base", "gatt"], made_samples).cases)
    rows = [[cell.counts for cell in row] for row in section.tables[0].rows]
    assert rows[0] == ["", "0/1", "", "0/1"]
    # As if the page were made anew from an evaluation in which the first reply is another.
    page.evaluate(
        """() => {
          const key = Object.keys(localStorage).find((name) => name.startsWith("gatt-ratings"));
          localStorage.setItem(key, localStorage.getItem(key).replace("<b>Bonjour</b>", "Salut"));
        }"""
    )
    page.reload()
    opened_card(page, FRENCH)
    assert pressed.evaluate_all("all => all.map((one) => one.dataset.thumb)") == ["up"]
    assert save.inner_text() == "Save 1 rating"
    assert page.locator("#dropped-ratings").inner_text().endswith(": 1")


def test_a_reply_is_rated_where_it_is_an_example_too(open_page: Open) -> None:
    page = open_page()
    for section in ("#dialogues", "#worst"):
        num_replies = page.locator(f"{section} .reply").count()
        assert page.locator(f"{section} .reply .thumbs").count() == num_replies > 0
    example = page.locator("#dialogues .example").first
    reply = example.locator(".reply").last
    reply.get_by_label("bad reply").click()
    assert page.locator("#save-ratings").is_visible()
    example.locator("a").click()
    rated = page.locator(".transcript[open] .reply:has([aria-pressed=true])")
    rated.wait_for()
    assert rated.locator(".text").inner_text() == reply.locator(".text").inner_text()
    rated.get_by_label("good reply").click()
    pressed = reply.locator("[aria-pressed=true]")
    assert pressed.get_attribute("data-thumb") == "up"
    page.reload()
    pressed.wait_for()
    assert pressed.get_attribute("data-thumb") == "up"


def test_a_hostile_reply_is_text(open_page: Open) -> None:
    page = open_page(f"#{FRENCH}")
    card = opened_card(page, FRENCH)
    replies = card.locator(".turn[data-turn='2']").first.locator(".reply .text")
    assert set(replies.all_inner_texts()) == {HOSTILE}
    assert card.locator("script, style, img").count() == 0
    page.keyboard.press("/")
    page.fill("[name=text]", "</style>")
    page.wait_for_url(re.compile("text="))
    assert page.locator("#count").inner_text() == "1 of 24 dialogues"


def test_the_keyboard_alone_reads_transcripts(open_page: Open) -> None:
    page = open_page()
    ids = shown(page)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["x"] >= 0
    page.keyboard.press("Enter")
    page.keyboard.press("/")
    assert focused(page) == "text"
    page.keyboard.type("jk/")
    assert page.locator("[name=text]").input_value() == "jk/"
    page.wait_for_url(re.compile("text=jk"))
    page.locator("[name=text]").fill("")
    page.wait_for_url(re.compile("#transcripts$"))
    page.locator("#open-all").focus()
    for key, number in (("j", 0), ("j", 1), ("ArrowDown", 2), ("k", 1), ("ArrowUp", 0), ("k", 0)):
        page.keyboard.press(key)
        assert focused(page) == ids[number], key
    outline = page.evaluate("parseFloat(getComputedStyle(document.activeElement).outlineWidth)")
    assert outline >= 2
    page.keyboard.press("Enter")
    opened_card(page, ids[0])
    assert focused(page) == ids[0]
    for _ in range(len(ids)):
        page.keyboard.press("j")
    assert len(shown(page)) > len(ids)
