import pytest

from gatt.data.bank.check import check_bank
from gatt.data.bank.read import FOLDER, QUESTION_KINDS, load_bank


def test_the_shipped_bank_is_large_enough() -> None:
    """`make test-all` begins with `gatt catalog check`, which looks for problems in it."""
    bank = load_bank()
    assert len(bank.questions) >= 500
    assert len(bank.told) >= 150
    assert len(bank.small_talk) >= 250
    for kind in QUESTION_KINDS:
        assert sum(question.kind == kind for question in bank.questions) >= 45


@pytest.mark.parametrize(
    ("file", "row", "facts"),
    [
        (
            "questions",
            'numbers: {a: {ask: "Is a dozen 12 eggs?", number: 12, reply: "Yes, 12."}}',
            ["numbers.a", "'12'"],
        ),
        (
            "questions",
            'choice: {a: {ask: "Is ice hot or cold?", words: [cold], reply: "It is cold."}}',
            ["choice.a", "not_words"],
        ),
        (
            "questions",
            'sums: {a: {ask: "What is 3 plus 4?", number: 7, reply: "It is 8."}}',
            ["sums.a", "'It is 8.'"],
        ),
        (
            "questions",
            'choice: {a: {ask: "Is ice hot or cold?", words: [cold], not_words: [cold], reply: "Cold."}}',
            ["choice.a", "'cold'", "wrong"],
        ),
        (
            "told",
            'a: {tell: "I have a dog.", tell_reply: "Nice!", ask: "My dog\'s name?", any_of: [Rex], '
            'reply: "It is Rex."}',
            ["told.a", "'I have a dog.'"],
        ),
        (
            "small_talk",
            'opinion: {a: {say: "Nice day!", reply: "Yes."}, b: {say: "nice day", reply: "It is."}}',
            ["opinion.b", "opinion.a"],
        ),
        ("small_talk", "opinion: {}", ["speaker name", "part"]),
    ],
)
def test_a_row_that_cannot_show_anything_is_a_problem(tmp_path, file, row, facts) -> None:
    for name in ("words", "number_words"):
        (tmp_path / f"{name}.yaml").write_text(
            (FOLDER / f"{name}.yaml").read_text("utf-8"), "utf-8"
        )
    for name in ("questions", "told", "small_talk"):
        (tmp_path / f"{name}.yaml").write_text("{}" if name != file else row, "utf-8")
    (tmp_path / "speaker.yaml").write_text('name: {ask: ["Your name?"], reply: ["No."]}', "utf-8")
    assert any(all(fact in problem for fact in facts) for problem in check_bank(tmp_path))
