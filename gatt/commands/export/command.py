"""`gatt export`: an adapter as a model that servers load."""

from __future__ import annotations

import argparse
import sys

from gatt.commands.export.config import ExportConfig
from gatt.config.arguments import add_config_arguments, config_from_args

HELP = "make a folder that transformers, vLLM and `transformers serve` load, with a model card"
TAKES_OVERRIDES = True
CONFIG = ExportConfig

_ABOUT = f"""{HELP}

  gatt export --adapter=runs/demo/train/adapter --output_dir=served --results=runs/demo
  gatt export --adapter=… --output_dir=… --dtype=bfloat16
  gatt export --adapter=… --output_dir=… --merge=false     the adapter apart, in adapter/"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `--config`; every key of `ExportConfig` can be set after it."""
    add_config_arguments(parser, ExportConfig)
    parser.description = _ABOUT


def run(args: argparse.Namespace) -> int:
    """Make the folder and say how to serve it."""
    config = config_from_args(ExportConfig, args)
    from gatt.commands.export.serving import vllm_line
    from gatt.commands.export.write import ADAPTER_FOLDER, export

    result = export(config)
    how = (
        f"{result.base} with the adapter merged"
        if config.merge
        else f"{result.base}, adapter apart"
    )
    serve = f"transformers serve {result.folder}"
    if not config.merge:
        serve = vllm_line(str(result.folder), str(result.folder / ADAPTER_FOLDER), result.rank)
    size = f"{result.num_bytes / 1e6:,.0f} MB"
    sys.stdout.write(f"{result.folder}: {how}, {result.dtype}, {size}\nserve it: {serve}\n")
    return 0
