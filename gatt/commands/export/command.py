"""`gatt export`: an adapter as a model that servers load."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gatt.config.arguments import add_config_arguments, config_from_args


@dataclass(frozen=True, kw_only=True)
class ExportConfig:
    """An adapter, and the folder that is made of it."""

    adapter: Path
    """Folder of the adapter, as `gatt train` leaves it."""
    output_dir: Path
    """Folder to make; it must not exist."""
    model: str | None = None
    """Its base model: a name, a folder, or a hub id; null takes the one that the adapter names."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Of the weights in the folder; auto is that of the base model. The sum is rounded to it once."""
    results: Path | None = None
    """Folder of an evaluation of this adapter (`gatt eval`); its rates go into the card."""
    license: str | None = None
    """The licence on the card, as the hub spells it (`apache-2.0`); null takes that of the base
    model's folder, where its card states one."""


HELP = "make a folder that transformers, vLLM and `transformers serve` load, with a model card"
TAKES_OVERRIDES = True
CONFIG = ExportConfig


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `--config`; every key of `ExportConfig` can be set after it."""
    add_config_arguments(parser, ExportConfig)
    parser.description = f"""{HELP}

  gatt export --adapter=runs/demo/train/adapter --output_dir=served --results=runs/demo
  gatt export --adapter=… --output_dir=… --dtype=bfloat16"""


def run(args: argparse.Namespace) -> int:
    """Make the folder and print how to serve it."""
    config = config_from_args(ExportConfig, args)
    from gatt.commands.export.write import export

    sys.stdout.write(f"{export(config)}\nserve it: transformers serve {config.output_dir}\n")
    return 0
