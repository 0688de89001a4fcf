"""`gatt show` on a saved tokenizer folder."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gatt.cli import main
from gatt.sample import TurnTarget
from gatt.show import counts_line, view_sample
from tests.support.golden_templates import GEMMA, INSTRUCTION, SMOLLM2
from tests.support.golden_templates import sample as golden_sample
from tests.support.tiny import sample, save_tiny_model, write_samples


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = save_tiny_model(tmp_path_factory.mktemp("model"))
    verdict = {"status": "fail", "evidence": "no French", "verifier": "language", "version": 1}
    gap = TurnTarget(2, None, "rejected", attempts=4, verdicts=(verdict,))
    second = sample(2)
    second = replace(second, targets=(second.targets[0], gap, second.targets[2]))
    write_samples(folder / "samples.jsonl", [sample(1), second])
    return folder


def show(folder, capsys, *words: str) -> tuple[int, str, str]:
    status = main(["show", str(folder / "samples.jsonl"), "--model", str(folder), *words])
    out, err = capsys.readouterr()
    return status, out, err


def test_plain_marks_exactly_what_carries_loss(folder, capsys) -> None:
    status, out, _ = show(folder, capsys, "--plain")
    assert status == 0
    assert "\x1b[" not in out
    assert "sample s-1  dialogue d-1" in out
    assert "«Bonjour, jour 2 de 1.»«<|im_end|>»" in out
    assert "<|im_start|>assistant⏎\nIt is quiet and long there.<|im_end|>⏎" in out
    assert out.count("«<|im_end|>»") == 3


def test_controls_mark_the_history(folder, capsys) -> None:
    _, out, _ = show(folder, capsys, "--plain", "--supervise", "context_only")
    assert "«It is quiet and long there.»«<|im_end|>»⏎" in out
    assert "«Bonjour" not in out


def test_a_gap_shows_its_reason_and_verdict(folder, capsys) -> None:
    _, out, _ = show(folder, capsys, "--id", "s-2")
    assert "sample s-2" in out
    assert "none: rejected" in out
    assert "language fail (no French)" in out
    assert "branch of turn 2" not in out
    assert "branch of turn 3" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--row", "3"], "samples.jsonl: no row 3: expected 1 to 2"),
        (["--row", "0"], "samples.jsonl: no row 0: expected 1 to 2"),
        (["--id", "nobody"], "samples.jsonl: no sample 'nobody' among 2"),
        (["--row", "1", "--id", "s-1"], "not allowed with argument"),
        (["--max-length", "20"], "more than max_length 20: raise it"),
    ],
)
def test_mistakes_are_one_line(folder, capsys, words, message) -> None:
    status, _, err = show(folder, capsys, *words)
    assert status == 2
    assert message in err
    assert err.count("\n") == 1


def test_empty_file(folder, capsys, tmp_path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    status = main(["show", str(tmp_path / "empty.jsonl"), "--model", str(folder)])
    assert status == 2
    assert "empty.jsonl: no sample in it: run `gatt synth` first" in capsys.readouterr().err


def parts(pieces) -> list[tuple[str, str]]:
    joined: list[tuple[str, str]] = []
    for piece in pieces:
        if joined and joined[-1][0] == piece.part:
            joined[-1] = (piece.part, joined[-1][1] + piece.text)
        else:
            joined.append((piece.part, piece.text))
    return joined


def test_parts_of_the_trunk() -> None:
    shown = view_sample(SMOLLM2.tokenizer(), golden_sample(2, INSTRUCTION))
    assert parts(shown.trunk) == [
        ("setup", "<|im_start|>system\nSpeak French.<|im_end|>\n<|im_start|>user\n"),
        ("user", "Hello there<|im_end|>\n"),
        ("prompt", "<|im_start|>assistant\n"),
        ("reply", "Hi Bob<|im_end|>"),
        ("user", "\n<|im_start|>user\nHow are you<|im_end|>\n"),
        ("prompt", "<|im_start|>assistant\n"),
    ]
    assert parts(shown.branches[1].pieces) == [("target", "Bien merci<|im_end|>")]


def test_no_system_role_falls_back_and_says_so() -> None:
    shown = view_sample(GEMMA.tokenizer(), golden_sample(1, INSTRUCTION))
    assert shown.placement == "first_user"
    assert shown.note == ("the template takes no system message: shown with placement first_user")
    assert parts(shown.trunk)[0] == ("setup", "<bos><start_of_turn>user\nSpeak French.\n\n")


def test_kept_turns_and_counts_with_a_dropped_exchange() -> None:
    shown = view_sample(SMOLLM2.tokenizer(), golden_sample(3, INSTRUCTION), max_length=46)
    assert shown.kept_turns == (1, 3)
    assert [(b.turn, b.fork) for b in shown.branches] == [(1, 17), (3, 30)]
    # Rows of 17 + 2 and 30 + 3 tokens against 30 + 2 + 3 in the comb.
    assert counts_line(shown.built) == (
        "tokens: 30 trunk + 5 branches = 35 comb; 5 supervised; 52 expanded "
        "(1.49 times the comb); exchanges dropped: 1"
    )
