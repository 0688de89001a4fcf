"""The configuration of Ray workers, and `--workers N`; Ray is not imported at the top."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from typing import Any

from gatt.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class RayConfig:
    """Worker processes on a Ray cluster or this machine, each with its own model.

    Raises:
        ConfigError: a value out of its range.
    """

    address: str = "auto"
    """`auto`: the cluster that `RAY_ADDRESS` names or that runs on this machine. `local`: Ray is started on
    this machine for this run. Otherwise an address for `ray.init`, such as `10.0.0.1:6379`."""
    num_workers: int | None = None
    """Number of workers; null: as many as the cluster has room for when the run starts."""
    gpus_per_worker: float | None = None
    """GPUs of each worker; null: one if the cluster has GPUs and the model is local, else none. With
    `address: local` and `num_workers` the workers share the GPUs."""
    cpus_per_worker: float | None = None
    """Processors of each worker, and threads of torch; null: 1. With `address: local` and `num_workers` the
    workers share the processors."""

    def __post_init__(self) -> None:
        if not self.address.strip():
            raise ConfigError("address is empty: expected auto, local or one such as 10.0.0.1:6379")
        least = {"num_workers": 1, "gpus_per_worker": 0, "cpus_per_worker": 0.0001}
        for name, bound in least.items():
            value = getattr(self, name)
            if value is not None and not bound <= value < math.inf:
                raise ConfigError(f"{name} is {value}: expected at least {bound}")


def add_workers_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--workers N`, which `with_workers` reads."""
    parser.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help="use N processes on this machine, each with its own copy of the model, by Ray (`pip install "
        "'ghost-attention[ray]'`); 1 is this process alone",
    )


def with_workers(ray: RayConfig | None, num_workers: int | None) -> RayConfig | None:
    """Return the Ray settings of a run: those of the configuration, or N workers on this machine.

    `num_workers` is the value of `--workers`.

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


def installed_ray() -> Any:
    """Return the `ray` module.

    Raises:
        ConfigError: Ray is not installed.
    """
    try:
        import ray
    except ImportError:
        raise ConfigError(
            "ray is not installed: `pip install 'ghost-attention[ray]'`, or leave out `--workers` and "
            "`ray`"
        ) from None
    return ray
