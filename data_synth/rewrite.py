"""The dialogue's own reply, made to keep an instruction: by program where one can do it, else by the teacher.

Facts stay: a new reply without a number, name, link or code of the own reply, or with another one, is refused
(`lost_fact`, `added_fact` in `data_synth.filters`).
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from gatt.data.catalog.programs import apply_programs, shorter
from gatt.data.dialogue import Message
from gatt.data.expectation import Expectation
from gatt.data.instruction import Instruction
from gatt.data.views import JOINT
from gatt.verifiers import check_all
from gatt.verifiers.text.sentences import sentences

MOST_FORMS: Final = 400
"""Ways to bring one reply into the form that are tried."""
_CLAUSE_SHARE: Final = 0.3
"""Of added sentences, those that become a clause of the reply's last sentence, for variety."""
WORDS_FACTOR: Final = 3.0
"""Tokens of a rewritten reply that are allowed for each word of the own one: other languages take more."""
_ASK: Final = """{instruction}

A customer wrote: {message}
The answer is: {reply}

Write this answer again so that it keeps to the instruction above. Say the same, with every name, number and
link of it and no new ones. Write only the answer.{hint}"""
_MOST_EXAMPLES: Final = 2
"""Example replies that show a teacher how the instruction is kept; more would lend their content."""
_ANSWER_LABEL: Final = re.compile(
    r"(?:(?:the |my |new |rewritten |revised )*(?:answer|reply|response)(?: is)?\s*:)\s*",
    re.IGNORECASE,
)
_LABEL_LINE: Final = re.compile(r"(?P<label>[^\W\d_]+(?:['’ ][^\W\d_]+){0,4} ?:)(?:\s+|$)")
"""Up to five words and a colon: the prompt's labels in the language of the reply ("La respuesta es:")."""
_QUOTED: Final = re.compile(r'^["“](?P<text>[^"“”]+)["”]$', re.DOTALL)


def rewrite_prompt(instruction: Instruction, message: str, own: str, hint: str) -> Message:
    """Return what the teacher reads: instruction, message and reply, and that facts stay."""
    text = _ASK.format(
        instruction=instruction.text,
        message=" ".join(message.split()),
        reply=own.strip(),
        hint=JOINT + hint if hint else "",
    )
    return Message("user", text)


def hint_of(instruction: Instruction) -> str:
    """Return what the teacher also reads in a draw with a hint: two example replies, and the hint."""
    replies = [f"- {' '.join(reply.split())}" for reply in instruction.examples[1::2]]
    shown = "\n".join(("Answers to other messages that keep to it:", *replies[:_MOST_EXAMPLES]))
    return JOINT.join(filter(None, (shown if replies else "", instruction.hint)))


def tokens_needed(replies: Sequence[str], least: int) -> int:
    """Return the length limit of a call that rewrites some replies."""
    longest = max((len(reply.split()) for reply in replies), default=0)
    return max(least, round(WORDS_FACTOR * longest) + 24)


def unlabelled(text: str, own: str, instruction: str) -> str:
    """Return a drawn reply without the prompt's labels, in any language, and quotation marks around it.

    Lines before a label repeat the prompt. A label of the instruction stays, and any if the own reply has one.
    """
    plain = text.strip()
    instruction = instruction.casefold()
    label = _ANSWER_LABEL.match(plain)
    if label and label[0].strip().casefold() not in instruction and not _ANSWER_LABEL.match(own):
        plain = plain[label.end() :]
    lines = [] if _LABEL_LINE.match(own) else plain.split("\n")
    for number, line in enumerate(lines):
        while (label := _LABEL_LINE.match(line)) and label["label"].casefold() not in instruction:
            line = line[label.end() :]
            plain = "\n".join((line, *lines[number + 1 :])).strip()
    quoted = _QUOTED.match(plain)
    return quoted["text"].strip() if quoted else plain


def forms_by_program(instruction: Instruction, own: str, seed: str) -> Iterator[str]:
    """Yield what programs make of a reply so that it keeps the instruction, the nearest to it first.

    A sentence that the reply lacks is added behind it, in front of its last question, or as a clause, in one of
    the instruction's phrasings, which take turns by the seed. Where a reply is too long sentences are
    joined, then left out. Programs of the instruction come last. Nothing here is judged.
    """
    rng = random.Random(f"{seed}/program")
    utterances = rng.sample(instruction.utterances, len(instruction.utterances))
    texts = chain.from_iterable(
        _with_utterances(base, utterances, instruction) for base in (own, *shorter(own))
    )
    for number, text in enumerate(texts):
        if number >= MOST_FORMS:
            return
        made = apply_programs(instruction.programs, text) if instruction.programs else text
        if made and made != own:
            yield made


def _with_utterances(
    base: str, utterances: Sequence[str], instruction: Instruction
) -> Iterator[str]:
    """Yield a reply unchanged, then with one utterance, then with one for each rule that fails."""
    yield base
    for utterance in utterances:
        forms = list(_added(base, utterance))
        if len(forms) > 1 and random.Random(f"{base}{utterance}").random() < _CLAUSE_SHARE:
            forms[:2] = forms[1::-1]
        yield from forms
    text = base
    for utterance in utterances:
        longer = next(_added(text, utterance))
        if _num_passed(instruction, longer) > _num_passed(instruction, text):
            text = longer
    yield text


def _num_passed(instruction: Instruction, text: str) -> int:
    return sum(verdict.status == "pass" for verdict in check_all(instruction.verifiers, text))


def _added(base: str, utterance: str) -> Iterator[str]:
    """Yield a reply with an utterance: as a sentence, then as a clause."""
    said = sentences(base)
    stopped = base if base[-1:] in ".!?…" else f"{base}."
    is_asked = utterance.endswith("?")
    if stopped.endswith("?") and not is_asked:
        head = " ".join(said[:-1])
        yield " ".join(filter(None, (head, utterance, said[-1])))
        if head.endswith("."):
            yield f"{head[:-1]}, and {_clause(utterance)} {said[-1]}"
        return
    yield f"{stopped} {utterance}"
    if stopped.endswith(".") and not is_asked:
        clause = _clause(utterance)
        yield f"{stopped[:-1]}, and {clause}"
        yield f"{stopped[:-1]}; {clause}"


def _clause(utterance: str) -> str:
    """Return an utterance to stand behind a comma. It starts with a name in hardly any case."""
    clause = _FILLER.sub("", utterance)
    first = clause.partition(" ")[0]
    is_name = first in ("I", "I'm", "I'd", "I'll") or any(map(str.isupper, first[1:]))
    return clause if is_name else clause[:1].lower() + clause[1:]


_FILLER: Final = re.compile(r"^(?:By the way, |And |Also, |As always, )")


def replies_between(instruction: Instruction, expect: Expectation, seed: str) -> Iterator[str]:
    """Yield replies by program to a question of `gatt.data.speaker_turns.with_questions_between`.

    They say a fact of the speaker, or decline what a part of the instruction forbids; nothing where there is
    no phrasing.
    """
    if expect.kind == "topic":
        phrasings = tuple(
            reply
            for part in instruction.parts
            if part.about == expect.fact
            for reply in part.replies
        )
        values: tuple[str, ...] = ("",)
        company = ""
    else:
        values = instruction.facts.get(expect.fact, ("",))
        company = instruction.facts.get("company", ("",))[0]
        phrasings = _FACTS.get(expect.fact, ())
        if expect.fact == "name" and company:
            phrasings = (*_NAME_AT, *phrasings)
    rng = random.Random(f"{seed}/between")
    utterances = rng.sample(instruction.utterances, len(instruction.utterances))
    shuffled = rng.sample(phrasings, len(phrasings))
    # The first way to say a fact may be the instruction's own sentence, which no reply may repeat.
    for text, value in ((text, value) for value in values for text in shuffled):
        filled = text if expect.kind == "topic" else text.format(value=value, company=company)
        for base in (filled, *shorter(filled)):
            for longer in _with_utterances(base, utterances, instruction):
                programs = instruction.programs
                if made := apply_programs(programs, longer) if programs else longer:
                    yield made


_NAME_AT: Final = (
    "I am {value} from {company}.",
    "My name is {value}, and I work for {company}.",
    "You are talking to {value} from {company}.",
    "I'm {value}, here at {company}.",
)
_FACTS: Final = {
    "name": (
        "I am {value}.",
        "My name is {value}.",
        "You are talking to {value}.",
        "I'm {value}, and I am glad to help you.",
    ),
    "company": (
        "I work for {value}.",
        "This is {value}, so you are talking to us.",
        "I am here for {value}.",
        "I belong to the team of {value}.",
    ),
    "work": ("I work as {value}.", "I am {value}.", "As for my work, I am {value}."),
    "business": ("We are {value}.", "This is {value}.", "You are writing to {value}."),
    "home": ("I live in {value}.", "My home is in {value}.", "I am from {value}."),
    "age": ("I am {value} years old.", "I am {value}."),
    "hobby": ("I enjoy {value}.", "I love {value}.", "My hobby is {value}."),
}
"""Ways to say a fact of the speaker. "work" may need an article, which the verdict on the reply tells."""
