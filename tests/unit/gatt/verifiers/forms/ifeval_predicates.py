"""When a line of `ifeval_deviations.yaml` explains a reply on which we and IFEval differ.

Most predicates undo one thing in the reply and nothing else: the asterisks of "**so**", the
stops of "e.g.". Such a line explains a deviation if the other side, asked about the reply without
that thing, says what we said of it as it was. The others name a property that leaves no choice.
None of them asks our rules, so that none can excuse their mistakes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.unit.gatt.verifiers.forms.ifeval_texts import (
    INFLECTED,
    SENTENCES,
    TRAPS,
    replies_by_language,
)


@dataclass(frozen=True)
class Deviation:
    """A reply on which the verdicts differ."""

    kwargs: Mapping[str, Any]
    reply: str
    ours: str
    ask: Callable[[Mapping[str, Any], str], str]
    """Returns what the other side says of any reply to the same instruction."""


Predicate = Callable[[Deviation], bool]


def undone(change: Callable[[Mapping[str, Any], str], str]) -> Predicate:
    """Return the predicate that one change of the reply brings the other side to our verdict."""

    def explains(deviation: Deviation) -> bool:
        changed = change(deviation.kwargs, deviation.reply)
        is_there = changed != deviation.reply
        return is_there and deviation.ask(deviation.kwargs, changed) == deviation.ours

    return explains


def without(pattern: str, by: str = "", flags: re.RegexFlag = re.NOFLAG) -> Predicate:
    """Return the predicate that replacing what a pattern finds makes the difference."""
    regex = re.compile(pattern, flags)
    return undone(lambda _kwargs, reply: regex.sub(by, reply).strip())


# Keywords

_WORD = re.compile(r"\w+")


def _keywords(kwargs: Mapping[str, Any]) -> list[str]:
    found: list[str] = kwargs.get("keywords") or kwargs.get("forbidden_words") or []
    return found or [kwargs["keyword"]]


def _forms(word: str) -> set[str]:
    families = ({base, *forms} for base, forms in INFLECTED.items())
    found = next((family for family in families if word in family), {word})
    return found | {f"{form}s" for form in found}


def _without_carriers(kwargs: Mapping[str, Any], reply: str) -> str:
    """Take out the words that hold a keyword and are none of its forms."""

    def shown(match: re.Match[str]) -> str:
        word = match[0].casefold()
        is_carrier = any(k in word and word not in _forms(k) for k in _keywords(kwargs))
        return "…" if is_carrier else match[0]

    return _WORD.sub(shown, reply)


def _with_base_forms(kwargs: Mapping[str, Any], reply: str) -> str:
    """Say the keyword itself wherever one of its forms stands."""
    for keyword in _keywords(kwargs):
        forms = _forms(keyword)
        reply = _WORD.sub(lambda m, f=forms, k=keyword: k if m[0].casefold() in f else m[0], reply)
    return reply


# Languages


def _is_made_of(reply: str, texts: list[str]) -> bool:
    """Whether a reply holds no letter beside some texts, whose language is known."""
    left = reply.casefold()
    for text in sorted(texts, key=len, reverse=True):
        left = left.replace(text.casefold(), "")
    return not any(map(str.isalpha, left))


def _is_english(deviation: Deviation) -> bool:
    return _is_made_of(deviation.reply, [*SENTENCES, *TRAPS])


def _is_foreign(deviation: Deviation) -> bool:
    return _is_made_of(deviation.reply, [t for ts in replies_by_language().values() for t in ts])


def _is_too_short(deviation: Deviation) -> bool:
    num_words = len(re.findall(r"[^\W\d_]+", deviation.reply))
    return 0 < num_words < 3 and deviation.ours == "undecided"


def _only_english(_kwargs: Mapping[str, Any], reply: str) -> str:
    return " ".join(sentence for sentence in SENTENCES if sentence in reply)


# Forms


def _as_prose(_kwargs: Mapping[str, Any], reply: str) -> str:
    """Give every list item without a mark at its end a full stop, and join them."""
    items = [line.removeprefix("- ") for line in reply.splitlines() if line.startswith("- ")]
    return " ".join(i if i[-1] in ".?!" else f"{i}." for i in items) if items else reply


def _without_inner_word(kwargs: Mapping[str, Any], reply: str) -> str:
    return re.sub(rf"\w+{re.escape(kwargs['end_phrase'])}$", "", reply)


def _with_whole_phrase(kwargs: Mapping[str, Any], reply: str) -> str:
    phrase = kwargs["end_phrase"]
    return re.sub(rf"{re.escape(phrase.rstrip('?'))}[?!]*$", phrase, reply, flags=re.I)


def _without_mention(kwargs: Mapping[str, Any], reply: str) -> str:
    return re.sub(rf"(?<=[^\n]) in {kwargs['section_spliter']} 7\b", "", reply)


def _without_last_heading(kwargs: Mapping[str, Any], reply: str) -> str:
    return re.sub(rf"\n\n{kwargs['section_spliter']} \d+$", "", reply)


def _is_bare_text(deviation: Deviation) -> bool:
    fenced = re.fullmatch(r"```\w*\n(.*)\n```", deviation.reply, re.DOTALL)
    return isinstance(json.loads(fenced[1] if fenced else deviation.reply), str)


def _says_more_than_the_answer(deviation: Deviation) -> bool:
    rest = re.sub(r"My answer is (?:yes|no|maybe)\.", "", deviation.reply)
    return rest != deviation.reply and bool(_WORD.search(rest))


def _says_the_same_twice(deviation: Deviation) -> bool:
    parts = re.split(r"(?<!\*)\*{6}(?!\*)", deviation.reply)
    said = [_WORD.findall(part.casefold()) for part in parts]
    said = [words for words in said if words]
    return "*******" not in deviation.reply and len(said) == 2 and said[0] == said[1]


def _is_the_request_alone(deviation: Deviation) -> bool:
    request = deviation.kwargs["prompt_to_repeat"].casefold()
    return not _WORD.search(deviation.reply.casefold().replace(request, ""))


def _closes_before_its_end(deviation: Deviation) -> bool:
    return '"' in deviation.reply[1:-1]


_ANY_MARKER = r"P\.\s?(?:P\.\s?)?S\.?"
_MARKERS = {"P.S.": r"P\.\s?S\.?", "P.P.S": r"P\.\s?P\.\s?S\.?"}


def _without_longer_marker(kwargs: Mapping[str, Any], reply: str) -> str:
    is_shorter = kwargs["postscript_marker"] == "P.S."
    return reply.replace("P.P.S.", "") if is_shorter else reply


def _without_marker(where: str) -> Predicate:
    """Return the predicate that the asked marker at some place makes the difference."""

    def change(kwargs: Mapping[str, Any], reply: str) -> str:
        spelt = _MARKERS[kwargs["postscript_marker"]]
        return re.sub(where.format(marker=spelt), "", reply, flags=re.I)

    return undone(change)


PREDICATES: dict[str, dict[str, Predicate]] = {
    "keywords:existence": {
        "part_of_another_word": undone(_without_carriers),
        "inflected": undone(_with_base_forms),
    },
    "keywords:frequency": {
        "part_of_another_word": undone(_without_carriers),
        "inflected": undone(_with_base_forms),
    },
    "keywords:forbidden_words": {"inflected": undone(_with_base_forms)},
    "language:response_language": {
        "undetectable": lambda d: not any(map(str.isalpha, d.reply)),
        "too_short": _is_too_short,
        "mixed": undone(_only_english),
        "code_and_addresses": without(r"```.*?```|www\.\S+", flags=re.DOTALL),
    },
    "length_constraints:number_sentences": {
        "list_items": undone(_as_prose),
        "abbreviation": without(r"\b(i\.e|e\.g|etc)\.", "so"),
        "mark_inside": without(r"[!?.](?=[\"')”]+ [a-z])"),
        "ellipsis": without(r"\.\.\.", ","),
    },
    "length_constraints:number_paragraphs": {
        "emphasis": without(r"\*\*\*(\w+)\*\*\*", r"\1"),
    },
    "length_constraints:number_words": {"marks_inside_words": without(r"(?<=\w)['.\-](?=\w)")},
    "length_constraints:nth_paragraph_first_word": {
        "emphasis": without(r"\*\*"),
        "blank_line_with_a_space": without(r"\n \n", "\n\n"),
        "several_blank_lines": without(r"\n{3,}", "\n\n"),
    },
    "detectable_content:number_placeholders": {
        "other_brackets": without(r"\[(?:\d+|\^\w+|\W*)\]|\[[^\]]*\](?=\()"),
    },
    "detectable_content:postscript": {
        "inside_a_sentence": without(rf"(?<=[a-z] ){_ANY_MARKER}(?= [a-z])", flags=re.I),
        "letter_of_another_word": without(r"(?<=\w)p(?=\.\s?P\.\s?S)", flags=re.I),
        "another_postscript": undone(_without_longer_marker),
        "without_stops": without(r"\bPS:", "P.S."),
        "nothing_behind": _without_marker(r"(?<=\S)\s+\W*{marker}\W*$"),
        "nothing_before": _without_marker(r"\A\W*{marker}"),
    },
    "detectable_format:number_bullet_lists": {
        "other_marks": without(r"^[+•]", "-", re.M),
        "rule": without(r"^---$", flags=re.M),
        "emphasis": without(r"^\*(?=\w)", flags=re.M),
        "number": without(r"^-(?=\d)", flags=re.M),
    },
    "detectable_format:constrained_response": {
        "more_than_the_answer": _says_more_than_the_answer,
        "letter_case": without(r"my answer is (\w+)\.", "My answer is yes.", re.I),
        "closing_mark": without(r"(My answer is [a-z]+)!?(?![.a-z])", r"\1."),
    },
    "detectable_format:number_highlighted_sections": {
        "counted_twice": without(r"\*\*\*([^*]+)\*\*\*", r"*\1*"),
        "underscores": without(r"(?<!\w)_+([^_]+)_+", r"*\1*"),
        "lone_stars": without(r"(?<!\S)\*(?=[\s.,])"),
    },
    "detectable_format:multiple_sections": {
        "mention": undone(_without_mention),
        "nothing_behind": undone(_without_last_heading),
    },
    "detectable_format:json_format": {"bare_text": _is_bare_text},
    "detectable_format:title": {"no_word": without(r"<<[^\w\n]+>>")},
    "combination:two_responses": {
        "longer_divider": without(r"\*{7,}"),
        "same_words": _says_the_same_twice,
    },
    "combination:repeat_prompt": {
        "no_answer": _is_the_request_alone,
        "emphasis": without(r"\*\*"),
        "white_space": without(r" {2,}", " "),
    },
    "startend:end_checker": {
        "part_of_another_word": undone(_without_inner_word),
        "emphasis": without(r"\*\*"),
        "closing_mark": undone(_with_whole_phrase),
    },
    "startend:quotation": {
        "curly_marks": without("[“”]", '"'),
        "emphasis": without(r"\A\*{1,3}|\*{1,3}\Z"),
        "closed_early": _closes_before_its_end,
    },
    "change_case:capital_word_frequency": {
        "single_letter": undone(
            lambda _kwargs, reply: re.sub(
                r"(?<![\w.'])[A-Z](?![\w'])(?!\.[A-Z])", lambda m: m[0].lower(), reply
            )
        ),
        "contraction": without(r"(?<=[A-Z])'(?=[A-Z])"),
    },
    "change_case:english_capital": {
        "too_short": _is_too_short,
        "english_missed": _is_english,
        "other_language_passed": _is_foreign,
    },
    "change_case:english_lowercase": {"too_short": _is_too_short, "english_missed": _is_english},
    "punctuation:no_comma": {"other_scripts": without("，", ",")},
}
"""Id -> name of a line of the table -> whether it explains a deviation."""
