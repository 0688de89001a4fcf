"""Valid input of commands: tiny models, data, and the folders of finished runs."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from gatt.cli import main
from gatt.data.training_marks import TrainedOn, write_marks
from tests.support.models.tiny import sample, write_samples
from tests.support.models.trained import save_trained
from tests.support.runs.stages import dialogue, write_dialogues
from tests.support.texts.small_catalog import write_catalog

DIALOGUES: Final = (
    "--source.name=jsonl --source.path={dialogues} --source.min_turns=3 --source.max_turns=3"
)
SYNTH: Final = (
    "synth --output_dir={out} --num_samples=4 --teacher.mode=sample --teacher.engine.model={base} "
    "--teacher.attempts=1 --teacher.hint_attempts=0 --teacher.prefill_attempts=0 --teacher.compose=false "
    "--instructions.catalog=[{catalog}] --instructions.num_entries=[1.0] "
    "--teacher.sampling.max_new_tokens=4 --plain_fraction=1.0 --teacher.quality.degenerate=false "
    "--teacher.quality.repeated_share=null --teacher.quality.clipped=false --part=null " + DIALOGUES
)
EVAL: Final = (
    "eval --output_dir={out} --engine.model={base} --adapters.gatt={adapter} --arms=[base,gatt] "
    "--instructions.catalog=[{catalog}] --splits=[train] --num_dialogues=2 --turns=[1,2] --probe_turns=[] "
    "--sampling.max_new_tokens=4 --part=null " + DIALOGUES
)
TRAIN: Final = (
    "train --output_dir={out} --model={base} --samples=[{samples}] --max_steps=1 --report_to=none "
    "--lora.r=2"
)
PERPLEXITY: Final = (
    "perplexity --output=out.json --engine.model={base} --num_dialogues=1 " + DIALOGUES
)


def at(command: str, **slots: str) -> str:
    """Return a command with other values in some of its slots; its output folder is `out`."""
    for slot, value in {"out": "out", **slots}.items():
        command = command.replace(f"{{{slot}}}", value)
    return command


def make_world(root: Path) -> dict[str, Path]:
    """Make it below a folder and return where things are, by name."""
    base, adapter = save_trained(root)
    # Else evaluations refuse the dialogues.
    write_marks(adapter, TrainedOn.of([dialogue(99)]))
    world = {
        "base": base,
        "adapter": adapter,
        "dialogues": write_dialogues(root / "dialogues.jsonl"),
        "samples": write_samples(root / "samples.jsonl", [sample(1), sample(2)]),
        "catalog": write_catalog(root / "catalog"),
    }
    for name, command in (("synthesised", SYNTH), ("evaluated", EVAL), ("trained", TRAIN)):
        places = {key: str(place) for key, place in world.items()} | {"out": str(root / name)}
        assert main(at(command, **places).split()) == 0, name
        world[name] = root / name
    # As after a kill behind the last checkpoint.
    shutil.rmtree(world["trained"] / "adapter")
    return world
