"""The guide to evaluation: its program counts what it says."""

from __future__ import annotations

from dataclasses import replace

from tests.support.runs.fake_samples import sample, write_samples
from tests.support.texts.doc_pages import DOCS, blocks


def test_the_program_counts_replies_and_meets_those_of_another_run(
    tmp_path, monkeypatch, capsys
) -> None:
    program = next(b for b in blocks(DOCS / "guides/evaluation.md") if b.title == "count.py")
    kept = [
        replace(sample(arm="gatt", turn=turn, dialogue=f"d{n}"), is_repeated=n < 2)
        for turn in (1, 20)
        for n in range(5)
    ]
    base = [replace(s, arm="base") for s in kept]
    told = sample(arm="gatt", turn=20, dialogue="plain")
    plain = replace(told, instruction=None, split="none", family="none", is_repeated=False)
    write_samples(tmp_path / "runs/default/behaviour", [*kept, *base, plain])
    # One is missing, two at turn 20 are lost.
    other = [replace(s, status="fail" if n in (5, 6) else "pass") for n, s in enumerate(kept)]
    write_samples(tmp_path / "runs/other/behaviour", other[:-1])
    monkeypatch.chdir(tmp_path)
    exec(compile(program.text, program.title, "exec"), {})
    counted, met = capsys.readouterr().out.split("status_there")
    assert [line.split()[-2:] for line in counted.splitlines()[2:4]] == [
        ["False", "3"],
        ["True", "2"],
    ]
    assert [line.split() for line in met.splitlines()[2:]] == [
        ["1", "pass", "0", "5"],
        ["20", "pass", "2", "2"],
    ]
