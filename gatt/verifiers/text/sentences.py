"""Sentences of a reply: split by `sentencex`, with the traps of chat text mended around it.

Wikimedia's library knows abbreviations, initials, decimals and the stops of all scripts. It
gets one block at a time, as it knows neither a single list item nor a heading, and in each
block what would mislead it is written over, length for length:

- quotation marks, brackets and emphasis: a whole quotation counts as one sentence there,
  and closing asterisks go to the next one;
- "Oh !", "Really?! no": single marks behind a letter are all that it takes for sure;
- "approx. 5 km", "Fort is Ft. Worth": more abbreviations than it knows;
- "He told me. I left.": "me", "no", "ok" and others are abbreviations there;
- "Mr. Right", whose name is a word that often starts a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache, partial

import sentencex

_ITEM = re.compile(r"[ \t>]*(?:[-*•+–]|\d{1,3}[.)]|#{1,6})[ \t]")
_HEADING = re.compile(r"[ \t>]*#{1,6}[ \t]")

_GO_ON = r"(?:Mr|Mrs|Ms|Mx|Dr|Prof|Mme|Mlle|Sra|Dra|Sig|e\.g|i\.e)"
_BEFORE_A_NUMBER = r"(?:approx|est|vol|ch|eq|max|min|avg|apt|ste|tel|ext|chap|par|pt|ver)"
# What is written over, with what, in this order.
_MISLEADING = tuple(
    (re.compile(pattern), filler)
    for pattern, filler in (
        (r"\A[ \t>]*(?:[-*•+–]|\d{1,3}[.)]|#{1,6})(?=[ \t])", " "),
        (r"[\"“”„«»()\[\]{}「」『』（）*~`]", " "),
        (r"(?<![^\W_])['_‘’]+|['_‘’]+(?![^\W_])", " "),
        # It takes every white space for one byte and panics inside a longer one, and it takes
        # no lone surrogates.
        (r"[^\S\n]", " "),
        (r"[\ud800-\udfff]", "x"),
        (r"(?<![ !?.])[ !?.]+(?=[!?])", "x"),
        (rf"\b{_GO_ON}\.(?= +[^\W\d_a-z])", "x"),
        (r"\b(?:i\. ?e|e\. ?g|Ft|Apt|Ste)\.(?= )", "x"),
        (rf"\b(?i:{_BEFORE_A_NUMBER})\.(?= +\d)", "x"),
        (r"\b(?i:me|no|ok|art|id|la|yum)(?=\.\s+[^\s\d])", "x"),
        # Glued to the word before it: a letter alone is an initial.
        (r"(?<=[a-z,]) [Ii](?=\.\s)", "x"),
        (r"\b(?!(?:vs|cf)\.)(?:[^\W\d_]{2,}|[A-Z]\.[A-Z]|[ap]\.m)(?=\.\s+I(?:['’]\w+)?\s)", "x"),
    )
)
_CLOSERS = re.compile(r"[」』）]+|[\"'”’»)\]}*_~`]*(?![^\W_])")
_EMPHASIS = "*_~`"
_ELLIPSIS = re.compile(r"(?:\.\.|…)[\"'”’»)\]}*_~`]*$")
_NEXT_WORD = re.compile(r"[\W_]*(?P<word>[^\W_][\w'’]*)")
# 「そうですか。」と言った is one sentence.
_QUOTED_IN_JAPANESE = re.compile(r"\s*(?:と|って)")
_NUMBER_ALONE = re.compile(r"\s*\d{1,3}[.)]\s*")
_HAS_WORD = re.compile(r"[^\W_]")
# With its only stop at the end there is nothing to split.
_ONE_SENTENCE = re.compile(r"[A-Za-z0-9 ,'’\-]*+[.!?]?\s*")
_LOOKBACK = 24


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the span of every sentence: [start, end) without outer white space.

    A blank line, a list item and a heading end a sentence too, with or without a
    full stop. Pieces without a letter or digit (an emoji, a dash) are none.
    """
    return list(_sentence_spans(text))


def sentence_at(text: str, place: int) -> tuple[int, int]:
    """Return the span of the sentence around a place; of the whole text where it is in none."""
    spans = ((start, end) for start, end in sentence_spans(text) if start <= place < end)
    return next(spans, (0, len(text)))


def sentences(text: str) -> list[str]:
    """Return the sentences of a text."""
    return [text[start:end] for start, end in sentence_spans(text)]


@lru_cache(maxsize=256)
def _sentence_spans(text: str) -> tuple[tuple[int, int], ...]:
    spans: list[tuple[int, int]] = []
    for start, end in _blocks(text):
        left = start
        for right in (*(start + stop for stop in _stops(text[start:end])), end):
            piece = text[left:right]
            # "First do this. 2. Then do that."
            if _NUMBER_ALONE.fullmatch(piece) and right < end:
                continue
            if _HAS_WORD.search(piece):
                indent = len(piece) - len(piece.lstrip())
                spans.append((left + indent, left + len(piece.rstrip())))
            left = right
    return tuple(spans)


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of what no sentence crosses: paragraphs, list items, headings."""
    start = position = 0
    is_over = False
    for line in text.splitlines(keepends=True):
        if is_over or not line.strip() or _ITEM.match(line):
            yield start, position
            start = position
        is_over = bool(_HEADING.match(line))
        position += len(line)
    yield start, position


def _stops(block: str) -> Iterator[int]:
    """Yield where the sentences of a block end, behind their closing marks."""
    if _ONE_SENTENCE.fullmatch(block) or not _HAS_WORD.search(block):
        return
    for boundary in sentencex.get_sentence_boundaries("en", _written_over(block)):
        stop = boundary["start_index"] + len(boundary["text"].rstrip())
        closers = _CLOSERS.match(block, stop)
        end = closers.end() if closers else stop
        if not _goes_on(block, stop, end):
            yield end


def _written_over(block: str) -> str:
    for pattern, filler in _MISLEADING:
        block = pattern.sub(partial(_fill, filler), block)
    return block


def _fill(filler: str, match: re.Match[str]) -> str:
    return filler * len(match[0])


def _goes_on(block: str, stop: int, end: int) -> bool:
    """Whether a sentence goes on behind its mark: "Well... maybe", "Stop!" he said."""
    closed = block[stop:end].strip(_EMPHASIS)
    if closed and _QUOTED_IN_JAPANESE.match(block, end):
        return True
    following = _NEXT_WORD.match(block, end)
    if not following:
        return False
    word = following["word"]
    if closed and word[0].islower():
        return True
    is_ellipsis = _ELLIPSIS.search(block[max(0, end - _LOOKBACK) : end])
    return bool(is_ellipsis) and (word[0].islower() or re.split("['’]", word)[0] == "I")
