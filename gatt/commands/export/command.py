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
    """Make the folder and print how to serve it."""
    config = config_from_args(ExportConfig, args)
    from gatt.commands.export.card import vllm_line
    from gatt.commands.export.write import export
    from gatt.models.adapter import adapter_rank

    result = export(config)
    how, serve = "with the adapter merged", f"transformers serve {result.folder}"
    if not config.merge:
        how = "with the adapter in adapter/"
        serve = vllm_line(str(result.folder), adapter_rank(config.adapter))
    size = f"{result.num_bytes / 1e6:,.0f} MB"
    sys.stdout.write(
        f"{result.folder}: {result.base} {how}, {result.dtype}, {size}\nserve it: {serve}\n"
    )
    return 0
