"""A browser for tests of the report's page, and what such tests ask of the page."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote_plus

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
"""The system's, in this order; without one Playwright's own is tried."""


@contextmanager
def running_browser() -> Iterator[Any]:
    """Run a headless browser, or skip the tests with the reason why there is none."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    with api.sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=path)
        except api.Error as error:
            pytest.skip(f"no browser starts: {str(error).splitlines()[0]}")
        yield browser
        browser.close()


def shown(page: Any) -> list[str]:
    """Return the anchors of the transcripts in the list."""
    return page.eval_on_selector_all(".transcript", "nodes => nodes.map((node) => node.id)")


def opened_card(page: Any, anchor: str) -> Any:
    """Wait until a transcript is open and its texts are there."""
    card = page.locator(f"#{anchor}[open]:has(.body:not([aria-busy]))")
    card.wait_for()
    return card


def choose(page: Any, name: str, value: str) -> None:
    """Set a filter and wait until the address, which comes last, says so."""
    page.select_option(f"#filters [name={name}]", value)
    page.wait_for_url(re.compile(f"[?&]{name}={re.escape(quote_plus(value))}"))


def focused(page: Any) -> str:
    """Return the transcript that has the focus, or the name of the field that has it."""
    return page.evaluate(
        "document.activeElement.closest('.transcript')?.id ?? document.activeElement.name ?? ''"
    )
