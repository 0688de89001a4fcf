"""`--workers N` of `gatt synth` and `gatt eval`: Ray on this machine, for one run."""

from __future__ import annotations

import argparse

from gatt.errors import ConfigError
from gatt.generation.cluster.config import RayConfig
from gatt.generation.cluster.connection import installed_ray


def add_workers_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--workers N`, which `with_workers` reads."""
    parser.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help="use N processes on this machine, each with its own model, through Ray (an extra: "
        "`pip install 'ghost-attention[ray]'`); 1 is this process alone",
    )


def with_workers(ray: RayConfig | None, num_workers: int | None) -> RayConfig | None:
    """Return the Ray settings of a run: those of the configuration, or N workers on this machine.

    Args:
        ray: of the configuration.
        num_workers: value of `--workers`, or None.

    Raises:
        ConfigError: less than one worker, a configuration that also has workers, or Ray is not
            installed.
    """
    if num_workers is None:
        return ray
    if num_workers < 1:
        raise ConfigError(f"--workers is {num_workers}: expected at least 1")
    if ray is not None:
        raise ConfigError(
            "--workers with ray: expected one of them: ray.num_workers is the number of workers on a cluster"
        )
    if num_workers == 1:
        return None
    # Checked now: reading the sources may take minutes.
    installed_ray()
    return RayConfig(address="local", num_workers=num_workers)
