"""Replies to IFEval's instructions by seeded mutation: kept, broken, nearly kept, and traps."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from tests.unit.gatt.verifiers.forms.ifeval_texts import (
    ABOUT_WORD,
    CARRIERS,
    INFLECTED,
    SENTENCES,
    TRAPS,
)

Case = tuple[dict[str, Any], str]
"""The arguments of the instruction and a reply to it."""
RELATIONS = ("at least", "less than")


def prose(rng: Random, low: int = 2, high: int = 5, traps: float = 0.1) -> str:
    """Return some sentences, at times with one that is hard to split or to count."""
    chosen = rng.sample(SENTENCES, rng.randint(low, high))
    if rng.random() < traps:
        chosen[rng.randrange(len(chosen))] = rng.choice(TRAPS)
    return " ".join(chosen)


def paragraphs(rng: Random, num: int) -> list[str]:
    """Return paragraphs of prose that share no sentence."""
    chosen = rng.sample(SENTENCES, 2 * num)
    return [f"{a} {b}" for a, b in zip(chosen[::2], chosen[1::2], strict=True)]


def dressed(rng: Random, word: str) -> str:
    """Return a word as replies show it: plain, emphasised, in capitals, in quotes."""
    return rng.choice(["{}", "{}", "**{}**", "*{}*", '"{}"']).format(
        rng.choice([word, word, word.upper(), word.capitalize()])
    )


def near(rng: Random, count: int) -> dict[str, Any]:
    """Return a number beside a count and a relation, such that both outcomes are frequent."""
    return {"number": max(1, count + rng.randint(-3, 3)), "relation": rng.choice(RELATIONS)}


def with_word(rng: Random, word: str, times: int) -> str:
    """Return prose that says a word so many times, in as many sentences."""
    about = [text.format(w=dressed(rng, word)) for text in rng.sample(ABOUT_WORD, times)]
    mixed = [*about, *rng.sample(SENTENCES, rng.randint(1, 3))]
    rng.shuffle(mixed)
    return " ".join(mixed)


def _word(rng: Random) -> tuple[str, str]:
    """Return a word, and what is said: itself, a form of it, or a word that it is part of."""
    roll = rng.random()
    if roll < 0.2:
        word = rng.choice(sorted(CARRIERS))
        return word, rng.choice(CARRIERS[word])
    if roll < 0.4:
        word = rng.choice(sorted(INFLECTED))
        pair = (word, rng.choice(INFLECTED[word]))
        return pair if rng.random() < 0.5 else (pair[1], pair[0])
    word = rng.choice(["lantern", "piano", "compass", "violet", "harbour"])
    return word, word


def existence(rng: Random) -> Case:
    word, said = _word(rng)
    reply = with_word(rng, said, rng.randint(0, 1))
    other = rng.choice(["lantern", "the", "compass"])
    return {"keywords": [word, other] if rng.random() < 0.2 else [word]}, reply


def frequency(rng: Random) -> Case:
    word, said = _word(rng)
    times = rng.randint(0, 4)
    given = near(rng, times)
    return (
        {"keyword": word, "frequency": given["number"], "relation": given["relation"]},
        with_word(rng, said, times),
    )


def forbidden_words(rng: Random) -> Case:
    word, said = _word(rng)
    return {"forbidden_words": [word, "xylophone"]}, with_word(rng, said, rng.randint(0, 1))


def letter_frequency(rng: Random) -> Case:
    reply, letter = prose(rng, 1, 3), rng.choice("aeiknoqwz")
    given = near(rng, reply.lower().count(letter))
    return (
        {"letter": letter, "let_frequency": given["number"], "let_relation": given["relation"]},
        reply,
    )


def response_language(texts: Mapping[str, Sequence[str]]) -> Callable[[Random], Case]:
    """Return the mutation for replies in several languages, given some in each."""

    def make(rng: Random) -> Case:
        code, other = rng.sample(sorted(texts), 2)
        own = list(texts[code])
        rng.shuffle(own)
        roll = rng.random()
        if roll < 0.5:
            reply = " ".join(own[: rng.randint(1, 3)])
        elif roll < 0.8:
            reply = rng.choice(texts[other])
        elif roll < 0.9:
            reply = f"{own[0]} {rng.choice(SENTENCES)} {rng.choice(SENTENCES)}"
        elif roll < 0.95:
            reply = f"{own[0]}\n\n```\nprint('hello world')\n```\nwww.example.com"
        else:
            reply = rng.choice(["OK.", "12 + 30 = 42 (a)", "Ja, ok", "42 km", "12 + 30 = 42."])
        return {"language": code}, reply

    return make


def number_sentences(rng: Random) -> Case:
    num = rng.randint(1, 5)
    if rng.random() < 0.15:
        reply = "\n".join(f"- {text.rstrip('.')}" for text in rng.sample(SENTENCES, num))
    else:
        reply = prose(rng, num, num, traps=0.35)
    given = {"number": max(1, num + rng.randint(-1, 2)), "relation": rng.choice(RELATIONS)}
    return {"num_sentences": given["number"], "relation": given["relation"]}, reply


def number_paragraphs(rng: Random) -> Case:
    num = rng.randint(1, 4)
    divider = rng.choice(["\n***\n", "\n\n***\n\n", "\n***\n", " *** ", "\n\n", "\n---\n"])
    reply = divider.join(paragraphs(rng, num))
    roll = rng.random()
    if roll < 0.15:
        reply = f"***\n{reply}\n***"
    elif roll < 0.25:
        reply = reply.replace(" the ", " ***the*** ", 1)
    elif roll < 0.32:
        reply = reply.replace("\n***\n", "\n***\n\n***\n", 1)
    return {"num_paragraphs": max(1, num + rng.choice([0, 0, 0, 1, -1]))}, reply


def number_words(rng: Random) -> Case:
    reply = prose(rng, 1, 4, traps=0.3)
    given = near(rng, len(reply.split()))
    return {"num_words": given["number"], "relation": given["relation"]}, reply


def nth_paragraph_first_word(rng: Random) -> Case:
    num = rng.randint(1, 4)
    nth, word = rng.randint(1, num), rng.choice(["However", "Today", "Sometimes"])
    blocks = paragraphs(rng, num)
    at = nth - 1 if rng.random() < 0.75 else rng.randrange(num)
    opening = rng.choice(["{}, ", "{} ", "**{}**, ", '"{}", they say. ', "{}s and more. "])
    blocks[at] = opening.format(word) + blocks[at]
    # One thing at a time, so that a deviation has one reason: the same below.
    is_plain = "*" in blocks[at] or rng.random() < 0.8
    between = "\n\n" if is_plain else rng.choice(["\n \n", "\n\n\n\n", "\n"])
    asked = num if rng.random() < 0.8 else num + 1
    given = {"num_paragraphs": asked, "nth_paragraph": nth, "first_word": word.lower()}
    return given, between.join(blocks)


def number_placeholders(rng: Random) -> Case:
    marks = ["[name]", "[your address]", "[Company Name]", "[date 2]", "[phone]"]
    traps = ["[1]", "[our page](https://example.com)", "[ ]", "[^note]", "[...]"]
    num = rng.randint(0, 4)
    chosen = rng.sample(marks, num)
    if rng.random() < 0.3:
        chosen += rng.sample(traps, rng.randint(1, 2))
    texts = rng.sample(ABOUT_WORD, len(chosen))
    parts = [text.format(w=mark) for text, mark in zip(texts, chosen, strict=True)]
    return {"num_placeholders": rng.randint(1, 4)}, " ".join([*parts, prose(rng)])


def postscript(rng: Random) -> Case:
    marker = rng.choice(["P.S.", "P.P.S"])
    used = rng.choice([marker, marker, "P.S.", "P.P.S.", "P. S.", "p.s.", "PS:", "**P.S.**", ""])
    break_, text = rng.choice(["\n\n", "\n", " "]), rng.choice(SENTENCES)
    tail = f"{break_}{used} {text if rng.random() < 0.9 else ''}" if used else ""
    body = "" if rng.random() < 0.05 else prose(rng, 1, 3)
    if body and rng.random() < 0.05:
        tail = f" I nearly forgot the {marker} that you asked for."
    return {"postscript_marker": marker}, f"{body}{tail}".strip()


def number_bullet_lists(rng: Random) -> Case:
    num = rng.randint(1, 5)
    mark = rng.choice(["* ", "- ", "* ", "- ", "  * ", "+ ", "• ", "1. "])
    items = [mark + text for text in rng.sample(SENTENCES, num)]
    if mark.strip() in "*-" and rng.random() < 0.35:
        items.append(rng.choice(["---", "*So* it is.", "**Note:** that is all.", "-5 degrees."]))
    head = "Here is what I would do:\n" if rng.random() < 0.5 else ""
    return {"num_bullets": max(1, num + rng.choice([0, 0, 0, 1, -1]))}, head + "\n".join(items)


def constrained_response(rng: Random) -> Case:
    option = rng.choice(["My answer is yes.", "My answer is no.", "My answer is maybe."])
    if rng.random() < 0.5:
        text = rng.choice(SENTENCES)
        return {}, rng.choice([f"{option} {text}", f"{text} {option}", "Yes.", text])
    changes = [str, str, str, str.lower, str.upper, lambda o: o.rstrip("."), lambda o: o[:-1] + "!"]
    frames = ["{}", "{}\n", " {}", "\n\n{}", '"{}"', "“{}”", "'{}'", "({})", "**{}**", "*{}*",
              "***{}***", "__{}__", "> {}", "- {}", "# {}"]  # fmt: skip
    return {}, rng.choice(frames).format(rng.choice(changes)(option))


def number_highlighted_sections(rng: Random) -> Case:
    num = rng.randint(0, 4)
    words = ["lantern", "old bridge", "compass", "quiet path", "harbour"]
    mark = rng.choice(["*{}*", "*{}*", "**{}**", "***{}***", "_{}_", "__{}__", "* {} *", "*{}*"])
    chosen = [mark.format(word) for word in rng.sample(words, num)]
    texts = rng.sample(ABOUT_WORD, num)
    reply = " ".join([t.format(w=w) for t, w in zip(texts, chosen, strict=True)] + [prose(rng)])
    if mark in ("*{}*", "**{}**", "* {} *") and rng.random() < 0.3:
        reply = f"* {reply}\n* It is 2 * 3 * 4 steps."
    return {"num_highlights": rng.randint(1, 4)}, reply


def multiple_sections(rng: Random) -> Case:
    num, marker = rng.randint(1, 4), rng.choice(["Section", "SECTION", "Day"])
    used = marker if rng.random() < 0.85 else rng.choice([marker.swapcase(), "Part"])
    head = rng.choice(["{} {}\n", "{} {}: ", "## {} {}\n", "**{} {}**\n", "{}{}\n"])
    blocks = [head.format(used, i + 1) + text for i, text in enumerate(paragraphs(rng, num))]
    roll = rng.random()
    if roll < 0.15:
        blocks[-1] += f" More of it is in {marker} 7 of the book."
    elif roll < 0.25:
        blocks.append(f"{marker} {num + 1}")
    return {"section_spliter": marker, "num_sections": rng.randint(1, 4)}, "\n\n".join(blocks)


def json_format(rng: Random) -> Case:
    text = prose(rng, 1, 2)
    value: Any = rng.choice([{"answer": text}, [text, "so"], {"a": {"b": [text]}}, text])
    spelt = json.dumps(value, indent=rng.choice([None, 2]))
    broken = [spelt[:-1], spelt.replace('"', "'"), f"Here it is: {spelt}", text, f"{spelt}\nSo?"]
    fenced = [f"```json\n{spelt}\n```", f"```\n{spelt}\n```", f"```JSON\n{spelt}\n```"]
    return {}, rng.choice([spelt, rng.choice(fenced), rng.choice(broken)])


def title(rng: Random) -> Case:
    marks = [
        "<<{}>>",
        "<<{}>>",
        "**<<{}>>**",
        "# <<{}>>",
        "<< {} >>",
        "<{}>",
        "# {}",
        "<<{}",
        "«{}»",
    ]
    name = rng.choice(["The Quiet Path", "A cup of tea", "Seven rules", "", "***"])
    return {}, f"{rng.choice(marks).format(name)}\n\n{prose(rng)}"


def two_responses(rng: Random) -> Case:
    parts = paragraphs(rng, rng.choice([1, 2, 2, 2, 3]))
    if rng.random() < 0.15:
        parts[-1] = rng.choice([parts[0], parts[0].upper(), parts[0].rstrip(".") + "!"])
    divider = rng.choice(["\n******\n", "\n\n******\n\n", " ****** ", "\n***\n", "\n******\n"])
    reply = divider.join(parts)
    roll = rng.random()
    if roll < 0.1:
        reply = f"******\n{reply}\n******"
    elif roll < 0.16:
        reply = reply.replace("******", "******\n******", 1)
    elif roll < 0.22:
        reply = reply.replace("******", "*******", 1)
    return {}, reply


def repeat_prompt(rng: Random) -> Case:
    prompt = rng.choice(SENTENCES[:20])
    answer = prose(rng, 1, 2)
    told = {"p": prompt, "u": prompt.upper(), "a": answer, "c": prompt[:-1] + " indeed."}
    told["w"] = prompt.replace(" ", "  ", 1)
    patterns = ["{p} {a}", "{p}\n\n{a}", "{u} {a}", "{a}", '"{p}" {a}', "{c} {a}", "So: {p} {a}",
                "{p}", "**{p}** {a}", "{w} {a}"]  # fmt: skip
    return {"prompt_to_repeat": prompt}, rng.choice(patterns).format(**told)


def end_checker(rng: Random) -> Case:
    phrase = rng.choice(["Any other questions?", "art", "That is all", "Is there anything else?"])
    ends = ["{b} {p}", "{b} {p}", "{b}\n\n{p}", "{b} **{p}**", '{b} "{p}"', "{b}", "{p} {b}",
            "{b} {l}", "{b} {p}!", "{b} {p} Thanks."]  # fmt: skip
    body = prose(rng, 1, 3)
    if phrase == "art" and rng.random() < 0.4:
        return {"end_phrase": phrase}, f"{body} And that is only the start"
    told = {"b": body, "p": phrase, "l": phrase.lower().rstrip("?")}
    return {"end_phrase": phrase}, rng.choice(ends).format(**told)


def quotation(rng: Random) -> Case:
    text, more = prose(rng, 1, 3, traps=0), rng.choice(SENTENCES)
    marks = ['"{t}"', '"{t}"', '"{t}"', "“{t}”", "'{t}'", "{t}", '"{t}', '"{t}" {m}', '{m} "{t}"',
             '"{t}" he said. "{m}"', '**"{t}"**']  # fmt: skip
    return {}, rng.choice(marks).format(t=text, m=more)


def capital_word_frequency(rng: Random) -> Case:
    if rng.random() < 0.5:
        # No word of one letter, hence contractions may be in capitals.
        words = re.sub(r"\b[AI]\b", "One", prose(rng, 1, 3, traps=0)).split()
        several = [index for index, word in enumerate(words) if len(word) > 1]
        changed = [index for index in several if "'" in words[index]] * 3 + several
    else:
        words = prose(rng, 1, 3, traps=0.4).split()
        changed = [index for index, word in enumerate(words) if "'" not in word]
    chosen = set(rng.sample(changed, min(rng.randint(0, 6), len(changed))))
    for index in chosen:
        words[index] = words[index].upper()
    given = near(rng, len(chosen))
    return (
        {"capital_frequency": given["number"], "capital_relation": given["relation"]},
        " ".join(words),
    )


def english_case(
    change: Callable[[str], str], texts: Mapping[str, Sequence[str]]
) -> Callable[[Random], Case]:
    """Return the mutation for English in one case."""

    def make(rng: Random) -> Case:
        roll = rng.random()
        if roll < 0.5:
            return {}, change(prose(rng, 1, 3))
        if roll < 0.65:
            return {}, change(prose(rng, 1, 2)) + " " + rng.choice(SENTENCES)
        if roll < 0.85:
            return {}, prose(rng, 1, 3)
        if roll < 0.97:
            return {}, change(rng.choice(texts[rng.choice(["fr", "es", "de", "it", "pl"])]))
        return {}, change(rng.choice(["Ok.", "No, 42.", "Yes!"]))

    return make


def no_comma(rng: Random) -> Case:
    reply = prose(rng, 1, 4).replace(",", "")
    if rng.random() < 0.65:
        words = reply.split()
        words[rng.randrange(len(words))] += rng.choice([",", ",", ",", "，", ";", " -"])
        reply = " ".join(words)
    return {}, reply
