"""What a run's targets are like, and whether they would teach a formula instead of an instruction."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from data_synth.run_folder import SampleCounts
from gatt.data.instruction import Instruction
from gatt.data.sample import KIND_NAMES, GattSample, TurnTarget, read_samples
from gatt.verifiers.text.folding import fold_text
from gatt.verifiers.text.sentences import sentences
from gatt.verifiers.text.words import words

NUM_SHOWN: Final = 5
BEGINNING_WORDS: Final = 3
LEAST_TARGETS: Final = 20
"""Fewer are shown and never refused: a share of them says nothing."""
ENOUGH_PHRASINGS: Final = 8
"""Wordings of an added sentence from which it is no formula. How evenly they are used is not looked at, but a
single sentence in more of the targets than the limit is a formula of its own."""


@dataclass
class TargetLook:
    """Shares, reasons, repetitions and examples of the targets of a run."""

    counts: SampleCounts = field(default_factory=SampleCounts)
    num_instructed: int = 0
    """Targets under an instruction; only they can be a formula."""
    beginnings: Counter[str] = field(default_factory=Counter)
    sentences: Counter[str] = field(default_factory=Counter)
    """Number of targets with each sentence. Words that the instruction prescribes count in neither counter."""
    num_stock: int = 0
    """Composed targets with a sentence of the instruction's own."""
    stock: Counter[str] = field(default_factory=Counter)
    examples: list[tuple[str, str, str]] = field(default_factory=list)
    """Message, kind and target of some turns."""

    def add(self, sample: GattSample) -> None:
        """Count one sample."""
        self.counts.add(sample)
        for user, target in zip(sample.dialogue.user_turns, sample.targets, strict=True):
            instruction = sample.instruction_at(target.turn)
            if target.reply is not None and instruction is not None:
                self._add(user, target, target.reply, instruction)

    def _add(self, user: str, target: TurnTarget, reply: str, instruction: Instruction) -> None:
        self.num_instructed += 1
        rest = _without_given(reply, instruction)
        said = [" ".join(words(sentence)).casefold() for sentence in sentences(rest)]
        said = [sentence for sentence in said if len(sentence.split()) >= BEGINNING_WORDS]
        self.sentences.update(set(said))
        first = words(rest)[:BEGINNING_WORDS]
        if len(first) == BEGINNING_WORDS:
            self.beginnings[" ".join(first).casefold()] += 1
        folded = fold_text(reply)
        stock = [u for u in instruction.utterances if fold_text(u).rstrip(" .!") in folded]
        if target.kind == "composed" and stock:
            self.num_stock += 1
            self.stock.update(stock)
        # A sample of all turns that does not depend on their number (Algorithm R).
        place = random.Random(self.num_instructed).randrange(self.num_instructed)
        shown = (user, target.kind or "sampled", reply)
        if len(self.examples) < NUM_SHOWN:
            self.examples.append(shown)
        elif place < NUM_SHOWN:
            self.examples[place] = shown

    def formula(self, limit: float) -> str | None:
        """Return in one line what formula the targets would teach, None for none.

        It is one if more than `limit` of the targets begin alike, or have a sentence in common, or were
        composed with an added sentence that has too few phrasings. Fewer than 20 targets never are.
        """
        num = self.num_instructed
        if num < LEAST_TARGETS:
            return None
        for what, counted in (("begin with", self.beginnings), ("hold", self.sentences)):
            for text, times in counted.most_common(1):
                if times > limit * num:
                    return f"{times} of {num} targets ({times / num:.0%}) {what} {text!r}"
        if self.num_stock > limit * num and len(self.stock) < ENOUGH_PHRASINGS:
            return (
                f"{self.num_stock} of {num} targets ({self.num_stock / num:.0%}) were composed with one of "
                f"{len(self.stock)} sentences, such as {self.stock.most_common(1)[0][0]!r}"
            )
        return None

    def lines(self) -> Iterator[str]:
        """Yield what the terminal shows."""
        counts = self.counts
        num = max(1, counts.num_targets)
        kinds = ", ".join(
            f"{counts.kinds[kind]} {said} ({counts.kinds[kind] / num:.0%})"
            for kind, said in KIND_NAMES.items()
            if counts.kinds[kind]
        )
        yield f"targets: {counts.num_targets} of {counts.num_turns} turns: {kinds or 'none'}"
        if self.num_stock:
            yield (
                f"  {self.num_stock} of the composed ones ({self.num_stock / num:.0%} of all) have a sentence "
                f"added, in {len(self.stock)} phrasings"
            )
        refused = ", ".join(f"{name} {n}" for name, n in counts.refused.most_common())
        gaps = ", ".join(f"{name} {n}" for name, n in counts.no_target.most_common())
        yield f"refused draws: {refused or 'none'}; turns without a target: {gaps or 'none'}"
        for what, counted in (("beginnings", self.beginnings), ("sentences", self.sentences)):
            most = [(text, n) for text, n in counted.most_common(NUM_SHOWN) if n > 1]
            shown = "; ".join(f"{n} x {text!r}" for text, n in most)
            yield f"repeated {what} of {self.num_instructed}: {shown or 'none'}"
        for user, kind, reply in self.examples:
            yield f"  [{kind}] {_short(user)} -> {_short(reply)}"


def look_at(samples: Path) -> TargetLook:
    """Return what the targets of a file are like.

    Raises:
        DataError: a row that is no sample, with file and line.
    """
    look = TargetLook()
    for sample in read_samples(samples):
        look.add(sample)
    return look


def _without_given(reply: str, instruction: Instruction) -> str:
    """Return a reply without what its instruction prescribes to the letter."""
    for spec in instruction.verifiers:
        if spec.kind in ("starts_with", "ends_with"):
            for text in spec.params.get("any_of", ()):
                reply = reply.replace(str(text), " ")
    return reply


def _short(text: str, most: int = 160) -> str:
    line = " ".join(text.split())
    printable = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
    return printable if len(printable) <= most else printable[: most - 1] + "…"
