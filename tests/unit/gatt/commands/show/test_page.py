"""The page of `gatt show --html`."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from typing import Any

import pytest

from gatt.cli import main
from gatt.comb.comb import IGNORE
from gatt.commands.show.view import page_of, view_sample
from gatt.data.sample import TurnTarget
from gatt.data.switches import Switch
from tests.support.models.built_rows import make
from tests.support.models.tiny import sample, save_tiny_model, tiny_tokenizer, write_samples

VERDICT = {"status": "fail", "evidence": "no <i>French</i>", "verifier": "language", "version": 1}
GAP = TurnTarget(2, None, "rejected", attempts=4, verdicts=(VERDICT,), refused=("cut", "blank"))
FULL = sample(1, 3, targets=["Oui <b>&amp;</b>.", "Non.", "Si."])
ONE = replace(
    FULL,
    targets=(FULL.targets[0], GAP, FULL.targets[2]),
    switches=(Switch(3, "cancel", "system", "As you like.", None),),
)


def page(config: Any, *samples: Any) -> str:
    tokenizer = tiny_tokenizer()
    return page_of("s.jsonl", [view_sample(tokenizer, s, config) for s in samples], config.model)


@pytest.mark.parametrize("settings", [{}, {"history": "sampled"}, {"supervise": "all_turns"}])
def test_what_is_marked_is_what_carries_loss(settings: dict[str, Any]) -> None:
    tokenizer, config = tiny_tokenizer(), make(**settings)
    text = page(config, ONE, sample(2, 2, is_plain=True))
    marked = [html.unescape(found) for found in re.findall(r"<mark>(.*?)</mark>", text, re.DOTALL)]
    learned = ""
    for one in (ONE, sample(2, 2, is_plain=True)):
        for comb in view_sample(tokenizer, one, config).combs:
            for ids, labels in (
                (comb.trunk, comb.trunk_labels),
                *((b.input_ids, b.labels) for b in comb.branches),
            ):
                kept = [i for i, label in zip(ids, labels, strict=True) if label != IGNORE]
                learned += tokenizer.decode(kept)
    # The legend has the first mark.
    assert "".join(marked[1:]) == learned


def test_a_page_stands_alone_and_says_why_there_is_no_target() -> None:
    text = page(make(), ONE, sample(3, 2, targets=[None, None]))
    assert "no target: rejected, 4 attempts (cut, blank)" in text
    assert "language fail: no &lt;i&gt;French&lt;/i&gt;" in text
    assert "Oui &lt;b&gt;&amp;amp;&lt;/b&gt;." in text
    assert "cancel, by the system" in text
    assert "no row: training leaves this sample out" in text
    assert not re.search(r"https?:|<script|<link|url\(", text)


def test_the_command_writes_the_first_samples_or_the_one_that_is_named(tmp_path, capsys) -> None:
    folder = save_tiny_model(tmp_path / "model")
    samples = write_samples(folder / "s.jsonl", [sample(n, 2) for n in range(1, 5)])
    output = tmp_path / "page.html"
    for words, ids in ((["--num_samples=2"], ["s-1", "s-2"]), (["--id=s-3"], ["s-3"]), ([], 4)):
        told = ["show", str(samples), f"--model={folder}", f"--html={output}", *words]
        assert main(told) == 0
        found = re.findall(r'<article id="(.*?)"', output.read_text("utf-8"))
        assert found == ids or len(found) == ids
        assert f"{output}: {len(found)} samples" in capsys.readouterr().out
    assert main(["show", str(samples), f"--html={output}", "--num_samples=0"]) == 2
