"""The guide to a bot of one's own: its four commands run, on a tiny model and in few steps."""

from __future__ import annotations

import io
import re
import shlex
import sys
from pathlib import Path

import pytest

from gatt.cli import main
from gatt.commands.chat.conversation import MARKS
from gatt.runs.input_file import read_json
from tests.support.models.tiny import save_tiny_model
from tests.support.runs.stages import write_jsonl
from tests.support.texts.doc_pages import DOCS, blocks

PAGE = DOCS / "guides" / "own_data.md"
THINGS = ("boots", "tent", "stove", "jacket", "rope", "lamp", "helmet", "map")
FAQ = """question,must_contain,answer
How long can I return boots?,30 days,You can return them within 30 days.
Where is the shop?,Innsbruck,The shop is in Innsbruck.
"""
FEW_STEPS = (
    # The targets of so few dialogues begin alike.
    "--synth.formula_limit=null", "--synth.num_samples=6", "--train.max_steps=2",
    "--train.disable_tqdm=true", "--train.report_to=none", "--eval.num_dialogues=2",
    # Greedy replies of random weights are one token again and again.
    "--eval.turns=[1,2]", "--eval.sampling.temperature=1",
)  # fmt: skip


def page_commands() -> dict[str, list[str]]:
    """Return the words of the page's first commands behind `gatt`, by the name of each."""
    lines = (shlex.split(line, comments=True) for line in blocks(PAGE)[0].text.splitlines())
    return {words[1]: words[1:] for words in lines}


def test_the_four_commands_make_a_bot_that_is_measured_part_by_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    dialogues = []
    for number, thing in enumerate(THINGS):
        messages = []
        for turn in range(1, 7):
            messages.append({"role": "user", "content": f"Question {turn} is about the {thing}."})
            messages.append({"role": "assistant", "content": f"The {thing} lasts {turn} hikes."})
        dialogues.append({"id": f"chat-{number}", "messages": messages})
    write_jsonl(tmp_path / "chats.jsonl", dialogues)
    (tmp_path / "faq.csv").write_text(FAQ, encoding="utf-8")
    model = str(save_tiny_model(tmp_path / "tiny", max_position_embeddings=2048))

    commands = page_commands()
    assert list(commands) == ["models", "init", "run", "chat"]
    init, fetched = commands["init"], commands["models"][-1]
    init[init.index(fetched)] = model
    assert main([*init, "--faq", "faq.csv"]) == 0
    said = capsys.readouterr().out
    assert "catalog check: no problem" in said
    parts = re.findall(r'^  judged .*: "(.*)"$', said, re.MULTILINE)
    assert len(parts) == 4

    assert main([*commands["run"], *FEW_STEPS]) == 0
    folder = tmp_path / "mybot" / "run"
    samples = (folder / "synth" / "samples.jsonl").read_text(encoding="utf-8")
    assert "You can return them within 30 days" in samples
    results = read_json(folder / "eval" / "results.json")
    assert results["run"]["model"] == model
    rows = [row for row in results["parts"] if row["arm"] == "gatt"]
    assert [row["part"] for row in rows] == parts
    assert [row["num_replies"] + row["num_undecided"] > 0 for row in rows] == [True] * 4
    assert {"base", "gatt"} <= {curve["arm"] for curve in results["curves"]}

    page = folder / "eval" / "report.html"
    for made_by in ("run", "report"):
        heads = re.findall(r'<th scope="row">(.*?)</th>', page.read_text(encoding="utf-8"))
        assert [head for head in heads if head in parts] == parts, made_by
        page.unlink()
        assert main(["report", "mybot"]) == 0

    capsys.readouterr()
    monkeypatch.setattr(sys, "stdin", io.StringIO("How long can I return boots?\n/quit\n"))
    assert main(commands["chat"]) == 0
    talk = capsys.readouterr().out
    assert f"instruction, given once: {init[init.index('--instruction') + 1]}\n" in talk
    _, reply = talk.split("> How long can I return boots?\n")
    # Its verdict: it was judged.
    assert reply[0] in {MARKS[status] for status in ("pass", "fail", "undecided")}
    assert reply.count("> /quit") == 1
