"""The report of made-up runs, opened from disk in a real browser without a network."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eval.records.samples import Sample
from eval.report.page.render import render_report
from gatt.verifiers.base import Verdict
from tests.support.runs.fake_samples import HOSTILE, fake_results, fake_samples
from tests.support.texts.browser import running_browser
from tests.support.texts.fake_lists import fake_lists, with_extras

EVIDENCE = "🙂 <b>Bonjour</b> tout le monde"
SIZES = {"desktop": (1280, 900), "phone": (390, 844), "small phone": (360, 780)}


@pytest.fixture(scope="session")
def made_samples() -> list[Sample]:
    """The replies to 24 dialogues; the first case has one with marked evidence and hostile ones."""
    samples = with_extras(fake_samples(num_dialogues=20))
    first = samples[0]
    for number, sample in enumerate(samples):
        if sample.case != first.case or sample.kind == "probe":
            continue
        if sample.turn == 1 and sample.arm == "base":
            mark = Verdict("fail", "found it", "terms", 1, (2, 9))
            samples[number] = replace(sample, reply=EVIDENCE, status="fail", verdicts=(mark,))
        if sample.turn == 2:
            samples[number] = replace(sample, user=HOSTILE, reply=HOSTILE, reference=HOSTILE)
    return samples


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory, made_samples: list[Sample]) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    render_report(fake_results(made_samples) | fake_lists(), made_samples, path)
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with running_browser() as found:
        yield found


@pytest.fixture
def open_page(browser: Any, report: Path) -> Iterator[Callable[..., Any]]:
    """Open the page at an address; what it says on the console or asks of the net fails the test."""
    said: list[str] = []
    asked: list[str] = []
    contexts = []

    def opened(address: str = "", size: str = "desktop", scheme: str = "light") -> Any:
        width, height = SIZES[size]
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, offline=True
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{report.as_uri()}{address}")
        page.wait_for_selector("html[data-ready]", state="attached")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not said
    assert {url.partition("#")[0] for url in asked} == {report.as_uri()}
