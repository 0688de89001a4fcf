"""`gatt init`: what it writes can be run as it stands, and nothing is overwritten."""

from __future__ import annotations

from pathlib import Path

import pytest

from data_synth.catalog_check import check_entry
from data_synth.plan import plan_samples
from eval.cases.build import load_inputs
from gatt.cli import main
from gatt.data.catalog.read import load_catalog
from gatt.sources.load import load_dialogues
from gatt.stages.machine import Machine, choose_settings, num_weights
from gatt.stages.run_file import load_run
from gatt.verifiers.language.probabilities import language_of
from gatt.verifiers.text.echo import echoed

GB = 10**9


def files(folder: Path) -> dict[str, str]:
    return {p.name: p.read_text(encoding="utf-8") for p in folder.iterdir()}


@pytest.mark.parametrize(
    ("sentence", "is_judged"),
    [
        ("Always answer in French.", False),
        ("Eres Lucía, la asistente de Banco Faro.", False),
        ('End every reply with "Was that \\ helpful: {name}?" # yes', False),
        ("Be 'empathetic': always {feel} with the user & co. — ça va?", True),
    ],
)
def test_a_start_can_be_planned_and_its_cases_made(tmp_path, capsys, sentence, is_judged) -> None:
    folder = tmp_path / "my bot"
    assert main(["init", str(folder), "--instruction", sentence]) == 0
    out = capsys.readouterr().out
    assert ("JUDGE" in out) == is_judged
    # In a chat a judge's place would pass every reply.
    assert ("--instruction" in out.splitlines()[-1]) == is_judged
    assert set(files(folder)) == {"run.yaml", "catalog.yaml", "dialogues.jsonl"} | (
        {"judged.yaml"} if is_judged else set()
    )
    run = load_run(folder / "run.yaml")
    assert run.output_dir == folder / "run"
    synth, train, evaluation = (stage.config for stage in run.stages)
    assert train.history == "reference"
    assert train.samples == (folder / "run" / "synth" / "samples.jsonl",)
    dialogues, report = load_dialogues(synth.source, synth.part)
    assert report.dropped["too short"] == 0
    catalog = synth.instructions.load()
    plan = plan_samples(dialogues, catalog, synth)
    assert {s.instruction is None for s in plan[: len(plan)]} == {True, False}
    (entry,) = catalog.entries
    assert entry.value == sentence
    assert sentence in entry.verbose
    assert check_entry(entry) == [] or is_judged
    inputs = load_inputs(evaluation, evaluation.instructions.load(), lambda: None, "")
    assert len(inputs.cases) == 1
    assert [v.kind == "judge" for v in inputs.cases[0].instruction.verifiers] == [is_judged]
    assert evaluation.unmeasured == is_judged
    assert evaluation.turns[-1] == evaluation.source.min_turns


def test_lists_that_puzzle_say_what_they_mean(tmp_path) -> None:
    main(["init", str(tmp_path)])
    lines = files(tmp_path)["run.yaml"].splitlines()
    for key in ("num_entries:", "splits:"):
        assert all(" # " in line for line in lines if line.strip().startswith(key))


def test_a_run_is_found_from_within_its_folder_too(tmp_path, monkeypatch) -> None:
    main(["init", str(tmp_path / "bot")])
    monkeypatch.chdir(tmp_path / "bot")
    run = load_run(Path("run.yaml"))
    assert run.output_dir == Path("run")
    assert load_dialogues(run.stages[0].config.source, "train")[0]


@pytest.mark.parametrize(
    ("words", "fact"),
    [
        (["FOLDER", "--instruction", "x" * 5000], "5000"),
        (["FOLDER", "--instruction", "a\x00b"], "--instruction"),
        (["FOLDER", "--model", ""], "--model"),
        (["FOLDER", "--model", "qwen2.5-coder-0.5b"], "qwen2.5-coder-0.5b-instruct"),
        (["FOLDER/file"], "file"),
        (["FOLDER/full"], "run.yaml"),
        ([""], "no path"),
    ],
)
def test_a_mistake_is_one_line_and_writes_nothing(tmp_path, capsys, words, fact) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "run.yaml").write_text("mine", encoding="utf-8")
    assert main(["init", *(word.replace("FOLDER", str(tmp_path)) for word in words)]) == 2
    error = capsys.readouterr().err
    assert fact in error
    assert error.count("\n") == 1
    assert {p.name for p in tmp_path.iterdir()} == {"file", "full"}
    assert files(tmp_path / "full") == {"run.yaml": "mine"}


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("smollm2-135m-instruct", 135e6),
        ("mistralai/Mixtral-8x7B-v0.1", 56e9),
        ("Qwen/Qwen3-30B-A3B", 30e9),
        ("gpt2", None),
    ],
)
def test_the_size_of_a_model_is_known_by_its_name(model, expected) -> None:
    assert num_weights(model) == expected


def test_where_vllm_is_installed_a_run_starts_it(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(
        Machine, "here", lambda: Machine(80 * GB, "cuda", has_vllm=True, has_bfloat16=True)
    )
    main(["init", str(tmp_path / "bot"), "--model", "Qwen/Qwen3-8B"])
    synth, train, evaluation = (stage.config for stage in load_run(tmp_path / "bot").stages)
    engines = (synth.teacher.engine, evaluation.engine)
    assert [(e.model, e.server and e.server.start) for e in engines] == [
        ("Qwen/Qwen3-8B", "vllm")
    ] * 2
    assert train.model == "Qwen/Qwen3-8B"


@pytest.mark.parametrize(
    ("has_bfloat16", "dtypes"), [(True, ("bfloat16",) * 2), (False, ("int8", "auto"))]
)
def test_a_processor_with_bfloat16_computes_in_it(
    tmp_path, monkeypatch, has_bfloat16, dtypes
) -> None:
    monkeypatch.setattr(Machine, "here", lambda: Machine(16 * GB, has_bfloat16=has_bfloat16))
    main(["init", str(tmp_path / "bot"), "--model", "qwen2.5-coder-0.5b-instruct"])
    synth, train, evaluation = (stage.config for stage in load_run(tmp_path / "bot").stages)
    assert (synth.teacher.engine.dtype, evaluation.engine.dtype) == dtypes
    assert train.bf16 == (True if has_bfloat16 else "auto")


def test_settings_follow_size_and_machine() -> None:
    cpu, h100 = Machine(16 * GB), Machine(80 * GB, "cuda", has_bfloat16=True)
    small, large = choose_settings(135_000_000, cpu), choose_settings(8_000_000_000, cpu)
    assert (small.is_too_large, small.is_small, small.has_int8) == (False, True, False)
    assert large.is_too_large
    on_gpu = choose_settings(8_000_000_000, h100)
    assert not on_gpu.is_too_large
    assert not on_gpu.has_int8
    packed = choose_settings(34_000_000_000, h100)
    assert (packed.load_in_4bit, packed.is_too_large, on_gpu.load_in_4bit) == (True, False, False)
    assert choose_settings(70_000_000_000, h100).is_too_large
    assert choose_settings(None, h100).learning_rate == on_gpu.learning_rate
    assert small.learning_rate > on_gpu.learning_rate > choose_settings(70 * GB, h100).learning_rate


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        (
            "Du bist Ida, die Assistentin von Nord. Nenne nie Preise.",
            "Ich bin Ida, die Assistentin von Nord.",
        ),
        (
            "Eres Ana, la asistente de Sur. Responde en dos frases.",
            "Le escribe Ana, la asistente de Sur.",
        ),
        (
            "Tu es Zoé, assistante de Bellevue. Réponds en deux phrases.",
            "Je suis Zoé, assistante de Bellevue.",
        ),
        (
            "You are Tim, the voice of Lark Books. Never name prices.",
            "This is Tim, the voice of Lark Books.",
        ),
    ],
)
def test_what_stands_around_a_sentence_is_in_its_language_and_a_bot_may_say_who_it_is(
    tmp_path, sentence, said
) -> None:
    assert main(["init", str(tmp_path), "--instruction", sentence]) == 0
    (entry,) = load_catalog(tmp_path / "catalog.yaml").entries
    languages = {language_of(text, "en") for text in (sentence, entry.hint, *entry.verbose)}
    assert len(languages) == 1
    assert echoed(said, entry.hint) is None
    assert echoed(sentence, entry.hint) is not None


def test_a_sentence_too_short_to_tell_its_language_is_framed_in_english(tmp_path) -> None:
    assert main(["init", str(tmp_path), "--instruction", "Mention yoga."]) == 0
    (entry,) = load_catalog(tmp_path / "catalog.yaml").entries
    assert "Keep to this in every reply: Mention yoga." in entry.verbose
