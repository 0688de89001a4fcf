"""What a user's own messages expect, read from the replies in the file."""

from __future__ import annotations

from pathlib import Path

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
            row(EVAL[0], asked, "It is 30 days.", "So 30 days?", "Yes, 30 days.", "And BF-99?", "BF-99 left."),
            row(EVAL[1], "Hm?", "It is 30 days.", expect={"any_of": ["a month"]}),
        ],
    )  # fmt: skip


def expected(path: Path, part="eval", **settings) -> dict[str, list[str]]:
    config = SourceConfig(name="jsonl", path=str(path), min_turns=1, **settings)
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
    # No other training dialogue says it.
    assert expected(path, part="train") == {TRAIN[0]: [[], []]}
