"""`clipped`: a reply that stops in mid-sentence, although the model ended it itself."""

from __future__ import annotations

import re

from data_synth.filters.config import Draw

_FORMS = frozenset({"ends_with", "json_object", "wrapped"})
"""Verifiers that judge the end of a reply themselves."""
_OPEN_END = re.compile(r"(?:[,，、،(\[{（「『„]|(?<![\W_])[:：])$")
_LAST_WORD = re.compile(r"(?<!\S)([^\W\d_]+)$")
# Words that end no reply in their language, nor in any of the other languages here. Prepositions
# are left out: "something to look forward to" is a proper ending.
_DANGLING = frozenset({
    "and", "or", "the", "an", "my", "your", "our", "their", "because", "although", "whose",
    "et", "les", "aux", "parce", "und", "weil", "dass", "pero", "porque", "los", "gli", "della",
})  # fmt: skip
# A sad face is no bracket, inches and seconds are no quotation mark, "1)" opens nothing.
_NO_MARK = re.compile(r"[:;=8xX]['’]?-?[(\[{]+|(?<=\d)[\"”]|\\[\"({\[]")
_PAIRS = (("(", ")"), ("[", "]"), ("{", "}"), ("“", "”"), ("«", "»"), ("「", "」"), ("『", "』"))


def is_clipped(draw: Draw) -> bool:
    """Whether the reply breaks off: a comma, an open bracket or quotation, or "and" at its end.

    Only impossible endings count: in a chat a reply may end without a full stop. The
    verifiers of an instruction that asks for a form judge that form themselves.
    """
    instruction = draw.instruction
    if instruction and any(v.kind in _FORMS for v in instruction.verifiers):
        return False
    bare = _NO_MARK.sub(" ", draw.text)
    if _OPEN_END.search(bare):
        return True
    last = _LAST_WORD.search(draw.text)
    # A dangling word is in lower case, unlike in "Vitamin A".
    if last and last[1] in _DANGLING:
        return True
    return _has_open_pair(bare)


def _has_open_pair(bare: str) -> bool:
    if bare.count("```") % 2:
        return True
    if any(
        bare.count(opening) > bare.count(closing)
        for opening, closing in _PAIRS
        # “ opens a quotation in English and closes one in German.
        if not (opening == "“" and "„" in bare)
    ):
        return True
    low = bare.count("„")
    if low:
        return low > bare.count("“") + bare.count("”") + bare.count('"')
    return bare.count('"') % 2 == 1 and "”" not in bare
