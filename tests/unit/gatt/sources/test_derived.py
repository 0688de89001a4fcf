"""What a user's own messages expect, read from the replies in the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatt.data.hash_split import partition
from gatt.sources.config import SourceConfig
from gatt.sources.load import load_dialogues
from tests.support.runs.stages import write_jsonl

TRAIN = [f"t{n}" for n in range(40) if partition(f"t{n}") == "train"]
EVAL = [f"e{n}" for n in range(40) if partition(f"e{n}") == "eval"]


def shop(path: Path) -> Path:
    def row(identity, *texts, expect=None):
        roles = ("user", "assistant") * (len(texts) // 2)
        messages = [{"role": r, "content": t} for r, t in zip(roles, texts, strict=True)]
        messages[0] |= {"expect": expect} if expect else {}
        return {"id": identity, "messages": messages}

    asked = "How long may I send it back?"
    return write_jsonl(
        path,
        [
            row(TRAIN[0], asked, "You have 30 days, see shop.example/back.", "Fine.", "It is BF-77."),
            row(EVAL[0], asked, "Send it within 30 days.", "So 30 days?", "Yes, 30 days.", "And BF-99?",
                "BF-99 left."),
            row(EVAL[1], "Hm?", "It is 30 days.", expect={"any_of": ["a month"]}),
        ],
    )  # fmt: skip


def expected(path: Path, part="eval", **settings) -> dict[str, list[str]]:
    config = SourceConfig(**{"name": "jsonl", "path": str(path), "min_turns": 1} | settings)
    found = {}
    for dialogue in load_dialogues(config, part)[0]:
        for expect in dialogue.expectations:
            rules = [v.params["any_of"][0] for v in expect.verifiers] if expect else []
            found.setdefault(dialogue.id, []).append(rules or list(expect.any_of if expect else ()))
    return found


def test_a_message_expects_what_a_training_dialogue_says_too_unless_it_says_its_own(
    tmp_path,
) -> None:
    path = shop(tmp_path / "shop.jsonl")
    # The second time it is no news, and nobody can know BF-99.
    assert expected(path) == {EVAL[0]: [["30"], [], []], EVAL[1]: [["a month"]]}
    assert expected(path, derive_expect=False) == {EVAL[0]: [[], [], []], EVAL[1]: [["a month"]]}
    # The rows of `hub` are the user's own as well.
    assert expected(path, name="hub") == expected(path)
    assert expected(path, name="hub", derive_expect=False) == expected(path, derive_expect=False)
    # No other training dialogue says it.
    assert expected(path, part="train") == {TRAIN[0]: [[], []]}


@pytest.mark.parametrize(
    ("trained", "asked", "reply", "fact"),
    [
        ("Keep it at 4 degrees.", "How long does it keep?", "The cheese keeps 4 days.", []),
        ("The milk lasts 4 days.", "And the cheese?", "The cheese lasts 4 days.", []),
        ("The cheese keeps 4 days.", "For how long?", "Our cheese keeps four days.", ["four"]),
        ("It costs 9 euros.", "What is the price?", "It costs 9 euros.", []),
        ("A basket costs 9 euros.", "What is a basket?", "It is 9 euros.", ["9"]),
        ("Baskets arrive in 3 to 5 days.", "When?", "They arrive in 3 to 5 days.", ["3"]),
        ("Ask Rosa for wine.", "Who makes bread?", "That is Rosa.", []),
        ("Ask Rosa for bread.", "Who makes bread?", "Ask our Rosa about bread.", ["Rosa"]),
    ],
)
def test_a_fact_is_known_from_what_says_it_of_the_same_thing(
    tmp_path, trained, asked, reply, fact
) -> None:
    rows = [
        {
            "id": identity,
            "messages": [
                {"role": "user", "content": message},
                {"role": "assistant", "content": said},
            ],
        }
        for identity, message, said in ((TRAIN[1], "Hello!", trained), (EVAL[2], asked, reply))
    ]
    assert expected(write_jsonl(tmp_path / "d.jsonl", rows)) == {EVAL[2]: [fact]}
