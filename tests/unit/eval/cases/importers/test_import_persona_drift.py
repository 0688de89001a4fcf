"""persona_drift: read without running it, and graded to the end by its own functions."""

from __future__ import annotations

import pytest

from eval.cases.importers.imported import write_cases
from eval.cases.importers.persona_drift import FILE, TOPICS_FILE, import_cases
from eval.records.samples import read_samples
from eval.run import evaluate
from gatt.errors import DataError
from tests.support.runs.case_files import case_config
from tests.support.runs.stages import RecordingEngine
from tests.support.texts.doc_pages import DOCS, blocks

PROMPTS = r"""
import re
print("this runs")
pattern_system_prompts = [
    ("WRITE IN CAPITALS.", "How are " 'you?', lambda x: sum(c.isupper() for c in x) / len(x)),
    ("Only use digits.", "What is 1+1?", lambda x: x.isdigit()),
]
language_system_prompts = [
    ("Say \"da\".", "Yes?", lambda x: {"da": 1, "nu": 1.5}[x]),
]
system_prompts = pattern_system_prompts + language_system_prompts
"""
TOPICS = "topics = ['Tea?', 'Milk?', 'Rain?', 'Snow?', 'Tea?']\n"


@pytest.fixture
def copy(tmp_path):
    folder = tmp_path / "copy"
    folder.mkdir()
    (folder / FILE).write_text(PROMPTS, encoding="utf-8")
    (folder / TOPICS_FILE).write_text(TOPICS, encoding="utf-8")
    return folder


def test_prompts_probes_and_functions_are_found_and_nothing_is_run(copy, capsys) -> None:
    imported = import_cases(copy, num_turns=3)
    assert capsys.readouterr().out == ""
    first = dict(imported[0])
    assert set(first.pop("user_turns")) < {"Tea?", "Milk?", "Rain?", "Snow?"}
    assert first == {
        "id": "persona_drift-pattern-0",
        "instruction": {
            "text": "WRITE IN CAPITALS.",
            "family": "persona_drift_pattern",
            "value": "WRITE IN CAPITALS.",
            "verifiers": [],
        },
        "probes": [
            {
                "question": "How are you?",
                "verifiers": [{"kind": "score", "function": "pattern-0"}],
            }
        ],
        "constraints": [{"id": "pattern-0", "text": "WRITE IN CAPITALS.", "by": "rules"}],
    }
    names = [c["id"].removeprefix("persona_drift-") for c in imported]
    assert names == ["pattern-0", "pattern-1", "language-0"]


def test_the_seed_fixes_the_topics(copy) -> None:
    drawn = [import_cases(copy / FILE, 4, seed) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_answers_are_graded_by_the_score_file_of_the_guide(copy, tmp_path, monkeypatch) -> None:
    write_cases(tmp_path / "drift.jsonl", import_cases(copy, num_turns=4))
    program = next(b for b in blocks(DOCS / "guides/evaluation.md") if b.title == "scores.py")
    (tmp_path / "scores.py").write_text(program.text, encoding="utf-8")
    monkeypatch.syspath_prepend(copy)
    said = {"How are you?": "ABcd", "What is 1+1?": "2", "Yes?": "nu"}
    settings = {"score_file": tmp_path / "scores.py", "turns": (4,), "probe_turns": (2, 4)}
    config = case_config(tmp_path, tmp_path / "drift.jsonl", **settings)
    results = evaluate(
        config,
        lambda: RecordingEngine(lambda r: said.get(r.messages[-1].content, "I like it.")),
    ).results
    samples = read_samples(tmp_path / "out/samples.jsonl")
    assert {(s.user, s.score, s.status) for s in samples if s.kind == "probe"} == {
        ("How are you?", 0.5, "pass"),
        ("What is 1+1?", 1.0, "pass"),
        ("Yes?", None, "undecided"),
    }
    (point,) = (
        p
        for p in results["curves"]
        if (p["metric"], p["turn"], p["family"], p["split"]) == ("probe_score", 2, "all", "all")
    )
    assert (point["rate"], point["num_passed"], point["num_decided"]) == (0.75, 2, 2)
    assert point["num_undecided"] == 1
    assert "Mean score of answers to a probe" in (tmp_path / "out/report.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("file", "text", "facts"),
    [
        (FILE, "x = [", "cannot be read as Python: SyntaxError"),
        (FILE, "x = 1", r"no list named \*_system_prompts"),
        (FILE, "a_system_prompts = [\n('x', 'y')]", "line 2: found Tuple"),
        (FILE, "a_system_prompts = [('x', f(1), 2)]", r"line 1: found f\(1\)"),
        (FILE, "a_system_prompts = [(' ', 'y', 2)]", "line 1: found ' '"),
        (TOPICS_FILE, "topic = []", "--num-turns is 1: expected 1 to 0, one of its list 'topics'"),
        (TOPICS_FILE, "topics = ['a', 2]", "line 1: found 2"),
    ],
)
def test_what_is_not_of_the_format_is_one_line(copy, file, text, facts) -> None:
    (copy / file).write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=rf"{file}:? {facts}") as caught:
        import_cases(copy, num_turns=1)
    assert "\n" not in str(caught.value)


def test_a_case_has_a_topic_for_each_turn(copy, tmp_path) -> None:
    for num in (0, 5):
        with pytest.raises(DataError, match=f"--num-turns is {num}: expected 1 to 4"):
            import_cases(copy, num)
    with pytest.raises(DataError, match=rf"no {FILE} in it"):
        import_cases(tmp_path)
