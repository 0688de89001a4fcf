"""What a reader sees: markup says nothing, and nothing moves."""

from __future__ import annotations

import pytest

from gatt.verifiers import build
from gatt.verifiers.spec import VerifierSpec
from gatt.verifiers.text.markup import visible

UNSEEN = [
    "I like tea.<!-- tennis --> A lot.",
    "I like tea. <!-- tennis",
    '<img src="a.png" alt="tennis"> I like tea.',
    "<span title='tennis > chess' class=\"tennis\">I like tea.</span>",
    "<script>let tennis = 1;</script>I like tea.",
    '<p style="display: none">tennis</p> I like tea.',
    "<b hidden>I play tennis.</b> I like tea.",
    "![tennis](tea.png) I like tea.",
    '[I like tea](https://example.org/tennis "tennis").',
    "[I like tea](tennis.html).",
    "[I like tea][tennis].\n\n[tennis]: https://example.org",
    "I like tea.\n\n[//]: # (tennis)",
    'I like tea.\n[1]: tennis.html "tennis"',
    "I like tea: https://example.org/tennis?tennis=1",
    "I like tea: www.tennis.example, tennis.com/play and tennis@example.org",
    "```tennis\nI like tea.\n```",
]
SEEN = [
    "I like tennis.",
    "A < B, and tennis > chess.",
    "I like <your favourite tennis player>.",
    "`<!-- tennis -->` is a comment, and I like tea.",
    "```\n<!-- tennis -->\n```\nI like tea.",
    "```I like tennis.```",
    "[tennis](https://example.org) is what I like.",
    "<b>I like tennis.</b><br>",
    "[1]: I like tennis.",
    "I like tea.tennis is fine, and so on.",
    "[^1]: I like tennis.",
    "I like (tennis), [really](milk.html).",
]


@pytest.mark.parametrize("reply", [*UNSEEN, *SEEN])
def test_nothing_moves_and_only_what_is_seen_says_tennis(reply: str) -> None:
    seen = visible(reply)
    assert len(seen) == len(reply)
    assert seen.count("\n") == reply.count("\n")
    assert ("tennis" in seen) == (reply in SEEN)
    assert ("tea" in seen) == ("tea" in reply)
    assert visible(seen) == seen


@pytest.mark.parametrize(
    "spec",
    [
        VerifierSpec("terms", {"any_of": ["tennis"]}),
        VerifierSpec("likes", {"any_of": ["tennis"]}),
        VerifierSpec("question_about", {"topics": ["tennis"]}),
        VerifierSpec("in_character", {"any_of": ["Tom", "my tennis"]}),
    ],
    ids=lambda spec: spec.kind,
)
@pytest.mark.parametrize("hidden", ["<!-- {} -->", '<i title="{}"></i>', "![{}](a.png)"])
def test_rules_of_sense_read_what_is_seen(spec: VerifierSpec, hidden: str) -> None:
    said = "I am Tom, and I love my tennis. Do you play tennis with your friends?"
    assert build(spec).check(said).status == "pass"
    assert build(spec).check(f"I am fine today. {hidden.format(said)}").status == "fail"
