"""Sentences and the verifiers that fit them; what no rule fits is left to a judge."""

from __future__ import annotations

import re

import pytest

from gatt.commands.init.rules import find_rule
from gatt.verifiers import check_all, overall


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Always answer in French.", [("language", "language", "fr")]),
        ("Don't answer in English, answer in Spanish", [("language", "language", "es")]),
        ("Answer in German, in at most 20 words.", [("language", "language", "de"), ("words", "max", 20)]),
        ("Keep answers under thirty words.", [("words", "max", 29)]),
        ("Reply with at least 50 words.", [("words", "min", 50)]),
        ("Always ask for the ticket number before you help", [("question_about", "topics", ["ticket number"])]),
        (
            'Always start with "Ahoy," and end with "That was in French!"',
            [("starts_with", "any_of", ["Ahoy,"]), ("ends_with", "any_of", ["That was in French!"])],
        ),
        ("You are Captain Ahab, a whaler.", [("role", "names", ["Captain Ahab"])]),
        (
            "Always mention our winter sale.",
            [("all", "of", [{"kind": "terms", "any_of": ["sale"]},
                            {"kind": "says", "any_of": ["sale"], "beside": [["winter"]]}])],
        ),
        ("Never mention Amazon.", [("excludes", "terms", ["Amazon"])]),
        ("Never mention the price.", [("excludes", "terms", ["price"])]),
        ("Do not use emojis.", [("not", "of", {"kind": "emoji", "min": 1})]),
        ("Answer as JSON.", [("json_object", "kind", "json_object")]),
        ("Reply in JSON with the keys name and city.", [("json_object", "keys", ["name", "city"])]),
        ("Never ask for a password.", [("not", "of", {"kind": "question_about", "topics": ["password"]})]),
    ],
)  # fmt: skip
def test_a_sentence_gets_verifiers_whose_examples_they_judge_rightly(sentence, expected) -> None:
    rule = find_rule(sentence)
    assert rule is not None
    found = {spec.kind: {"kind": spec.kind, **spec.params} for spec in rule.verifiers}
    assert {kind: found[kind][key] for kind, key, _ in expected} == {
        kind: value for kind, _, value in expected
    }
    assert len(found) == len(expected)
    assert rule.good
    assert rule.bad
    assert {overall(check_all(rule.verifiers, reply)) for reply in rule.good} == {"pass"}
    assert {overall(check_all(rule.verifiers, reply)) for reply in rule.bad} == {"fail"}


def test_the_shipped_catalogue_lends_its_entries() -> None:
    for sentence, kind, term in (
        ("Act as Napoleon.", "role", "Bonaparte"),
        ("Speak in French.", "language", "fr"),
    ):
        rule = find_rule(sentence)
        assert rule is not None
        (spec,) = rule.verifiers
        assert spec.kind == kind
        assert term in [*spec.params.get("names", ()), spec.params.get("language")]


@pytest.mark.parametrize(
    "sentence",
    [
        "Be empathetic.", "Never speak French.", "You are a helpful assistant. Be polite.",
        "If the user asks for it, answer in French.", "Soyez aimable.",
        "Keep each point under nine words.", "{value} %s \\d+ [",
    ],
)  # fmt: skip
def test_what_no_rule_fits_has_none(sentence) -> None:
    assert find_rule(sentence) is None


@pytest.mark.parametrize(
    ("sentence", "is_long"),
    [("Reply with at least 50 words.", True), ("Answer in one sentence.", False)],
)
def test_only_what_asks_for_much_is_long(sentence, is_long) -> None:
    rule = find_rule(sentence)
    assert rule is not None
    assert rule.is_long == is_long


@pytest.mark.parametrize(
    ("sentence", "key"),
    [
        ("Answer as JSON.", "answer"),
        ('Answer as a JSON object with the key "reply".', "reply"),
        ("Reply in JSON with the key reply.", "reply"),
        ("Reply in JSON with short keys only.", "answer"),
        ("Reply in JSON with the keys name and city.", None),
    ],
)
def test_a_program_puts_a_reply_into_json_where_one_key_holds_it(sentence, key) -> None:
    rule = find_rule(sentence)
    assert rule is not None
    assert (f'"key": "{key}"' in rule.program) == (key is not None) == bool(rule.program)


@pytest.mark.parametrize(
    "sentence",
    [
        'End every reply with "Safe travels".',
        'Start every reply with "Good news:".',
        'Always mention "Blue Monday".',
        'Never say "no problem".',
        'Never mention "Kestrel", "Swift" or "Rook".',
        'Call me "Skipper".',
        'Refer to the customer as "dear reader".',
        'Answer only with "left" or "right".',
    ],
)
def test_single_quotation_marks_are_read_as_double_ones(sentence) -> None:
    expected = find_rule(sentence)
    assert expected is not None
    for marks in ("''", "‘’"):
        opened = re.sub(r'"([^"]*)"', rf"{marks[0]}\1{marks[1]}", sentence)
        rule = find_rule(opened)
        assert rule is not None
        assert rule.verifiers == expected.verifiers


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("Always remind guests to lock their doors.", "Be sure to lock your doors."),
        ("Thank the guest for waiting.", "I am grateful to you for waiting."),
        ("Thank the guest for their visit.", "Many thanks for your visit."),
        ("Always thank the guest.", "Thank you for your patience."),
        ("Ask if there is anything else you can do.", "What else can I do for you?"),
        ("Always upsell the seat cushions.", "Would you also like the seat cushions?"),
        ("Erwähne immer unseren neuen Fahrplan.", "Bitte nicht vergessen: unseren neuen Fahrplan."),
        ("Weise in jeder Antwort auf die Baustelle hin.", "Gern weise ich auf die Baustelle hin."),
        ("Erinnere die Gäste an das Frühstück.", "Denken wir dabei auch an das Frühstück."),
        ("Erwähne Bergbahnen.", "Gern nenne ich auch Bergbahnen."),
        ("Menciona siempre el horario de verano.", "Conviene recordar el horario de verano."),
        ("Menciona las obras en cada respuesta.", "Por cierto: las obras."),
        ("Mentionne toujours l'entrée gratuite.", "Gardons aussi l'entrée gratuite en tête."),
        ("Rappelle notre atelier.", "Pour rappel : notre atelier."),
    ],
)
def test_what_a_reply_has_to_add_has_ten_phrasings_that_pass(sentence, said) -> None:
    rule = find_rule(sentence)
    assert rule is not None
    assert len({*rule.utterances}) == 10
    assert said in rule.utterances
    assert {overall(check_all(rule.verifiers, text)) for text in rule.utterances} == {"pass"}


@pytest.mark.parametrize(
    "sentence",
    [
        "Erinnere daran, dass wir umbauen.", "Erwähne die Baustelle am Ende jeder Antwort.",
        "Recuerda al cliente el plazo.", "Rappelle au client que tout est gratuit.",
    ],
)  # fmt: skip
def test_what_is_no_object_is_put_into_no_phrasing(sentence) -> None:
    rule = find_rule(sentence)
    assert rule is not None
    assert rule.utterances == ()


def test_a_limit_of_a_quoted_piece_is_none_of_the_whole_reply() -> None:
    assert find_rule("Keep 'Notes' under nine words.") is None
    assert find_rule("'Notes' in at most nine words.") is None
