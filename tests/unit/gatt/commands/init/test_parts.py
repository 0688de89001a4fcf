"""A sentence part by part: nothing is lost in silence."""

from __future__ import annotations

import json

import pytest

from data_synth.commands.catalog import problems_of
from gatt.cli import main
from gatt.commands.init.clauses import clauses
from gatt.commands.init.rules import find_parts
from gatt.commands.init.speaker import speaker_of
from gatt.data.catalog.read import load_catalog
from gatt.sources.load import load_dialogues
from gatt.stages.run_file import load_run
from gatt.verifiers import check_all, overall
from gatt.verifiers.spec import VerifierSpec
from tests.support.runs.stages import write_dialogues

MIA = (
    "You are Mia, the assistant of Bergfreund, an outdoor shop. Always answer in at most two sentences, "
    "always mention our free returns, never give medical advice, be polite."
)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        (MIA, ["You are Mia, the assistant of Bergfreund, an outdoor shop.",
               "Always answer in at most two sentences",
               "always mention our free returns", "never give medical advice", "be polite."]),
        ('Start with "Hi, and end now." and answer in French',
         ['Start with "Hi, and end now."', "answer in French"]),
        ("If asked, answer in French. Be kind.", ["If asked, answer in French.", "Be kind."]),
        ("Never promise dates or discuss politics.", ["Never promise dates", "Never discuss politics."]),
        ("You are Dr. Tooth who answers in JSON.", ["You are Dr. Tooth", "answers in JSON."]),
        ("Be brief; use no emojis", ["Be brief", "use no emojis"]),
        ("Answer in Dutch, correct one mistake, and show an example.",
         ["Answer in Dutch", "correct one mistake", "show an example."]),
        ("Be polite and correct", ["Be polite and correct"]),
        ("If it is late, say so and be kind, never joke. Be brief.",
         ["If it is late, say so and be kind, never joke.", "Be brief."]),
        ('End with "Bye." Use no lists', ['End with "Bye."', "Use no lists"]),
        ('End with a line that starts with "So:"', ['End with a line that starts with "So:"']),
    ],
)  # fmt: skip
def test_clauses_hold_all_words_of_a_sentence(sentence, expected) -> None:
    assert clauses(sentence) == expected


@pytest.mark.parametrize(
    ("clause", "facts"),
    [
        ("You are Mia, the assistant of Bergfreund, an outdoor shop.",
         {"name": "Mia", "work": "the assistant of Bergfreund", "company": "Bergfreund",
          "business": "an outdoor shop"}),
        ("You are Maria, 34, a nurse from Lisbon.",
         {"name": "Maria", "age": "34", "work": "a nurse", "home": "Lisbon"}),
        ("You are Nova from Acme Bank", {"name": "Nova", "company": "Acme Bank"}),
        ("You work for the city library", {"company": "the city library"}),
        ("You work at the reception of the clinic from Lindenhof Dental", {"company": "Lindenhof Dental"}),
        ("You are Tom, a receptionist from Lindenhof",
         {"name": "Tom", "work": "a receptionist", "company": "Lindenhof"}),
        ("You are Otto from Bergfreund, an outdoor shop",
         {"name": "Otto", "company": "Bergfreund", "business": "an outdoor shop"}),
        ("You are Eva, a guide from Cape Town", {"name": "Eva", "work": "a guide", "home": "Cape Town"}),
        ("You are Tom from the support team of Nordlicht Energy",
         {"name": "Tom", "company": "Nordlicht Energy"}),
        ("You are Claire, a French tutor", {"name": "Claire", "work": "a French tutor"}),
        ("You are the game master of a fantasy adventure",
         {"work": "the game master of a fantasy adventure"}),
        ("You are a helpful assistant", None),
        ("Eres Lucía, la asistente de Banco Faro",
         {"name": "Lucía", "company": "Banco Faro", "work": "la asistente"}),
        ("Answer politely", None),
    ],
)  # fmt: skip
def test_what_a_clause_says_of_the_speaker(clause, facts) -> None:
    speaker = speaker_of(clause)
    assert (speaker and {fact: some[0] for fact, some in speaker.facts.items()}) == facts


@pytest.mark.parametrize(
    ("sentence", "good", "bad"),
    [
        (
            MIA,
            ["You have 30 days. Returns are free.", "Send it back at no cost.",
             "Try our free returns, I'm Mia."],
            ["We don't offer free returns.", "Returns are not free.", "Thirty days.",
             "I'm Alex. Returns are free.",
             "Welcome to Globetrotter! Our returns are free.", "One. Two is here. Returns are free."],
        ),
        (
            "Always mention that the app is free.",
            ["By the way, the app is free.", "Our app costs nothing."],
            ["The app is not free.", "We have an app."],
        ),
        (
            "Ask whether the guest needs a parking space",
            ["Do you need a parking space?", "Fine. Will you need a parking space?"],
            ["There is a parking space.", "Is it late?"],
        ),
    ],
)  # fmt: skip
def test_parts_pass_in_other_words_and_fail_where_they_are_denied(sentence, good, bad) -> None:
    specs = [v for part in find_parts(sentence) if part.rule for v in part.rule.verifiers]
    assert [r for r in good if overall(check_all(specs, r)) != "pass"] == []
    assert [r for r in bad if overall(check_all(specs, r)) == "pass"] == []


@pytest.mark.parametrize(
    ("sentence", "unjudged"),
    [
        (MIA, ["be polite"]),
        ("Answer in French and politely.", ["politely"]),
        ("Never invent facts. Use at most 20 words.", ["Never invent facts"]),
        ("Never give legal advice.", []),
        ("If asked, answer in French.", ["If asked, answer in French"]),
        (
            "Eres Lucía, la asistente de Banco Faro. Responde siempre en español y en dos frases como "
            "máximo, y no pidas nunca la contraseña.",
            ["no pidas nunca la contraseña"],
        ),
        (
            "Du bist Jonas, der Assistent der Sparkasse Lindau. Antworte immer auf Deutsch und in höchstens "
            "zwei Sätzen, und frage niemals nach dem Passwort.",
            ["frage niemals nach dem Passwort"],
        ),
        (
            "Tu es Camille, l'assistante de la Banque Rivage. Réponds toujours en français et en deux phrases "
            "au maximum, et ne donne jamais de prix.",
            [],
        ),
        ("You are Tom from the support team of Nordlicht Energy.", []),
        (
            "You are Claire, a Dutch tutor. Answer in French, correct one mistake.",
            ["correct one mistake"],
        ),
        (
            "You are the keeper of a small harbour, always end with three options.",
            ["always end with three options"],
        ),
    ],
)
def test_what_nothing_judges_is_named(sentence, unjudged) -> None:
    assert [part.about for part in find_parts(sentence) if not part.is_judged] == unjudged


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        (
            "Always mention the ticket number of the customer.",
            "Please do not forget your ticket number.",
        ),
        ("Always mention the guest's room.", "Please do not forget your room."),
        ("Always mention the price of the tent.", "Remember the price of the tent."),
        ("Never roll dice for the player.", "Please roll dice for me."),
        ("Never roll dice for the player.", "I am sorry, but I cannot roll dice for you."),
        ("Never do the student's homework.", "Can you do my homework?"),
        ("Never reveal a guest's room to others.", "Please tell me a guest's room."),
    ],
)
def test_the_bot_speaks_to_the_user_and_the_user_to_the_bot(sentence, said) -> None:
    (part,) = find_parts(sentence)
    texts = (*part.asks, *part.replies, *(part.rule.utterances if part.rule else ()))
    assert said in texts
    if part.rule:
        judged = [overall(check_all(part.rule.verifiers, text)) for text in part.rule.utterances]
        assert set(judged) == {"pass"}
    declines = (VerifierSpec("declines"),)
    assert {overall(check_all(declines, text)) for text in part.replies} <= {"pass"}


def test_init_takes_the_users_dialogues_and_faq_and_its_catalogue_passes(tmp_path, capsys) -> None:
    own = write_dialogues(tmp_path / "mine.jsonl", num=24, num_turns=7)
    faq = tmp_path / "faq.csv"
    faq.write_text(
        "question,must_contain\n" + "".join(f"What is {n}?,n{n}\n" for n in range(9)), "utf-8"
    )
    folder = tmp_path / "bot"
    words = [
        "init",
        str(folder),
        "--from",
        str(own),
        "--faq",
        str(faq),
        "--server",
        "http://node:8000/v1",
    ]
    assert main([*words, "--instruction", MIA]) == 0
    out = capsys.readouterr().out
    assert 'NOT judged: "be polite"' in out
    assert "catalog check: no problem" in out
    assert problems_of(folder / "catalog.yaml") == []
    (entry,) = load_catalog(folder / "catalog.yaml").entries
    assert [part.about for part in entry.parts if not part.is_judged] == ["be polite"]
    assert {len(part.asks) > 3 for part in entry.parts if part.asks} == {True}
    synth = load_run(folder / "run.yaml").stages[0].config
    assert synth.teacher.engine.server.urls == ("http://node:8000/v1",)
    rows = (folder / "dialogues.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(rows) > 24
    of_faq = [row["messages"] for row in map(json.loads, rows[24:])]
    # The user's own dialogues have small talk: the others ask at nearly every turn.
    assert {"expect" in message for messages in of_faq for message in messages[:10:2]} == {True}
    assert load_dialogues(synth.source, "train")[1].num_kept > 0


def test_where_nothing_is_judged_each_part_is_named_and_the_report_has_a_row(
    tmp_path, capsys
) -> None:
    assert main(["init", str(tmp_path), "--instruction", "Sound cheerful. Be patient."]) == 0
    out = capsys.readouterr().out
    assert "JUDGE marks the places" in out
    for about in ("Sound cheerful", "Be patient"):
        assert f'  NOT judged: "{about}"\n' in out
    (entry,) = load_catalog(tmp_path / "judged.yaml").entries
    assert [part.about for part in entry.parts] == ["Sound cheerful; Be patient"]
    assert [spec.kind for spec in entry.verifiers] == ["judge"]


def test_the_terminal_names_the_rules_and_not_what_holds_them(tmp_path, capsys) -> None:
    sentence = "Always mention our spring fair, and do not use tables."
    assert main(["init", str(tmp_path), "--instruction", sentence]) == 0
    out = capsys.readouterr().out
    assert 'in every reply by terms, says: "Always mention our spring fair"' in out
    assert 'in every reply by not markup: "do not use tables"' in out


def test_an_faq_alone_needs_as_many_questions_as_its_runs_ask(tmp_path, capsys) -> None:
    faq = tmp_path / "faq.csv"
    faq.write_text("question,must_contain\nWhat is it?,tea\n", "utf-8")
    assert main(["init", str(tmp_path / "bot"), "--faq", str(faq), "--instruction", MIA]) == 2
    assert "more than the 1 questions" in capsys.readouterr().err
