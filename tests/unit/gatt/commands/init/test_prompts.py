"""System prompts as public projects write them: what becomes of each part that a reader sees in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from gatt.commands.init.rule import SentencePart
from gatt.commands.init.rules import find_parts, read_table
from gatt.verifiers import check_all, overall
from gatt.verifiers.topics.terms import MIN_WORDS

PROMPTS = yaml.safe_load(Path(__file__).with_name("prompts.yaml").read_text(encoding="utf-8"))
LEAST_JUDGED = 0.65
"""Of the parts of all prompts, by a rule or where a message asks for it."""
IN_ROLE = ("It should be there tomorrow.",)
OUT_OF_ROLE = ("As an AI language model, I cannot be anybody.",)


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: prompt["id"])
def test_no_part_is_lost_or_judged_wrongly(prompt: dict[str, Any]) -> None:
    parts = find_parts(prompt["prompt"])
    assert lost_words(prompt["prompt"], parts) == []
    seen = list(outcomes(prompt, parts))
    assert [one for one in seen if one[1] in ("lost", "wrong")] == []
    assert Counter(how for _, how, _ in seen)["named"] <= prompt["named"]


def test_most_parts_are_judged() -> None:
    num_named = sum(prompt["named"] for prompt in PROMPTS)
    assert 1 - num_named / sum(len(prompt["parts"]) for prompt in PROMPTS) > LEAST_JUDGED


def lost_words(prompt: str, parts: Sequence[SentencePart]) -> list[str]:
    """Return the words of a prompt that stand in no part, words that ask for nothing aside."""
    kept = Counter(word for part in parts for word in _words(part.about))
    common = set(read_table()["stopwords"].split())
    return [word for word in _words(prompt) if word not in common and word not in kept]


def outcomes(
    prompt: Mapping[str, Any], parts: Sequence[SentencePart]
) -> Iterator[tuple[str, str, str]]:
    """Yield each part as the reader has it, what became of it, and why.

    "rule" is judged rightly in every reply, "asked" at turns that ask for it, "named" as not judged (a
    judge is asked by its rubric, if there is one); "wrong" is judged by rules that pass bad replies or
    refuse good ones, "lost" is in no part.
    """
    for seen in prompt["parts"]:
        its = _parts_of(seen["part"], prompt["prompt"], parts)
        lost = lost_words(seen["part"], parts)
        yield seen["part"], *(("lost", ", ".join(lost)) if lost or not its else _outcome(seen, its))


def _outcome(seen: Mapping[str, Any], its: Sequence[SentencePart]) -> tuple[str, str]:
    # What else stands in the same clause is no part of it.
    rules = [part.rule for part in its if part.rule]
    if not rules:
        return ("asked" if any(part.asks for part in its) else "named"), ""
    specs = [spec for rule in rules for spec in rule.verifiers]
    shown = "; ".join(f"{spec.kind} {dict(spec.params)}" for spec in specs)
    facts = {fact: some for rule in rules for fact, some in rule.facts.items()}
    good, bad = list(seen.get("good", ())), list(seen.get("bad", ()))
    if "facts" in seen:
        good, bad = [*good, *IN_ROLE], [*bad, *OUT_OF_ROLE]
        for fact, value in seen["facts"].items():
            if not any(value.casefold() in one.casefold() for one in facts.get(fact, ())):
                return "wrong", f"{fact} is {facts.get(fact)}, not {value!r}"
    elif not good:
        return "wrong", f"no rule can tell, and there is one: {shown} {facts or ''}"
    # Of a word or two some rules cannot tell what they leave out.
    fits = {
        reply: ("pass", "undecided") if len(reply.split()) < MIN_WORDS else ("pass",)
        for reply in good
    }
    refused = [reply for reply in good if overall(check_all(specs, reply)) not in fits[reply]]
    passed = [r for r in bad if overall(check_all(specs, r)) != "fail"]
    if refused or passed:
        return "wrong", f"{shown}: refuses {refused}, passes {passed}"
    return "rule", shown


def _parts_of(seen: str, prompt: str, parts: Sequence[SentencePart]) -> list[SentencePart]:
    """Return the parts that stand where a reader sees this one, or have most of its words."""
    start, end = _place(seen, prompt) or (0, 0)
    there = []
    for part in parts:
        place = _place(part.about, prompt)
        if (place and min(place[1], end) - max(place[0], start) > 0) or (
            not place and _share(part.about, seen) >= 0.5
        ):
            there.append(part)
    return there


def _place(text: str, prompt: str) -> tuple[int, int] | None:
    found = re.search(r"\W+".join(map(re.escape, _words(text))), prompt.casefold())
    return found.span() if found else None


def _share(text: str, seen: str) -> float:
    common = set(read_table()["stopwords"].split())
    said, wanted = (set(_words(one)) - common or set(_words(one)) for one in (text, seen))
    return len(said & wanted) / min(len(said), len(wanted)) if said and wanted else 0.0


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())
