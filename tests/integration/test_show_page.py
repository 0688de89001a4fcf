"""The page of `gatt show --html` in a browser: opened from the disk, folded out and photographed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gatt.commands.show.view import page_of, view_sample
from gatt.data.sample import TurnTarget
from tests.support.models.built_rows import make
from tests.support.models.tiny import sample, tiny_tokenizer
from tests.support.texts.browser import running_browser

pytestmark = pytest.mark.integration


def test_a_page_shows_targets_gaps_and_marked_tokens(tmp_path: Path) -> None:
    verdict = {"status": "fail", "evidence": "no French", "verifier": "language", "version": 1}
    gap = TurnTarget(2, None, "rejected", attempts=4, verdicts=(verdict,), refused=("cut",))
    one = sample(1, 3)
    one = replace(one, targets=(one.targets[0], gap, one.targets[2]))
    config = make()
    shown = [view_sample(tiny_tokenizer(), s, config) for s in (one, sample(2, 2, is_plain=True))]
    path = tmp_path / "page.html"
    path.write_text(page_of("samples.jsonl", shown, config.model), encoding="utf-8")
    asked: list[str] = []
    problems: list[str] = []
    with running_browser() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(path.as_uri())
        first = page.locator("article").first
        assert first.locator(".learned").count() == 2
        assert "rejected" in first.locator(".gap").inner_text()
        marks = first.locator("pre mark")
        assert not marks.first.is_visible()
        first.locator("summary").click()
        assert marks.first.is_visible()
        page.screenshot(path=tmp_path / "show.png", full_page=True)
        for width in (1280, 380):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert asked == [path.as_uri()]
    assert not problems
