"""The page as a whole: its first screen, light and dark, on a phone, on paper, without a script."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.texts.browser import opened_card

pytestmark = pytest.mark.integration

NAPOLEON = "t-chat-0449-figure-napoleon-reference"
Open = Callable[..., Any]


def test_the_first_screen_states_the_verdict_and_draws_all_arms(open_page: Open) -> None:
    page = open_page()
    heading = page.locator("h1").inner_text().replace("\N{NO-BREAK SPACE}", " ")
    assert re.fullmatch(
        r"At turn 20 GAtt keeps its instruction and answers in \d+ of .*; without GAtt \d+.*\.",
        heading,
    )
    box = page.locator(".hero .chart.wide svg").bounding_box()
    assert box["y"] + box["height"] < page.viewport_size["height"]
    for arm in ("GAtt", "base model", "system + reminder"):
        assert page.locator(".hero .legend", has_text=arm).is_visible()


def test_three_dialogues_stand_side_by_side_behind_the_tables_and_all_else_is_folded(
    open_page: Open,
) -> None:
    page = open_page()
    boxes = [one.bounding_box() for one in page.locator("#dialogues .example").all()]
    assert len({box["y"] for box in boxes}) == 1
    assert len({box["x"] for box in boxes}) == 3
    tops = [
        page.locator(at).first.bounding_box()["y"]
        for at in ("table", "#dialogues .example", "#transcripts")
    ]
    assert tops == sorted(tops)
    assert page.locator("details.part").count() > 4
    assert page.locator("details.part[open]").count() == 0
    page.locator("#dialogues .example a").first.click()
    page.locator(".transcript[open] .body:not([aria-busy]) .turn").first.wait_for()


def test_every_link_of_the_navigation_is_in_reach_on_a_phone(open_page: Open) -> None:
    page = open_page("", "phone")
    links = page.locator(".bar a").all()
    assert len(links) > 4
    for link in links:
        box = link.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= page.viewport_size["width"]
    page.locator(".bar a[href='#rates']").click()
    assert (
        0
        <= page.locator("details:has(#rates) > summary").bounding_box()["y"]
        < page.viewport_size["height"]
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", ["phone", "small phone"])
def test_nothing_moves_sideways_on_a_phone(open_page: Open, size: str, scheme: str) -> None:
    page = open_page(f"#{NAPOLEON}", size, scheme)
    opened_card(page, NAPOLEON)
    page.evaluate("for (const node of document.querySelectorAll('details')) node.open = true")
    page.wait_for_selector(".body[aria-busy]", state="detached")
    width = page.viewport_size["width"]
    assert page.evaluate("document.documentElement.scrollWidth") == width
    wide = page.evaluate(
        """(width) => [...document.querySelectorAll('main *')].filter((node) =>
             !node.closest('.scroll, svg, .bar') && node.getBoundingClientRect().right > width + 1)
             .map((node) => node.className)""",
        width,
    )
    assert wide == []
    assert page.locator(".hero .chart.narrow").is_visible()
    assert page.locator(".hero .chart.wide").is_hidden()


CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const light = (name) => {
    canvas.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(name);
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3)
      .map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
      .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  };
  const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const pairs = [["--ink", "--page"], ["--muted", "--page"], ["--muted", "--raised"],
    ["--focus", "--page"]];
  for (const v of ["pass", "fail", "undecided"]) {
    pairs.push([`--${v}`, "--page"], [`--${v}`, `--${v}-soft`]);
    pairs.push(["--ink", `--${v}-mark`], ["--muted", `--${v}-soft`]);
  }
  for (let i = 0; i < 8; i += 1) pairs.push([`--arm-${i}`, "--page"]);
  return pairs.map(([a, b]) => [`${a} on ${b}`, ratio(a, b)]);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_colour_of_text_can_be_read(open_page: Open, scheme: str) -> None:
    page = open_page("", "desktop", scheme)
    ratios = dict(page.evaluate(CONTRAST))
    assert len(ratios) > 20
    assert {name: ratio for name, ratio in ratios.items() if ratio < 4.5} == {}


def background(page: Any) -> list[int]:
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return [int(part) for part in re.findall(r"\d+", colour)[:3]]


def test_the_page_is_dark_where_the_reader_wants_that_and_white_on_paper(open_page: Open) -> None:
    assert min(background(open_page())) > 240
    page = open_page("", "desktop", "dark")
    assert max(background(page)) < 40
    page.emulate_media(media="print")
    assert background(page) == [255, 255, 255]
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(23, 25, 29)"


def test_what_is_printed_is_what_is_read(open_page: Open) -> None:
    page = open_page(f"#{NAPOLEON}")
    card = opened_card(page, NAPOLEON)
    assert page.locator("#rates details[open]").count() == 0
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#rates details:not([open])").count() == 0
    assert page.locator(".bar").is_hidden()
    assert page.locator("#filters").is_hidden()
    assert page.locator(".transcript:visible").count() == 1
    assert card.locator(".reply").first.is_visible()
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("#rates details[open]").count() == 0
    assert page.pdf().startswith(b"%PDF")


def test_without_a_script_all_but_the_transcripts_is_there(browser: Any, report: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator("h1").is_visible()
    page.locator("details:has(#transcripts) > summary").click()
    assert page.locator("noscript .lead").is_visible()
    assert page.locator("#filters").is_hidden()
    context.close()
