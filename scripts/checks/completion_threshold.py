"""What the least similarity of `eval.scoring.completion` costs: answers refused, others' answers let through.

    python scripts/checks/completion_threshold.py --least 0.05 0.1 0.15 0.2

Each reply is put under its own turn (a fail is false) and under a turn of another dialogue (a pass is
false), in three sets: `human`, what somebody wrote in a chat first against what he wrote next in the
same turn; `plain`, a second draw of the embedded model for everyday questions against its first;
`instructed`, the same under a figure, hobby, persona or behaviour on every message. Degenerate replies
are left out. The dialogues are those of the evaluation part.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from rich.console import Console
from rich.table import Table

from eval.records.samples import Sample
from eval.scoring.completion import LEAST, with_completion
from gatt.data.catalog.read import load_catalog
from gatt.data.dialogue import Dialogue
from gatt.data.hash_split import Part
from gatt.data.instruction import Instruction, compose
from gatt.data.views import prompt_of_turn, sampling_view
from gatt.generation.base import GenerationRequest, SamplingParams
from gatt.generation.config import EngineConfig, make_engine
from gatt.sources import SourceRequest, load_dialogues
from gatt.sources.answered import answer_scripts
from gatt.sources.questions import make_scripts
from gatt.verifiers.text.degenerate import degenerate
from gatt.verifiers.topics.sentence_encoder import SentenceEncoder, Vectors, embedded_encoder

FAMILIES = ("figure", "hobby", "persona", "behaviour")
PART: Part = "eval"


class Remembering:
    """The embedded encoder, which is asked for every text once."""

    def __init__(self) -> None:
        self._known: dict[str, Vectors] = {}

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector a text, in order."""
        new = [text for text in texts if text not in self._known]
        self._known |= zip(new, embedded_encoder().encode(new), strict=True)
        return np.stack([self._known[text] for text in texts])


def sample(
    dialogue: Dialogue, turn: int, reply: str, reference: str, instruction: Instruction | None
) -> Sample:
    """Return what an evaluation would hold of a reply."""
    return Sample(
        arm="calibration",
        history="reference",
        dialogue=dialogue.id,
        turn=turn,
        kind="turn",
        instruction=instruction,
        family=instruction.family if instruction else "plain",
        split=instruction.split if instruction else "none",
        user=prompt_of_turn(dialogue, turn)[-1].content,
        reply=reply,
        reference=reference,
        finish="stop",
        status="undecided",
        verdicts=(),
    )


def human_replies(num_dialogues: int) -> list[Sample]:
    """Return the first line of every human reply of several lines; the others are its reference."""
    request = SourceRequest(8, 20, num_dialogues, 0)
    dialogues, _ = load_dialogues("chitchat", request, PART)
    found = []
    for dialogue in dialogues:
        for turn, reply in enumerate(dialogue.replies, start=1):
            first, _, rest = reply.strip().partition("\n")
            if first.strip() and rest.strip():
                found.append(sample(dialogue, turn, first, rest, None))
    return found


def model_replies(num_dialogues: int, seed: int) -> dict[str, list[Sample]]:
    """Return second draws of the embedded model, plain and under an instruction."""
    engine = make_engine(EngineConfig(max_rows=128))
    scripts = make_scripts(SourceRequest(5, 5, num_dialogues, seed), PART)
    params = SamplingParams(max_new_tokens=40, temperature=0.7, seed=seed)
    dialogues = [d for d in answer_scripts(engine, scripts, params) if isinstance(d, Dialogue)]
    entries = load_catalog().select(FAMILIES)
    rng = random.Random(seed)
    drawn = [compose([rng.choice(entries)], rng) for _ in dialogues]
    found: dict[str, list[Sample]] = {}
    for name in ("plain", "instructed"):
        requests, places = [], []
        for dialogue, entry in zip(dialogues, drawn, strict=True):
            instruction = entry if name == "instructed" else None
            view = sampling_view(dialogue, instruction.text if instruction else None)
            for turn, reference in enumerate(dialogue.replies, start=1):
                key = f"{name}/{dialogue.id}/{turn}"
                group = f"{name}/{dialogue.id}"
                requests.append(GenerationRequest(key, prompt_of_turn(view, turn), group=group))
                places.append((dialogue, turn, reference, instruction))
        replies = engine.generate(requests, replace(params, seed=seed + 1))
        found[name] = [
            sample(dialogue, turn, reply.text, reference, instruction)
            for reply, (dialogue, turn, reference, instruction) in zip(replies, places, strict=True)
        ]
    return found


def swapped(samples: list[Sample], rng: random.Random) -> list[Sample]:
    """Return the samples, each with the reply of another dialogue."""
    found = []
    for own in samples:
        other = rng.choice([s for s in samples if s.dialogue != own.dialogue])
        found.append(replace(own, reply=other.reply))
    return found


def share(samples: list[Sample], status: str, encoder: SentenceEncoder, least: float) -> str:
    """Return the share of a verdict among those that are decided."""
    verdicts = [s.completion for s in with_completion(samples, encoder, least)]
    decided = [v.status for v in verdicts if v and v.status != "undecided"]
    return f"{decided.count(status) / len(decided):.1%} of {len(decided)}"  # type: ignore[arg-type]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--least", type=float, nargs="+", default=[LEAST])
    parser.add_argument("--chats", type=int, default=150, help="human dialogues")
    parser.add_argument(
        "--questions", type=int, default=24, help="dialogues that the model answers"
    )
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    sets = {"human": human_replies(args.chats), **model_replies(args.questions, args.seed)}
    embedded_encoder()
    start = time.perf_counter()
    with_completion(sets["human"])
    seconds = time.perf_counter() - start
    encoder = Remembering()
    table = Table("set", "least", "own replies that fail", "others' replies that pass")
    for name, samples in sets.items():
        kept = [s for s in samples if not degenerate(s.reply)]
        others = swapped(kept, random.Random(args.seed))
        for least in args.least:
            row = (share(kept, "fail", encoder, least), share(others, "pass", encoder, least))
            table.add_row(name, f"{least:.2f}", *row)
    Console(width=100).print(table)
    Console().print(f"{len(sets['human']) / seconds:.0f} replies a second")


if __name__ == "__main__":
    main()
