from __future__ import annotations

from typing import Any

import pytest

from eval.records.samples import Sample
from tests.support.runs.fake_samples import fake_results, fake_samples


@pytest.fixture
def no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the page of an evaluation empty: it takes half of the time of a small one."""
    monkeypatch.setattr("eval.results.write.render_report", lambda _, __, path: path.touch())


@pytest.fixture(scope="session")
def run_samples() -> list[Sample]:
    return fake_samples()


@pytest.fixture(scope="session")
def run_results(run_samples: list[Sample]) -> dict[str, Any]:
    return fake_results(run_samples)
