"""`off_topic`: a reply that is similar neither to the question nor to its plain reply."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from data_synth.filters.draw import Draw
from gatt.verifiers.topics.sentence_encoder import SentenceEncoder

ENGLISH = "en"


def off_topic(draws: Sequence[Draw], encoder: SentenceEncoder, least: float) -> list[bool]:
    """Return for each draw whether it ignores the question; all are encoded together.

    A reply may be similar to the question or to the dialogue's own reply: the larger
    similarity counts. What the instruction wants said (utterances, beginnings) is left
    out first. The encoder knows English only: draws under an instruction for another
    language, and replies or questions in other languages, are never off topic.

    Args:
        draws: those that passed all other filters.
        encoder: gives unit vectors.
        least: smallest similarity that is accepted, from -1 to 1.
    """
    ignores = [False] * len(draws)
    judged = [index for index, draw in enumerate(draws) if _is_known(draw)]
    texts: list[str] = []
    spans = []
    for index in judged:
        draw = draws[index]
        others = [t for t in (draw.question, draw.plain_reply) if t.strip()]
        spans.append((len(texts), len(texts) + 1 + len(others)))
        texts += [_own_part(draw), *others]
    if not texts:
        return ignores
    vectors = encoder.encode(texts)
    for index, (start, end) in zip(judged, spans, strict=True):
        ignores[index] = float((vectors[start + 1 : end] @ vectors[start]).max()) < least
    return ignores


def _is_known(draw: Draw) -> bool:
    verifiers = draw.instruction.verifiers if draw.instruction else ()
    if any(v.kind == "language" and v.params.get("language") != ENGLISH for v in verifiers):
        return False
    return bool(draw.question.strip()) and _is_english(draw.question) and _is_english(draw.text)


@lru_cache(maxsize=4096)
def _is_english(text: str) -> bool:
    # Loading the language models takes seconds, so only this filter imports them.
    from gatt.verifiers.language.rule import detector

    found = detector().detect_language_of(text)
    return found is not None and found.iso_code_639_1.name.lower() == ENGLISH


def _own_part(draw: Draw) -> str:
    if draw.instruction is None:
        return draw.text
    rest = draw.text
    for wanted in (*draw.instruction.utterances, *draw.instruction.prefills):
        rest = rest.replace(wanted, " ")
    return rest if any(c.isalnum() for c in rest) else draw.text
