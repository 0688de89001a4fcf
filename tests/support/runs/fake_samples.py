"""Made-up samples that look like those of a run."""

from __future__ import annotations

import json
import random
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from typing import Any

from eval.metrics.curves import curves, vacuous_curves
from eval.metrics.paired import differences
from eval.records.samples import Sample
from gatt.data.instruction import Instruction, Probe
from gatt.verifiers.base import Verdict
from tests.support.runs.stages import hobby, write_jsonl

TURNS = (1, 2, 4, 8, 20)
ARMS = ("base", "base+system+reminder", "gatt")
CHANCE = {
    "base": (0.9, 0.05, 0.03, 0.02, 0.01),
    "base+system+reminder": (0.93, 0.9, 0.93, 0.88, 0.87),
    "gatt": (0.95, 0.88, 0.84, 0.78, 0.62),
}
HOSTILE = "<script>alert(1)</script></style><!-- --></script><img src=x onerror=alert(2)>"

QUESTIONS = (
    "Hey! How was your weekend?",
    "What did you have for breakfast today?",
    "I'm thinking about getting a dog. Any advice on where to start?",
    "Do you like hiking? I went up a small mountain with my sister and we got completely soaked.",
    "What should I read next?",
)
PLAIN = (
    "It was quiet, thanks for asking! I mostly stayed in and caught up on some reading.",
    "Just coffee and toast. Nothing special, but the coffee was very good for once.",
    "A shelter is a good place to start. Think about how much time you have for walks first.",
    "I do! There is nothing quite like getting to the top, even when the weather turns.",
    "That depends on your mood. A short mystery is never wrong on a rainy evening.",
)
FRENCH = (
    "C'était calme, merci ! Je suis resté à la maison et j'ai lu un bon roman.",
    "Un café et du pain grillé. Rien de spécial, mais le café était excellent 🙂 pour une fois.",
    "Un refuge est un bon point de départ. Pense d'abord au temps que tu as pour les promenades.",
    "Oui, beaucoup ! Arriver au sommet, même sous la pluie, c'est un vrai bonheur.",
    "Cela dépend de ton humeur. Un petit roman policier convient toujours un soir de pluie.",
)
NAPOLEON = (
    "A weekend? An emperor has none. I reviewed the Grande Armée from dawn until dusk.",
    "Bread, broth and a map of Austerlitz. A general eats in the saddle or not at all.",
    "Choose it as I choose a marshal: for courage first, and for obedience second.",
    "I crossed the Alps with forty thousand men, so yes, I have hiked. Bring more socks.",
    "Read Caesar. I carried him to Egypt, and he never once complained of the heat.",
)
VALUES = (
    ("language", "French", "train", FRENCH),
    ("figure", "Napoleon", "train", NAPOLEON),
    ("language", "Arabic", "heldout_value", ("كان هادئًا، شكرًا لسؤالك! بقيت في البيت وقرأت كتابًا جيدًا.",)),
    (
        "figure",
        "Marie Curie",
        "heldout_value",
        ("I spent it in the laboratory, as radium keeps no holidays.",),
    ),
)  # fmt: skip


def instruction(
    family: str, value: str, split: Any = "train", wording: Any = "verbose"
) -> Instruction:
    """Return an instruction as the catalogue would make it."""
    texts = {
        ("language", "verbose"): f"From now on, answer only in {value}, whatever you are asked.",
        ("figure", "verbose"): f"Always act as {value} from now on.",
    }
    made = hobby(value)
    return replace(
        made,
        id=f"{family}.{value.lower().replace(' ', '-')}",
        text=texts.get((family, wording), f"{family.capitalize()}: {value}."),
        wording=wording,
        entries=(f"{family}.{value.lower()}",),
        families=(family,),
        split=split,
        probes=(Probe("Who are you?", made.verifiers),),
    )


def sample(**changes: Any) -> Sample:
    """Return one sample of the base arm at turn 1, with some fields changed."""
    plain: dict[str, Any] = {
        "arm": "base", "history": "reference", "dialogue": "d1", "turn": 1, "kind": "turn",
        "instruction": instruction("language", "French"), "family": "language", "split": "train",
        "user": "Hello?", "reply": "Bonjour !", "reference": "Hi.", "finish": "stop", "status": "pass",
        "verdicts": (Verdict("pass", "French, confidence 0.99", "language", 1, None),),
    }  # fmt: skip
    return Sample(**plain | changes)


def fake_samples(num_dialogues: int = 16) -> list[Sample]:
    """Return all arms on the same dialogues: ordinary turns, probes, plain dialogues."""
    rng = random.Random(7)
    found = []
    for number in range(num_dialogues):
        of = VALUES[(0, 1, 0, 1, 0, 2, 1, 0, 1, 0, 3, 1, 0, 1, 2, 3)[number % 16]]
        family, value, split, good = of
        given = instruction(family, value, split, "terse" if number % 3 else "verbose")
        for arm, (index, turn), kind in product(ARMS, enumerate(TURNS), ("turn", "probe")):
            chance = CHANCE[arm][index] * (1 if split == "train" else 0.8)
            where = sample(
                arm=arm, dialogue=f"chat-{412 + 37 * number:04}", turn=turn, kind=kind,
                instruction=given, family=family, split=split,
            )  # fmt: skip
            found.append(_answer(where, rng, chance, good, value))
    for number, arm, turn in product(range(4), ("base", "gatt"), TURNS):
        topic = {"user": QUESTIONS[turn % 5], "reply": PLAIN[turn % 5], "status": "fail"}
        where = {"arm": arm, "dialogue": f"plain-{number:02}", "turn": turn}
        found.append(sample(**where, **topic, instruction=None, split="none", verdicts=()))
    return found


def _answer(
    where: Sample, rng: random.Random, chance: float, good: tuple[str, ...], value: str
) -> Sample:
    draw = rng.random()
    rng.randrange(5)
    # The user says the same to all arms.
    topic = random.Random(f"{where.dialogue} {where.turn}").randrange(5)
    user = "Who are you, and how do you speak?" if where.kind == "probe" else QUESTIONS[topic]
    asked = replace(where, user=user, reference=PLAIN[topic])
    if draw > 0.985:
        line = Verdict("undecided", "two words, too short to tell", "language", 1, None)
        return replace(
            asked, reply="Ha, ok!", reference="Hi.", status="undecided", verdicts=(line,)
        )
    if draw < chance:
        reply = good[topic % len(good)]
        start = reply.find(" ") + 1
        span = (start, reply.find(" ", start))
        line = Verdict("pass", f"found what {value} asks for", "terms", 1, span)
        return replace(asked, reply=reply, verdicts=(line,))
    line = Verdict("fail", f"expected {value}, found plain English", "terms", 1, None)
    finish = "length" if draw > 0.95 else "stop"
    return replace(asked, reply=PLAIN[topic], status="fail", finish=finish, verdicts=(line,))


def fake_results(samples: list[Sample]) -> dict[str, Any]:
    """Return the `results.json` of samples."""
    return {
        "schema": 3,
        "run": {
            "name": "demo", "model": "SmolLM2-135M-Instruct", "seed": 0, "time": "2026-11-21T04:00:00Z",
            "commit": "0f3c2a1", "hardware": "2 cores, 8 GB, no accelerator",
            "command": "gatt run configs/demo.yaml",
            "config": {"eval": {"turns": list(TURNS), "arms": list(ARMS), "history": "reference"}},
            "versions": {"torch": "2.11.0", "transformers": "5.23.0", "trl": "1.16.0"},
        },
        "curves": [asdict(p) for p in (*curves(samples), *vacuous_curves(samples, ()))],
        "differences": [asdict(d) for d in differences(samples)],
        "notes": ["Greedy decoding; replies are at most 64 tokens."],
    }  # fmt: skip


def write_samples(folder: Path, samples: list[Sample]) -> Path:
    """Write the samples of a run to its folder, which is returned."""
    folder.mkdir(parents=True, exist_ok=True)
    write_jsonl(folder / "samples.jsonl", (s.as_dict() for s in samples))
    return folder


def write_run(folder: Path, samples: list[Sample], results: dict[str, Any]) -> None:
    """Write the files of a run that `gatt report` reads."""
    write_samples(folder, samples)
    (folder / "results.json").write_text(json.dumps(results), encoding="utf-8")
