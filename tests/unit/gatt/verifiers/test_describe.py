"""What `gatt catalog kinds` shows of every kind is true, and the reference page shows the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatt.verifiers import VERIFIERS, build
from gatt.verifiers.describe import as_markdown, as_text, describe
from gatt.verifiers.judge import JUDGE
from gatt.verifiers.spec import VerifierSpec

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "verifiers.md"


@pytest.mark.parametrize("kind", VERIFIERS)
def test_the_replies_that_are_shown_pass_and_fail(kind: str) -> None:
    shown = describe(kind)
    verifier = build(VerifierSpec(kind, shown.params))
    assert verifier.check(shown.failing).status == "fail"
    assert (shown.passing is None) == (kind == JUDGE)
    assert shown.passing is None or verifier.check(shown.passing).status == "pass"
    assert [one for one in shown.parameters if not one[3] or "[" in one[1]] == []
    text = as_text(shown)
    for part in (kind, shown.about, *shown.lines, *(one[0] for one in shown.parameters)):
        assert part in text


def test_the_page_of_the_reference_shows_the_same() -> None:
    page = PAGE.read_text(encoding="utf-8")
    part = page.partition("<!-- gatt catalog kinds --markdown -->\n\n")[2]
    written = part.partition("\n<!-- end of kinds -->")[0]
    # Else write what `gatt catalog kinds --markdown` prints between the two marks.
    assert written == "\n".join(as_markdown(describe(kind)) for kind in sorted(VERIFIERS))
