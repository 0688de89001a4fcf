"""`language`: each language against all others; single replies stand in `replies.yaml`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from gatt.verifiers.language.rule import LANGUAGES, Language
from gatt.verifiers.language.text import plain_text

_TEXTS = yaml.safe_load(Path(__file__).with_name("texts.yaml").read_text(encoding="utf-8"))
SAME: dict[str, str] = _TEXTS["same"]
OTHERS = [code for code in LANGUAGES if code != "en"]
ASIDE = "But I would rather talk about my dog, who was ill all of last week."


def passing(reply: str) -> set[str]:
    return {code for code in LANGUAGES if Language(language=code).check(reply).status == "pass"}


@pytest.mark.parametrize("code", LANGUAGES)
def test_each_language_is_told_from_all_others(code: str) -> None:
    assert passing(SAME[code]) == {code}
    assert code == "en" or not passing(f"{SAME[code]} {ASIDE}")


@pytest.mark.parametrize("code", OTHERS)
def test_one_english_sentence_makes_a_mix(code: str) -> None:
    verifier = Language(language=code)
    for english in _TEXTS["english"]:
        said = english.format(name=LANGUAGES[code])
        for reply in (f"{SAME[code]} {SAME[code]}\n\n{said}", f"{said} {SAME[code]}"):
            assert verifier.decide(reply).status == "fail", reply
    for reply in _TEXTS["alike"]:
        assert verifier.check(reply).status == "fail", reply


@pytest.mark.parametrize("reply", _TEXTS["laden"])
def test_english_around_code_addresses_and_names_passes_for_no_other_language(reply: str) -> None:
    assert passing(reply) <= {"en"}


@pytest.mark.parametrize(("code", "reply"), _TEXTS["bare"].items())
def test_who_writes_without_accents_is_understood(code: str, reply: str) -> None:
    assert passing(reply) == {code}


@pytest.mark.parametrize("reply", ["Oui.", "Bien sûr !", "好的", "😊 OK", "`print('bonjour')`"])
def test_too_short_is_never_a_pass(reply: str) -> None:
    assert Language(language="fr").check(reply).status in ("undecided", "fail")


@pytest.mark.parametrize("reply", ["看看 example.com 吧", "看看example.com吧", "看看 a/b/c 吧"])
def test_only_the_address_is_left_out_of_a_text_without_blanks(reply: str) -> None:
    assert plain_text(reply).split() == ["看看", "吧"]


def test_replies_that_people_labelled_are_judged_as_they_did() -> None:
    verdicts = []
    for path in sorted(
        (Path(__file__).parents[5] / "results" / "verdicts").glob("language_*.jsonl")
    ):
        for line in path.read_text(encoding="utf-8").splitlines():
            raw = json.loads(line)
            verifier = Language(language=raw["entry"].removeprefix("language."))
            verdicts.append((verifier.check(raw["reply"]).status, raw["label"], raw["reply"]))
    assert len(verdicts) > 150
    assert [one for one in verdicts if one[:2] in (("pass", "bad"), ("fail", "good"))] == []
    assert sum(status == "undecided" for status, _, _ in verdicts) <= 0.05 * len(verdicts)
