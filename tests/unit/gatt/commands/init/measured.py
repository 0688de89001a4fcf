"""How `gatt init` takes the prompts of a file apart: what becomes of each part that a reader sees."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from gatt.commands.init.rule import SentencePart
from gatt.commands.init.rules import find_parts, read_table
from gatt.verifiers import check_all, overall

IN_ROLE = ("It should be there tomorrow.",)
OUT_OF_ROLE = ("As an AI language model, I cannot be anybody.",)


def read_prompts(path: Path) -> list[dict[str, Any]]:
    prompts: list[dict[str, Any]] = yaml.safe_load(path.read_text("utf-8"))
    return prompts


def lost_words(prompt: str, parts: Sequence[SentencePart]) -> list[str]:
    """Return the words of a prompt that stand in no part, words that ask for nothing aside."""
    kept = Counter(word for part in parts for word in _words(part.about))
    common = set(read_table()["stopwords"].split())
    return [word for word in _words(prompt) if word not in common and word not in kept]


def outcomes(prompt: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield each part as the reader has it, what became of it, and why.

    "rule" is judged rightly in every reply, "asked" at turns that ask for it, "named" as not judged (a
    judge is asked by its rubric, if there is one); "wrong" is judged by rules that pass bad replies or
    refuse good ones, "lost" is in no part.
    """
    parts = find_parts(" ".join(prompt["prompt"].split()))
    for seen in prompt["parts"]:
        its = _parts_of(seen["part"], prompt["prompt"], parts)
        yield seen["part"], *_outcome(seen, its)


def _outcome(seen: Mapping[str, Any], its: Sequence[SentencePart]) -> tuple[str, str]:
    if not its or lost_words(seen["part"], its):
        return "lost", ", ".join(lost_words(seen["part"], its))
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
    refused = [r for r in good if overall(check_all(specs, r)) == "fail"]
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
        if place and min(place[1], end) - max(place[0], start) > 0:
            there.append(part)
        elif not place and _share(part.about, seen) >= 0.5:
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
