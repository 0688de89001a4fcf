"""Environment variables that must be set before transformers, TRL or torch are imported."""

from __future__ import annotations

import logging
import os
from typing import Final

DEFAULTS: Final = {
    # TRL sends the trainer's class name and versions to the hub unless told not to.
    "HF_HUB_DISABLE_TELEMETRY": "1",
    # Otherwise every fork of a data loader worker prints a warning about possible deadlocks.
    "TOKENIZERS_PARALLELISM": "false",
}


def prepare_environment() -> None:
    """Set `DEFAULTS` where the user has not set them; call it first in every entry point."""
    # PEFT imports it wherever it is installed, and it then asks for another package.
    logging.getLogger("bitsandbytes.backends.cpu.ops").setLevel(logging.ERROR)
    for name, value in DEFAULTS.items():
        os.environ.setdefault(name, value)
