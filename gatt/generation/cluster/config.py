"""The configuration of Ray workers; Ray is not imported."""

from __future__ import annotations

import math
from dataclasses import dataclass

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
    """Number of processes; null: as many as the cluster has room for when the run starts."""
    gpus_per_worker: float | None = None
    """GPUs of each worker; null: one if the cluster has GPUs and the model is local, else none. With
    `address: local` and `num_workers` the workers share the GPUs."""
    cpus_per_worker: float | None = None
    """Processors of each worker, and threads of torch; null: 1. With `address: local` and `num_workers` the
    workers share the processors."""
    max_deaths: int = 3
    """Number of workers that die on the same piece of work before the run stops."""

    def __post_init__(self) -> None:
        if not self.address.strip():
            raise ConfigError("address is empty: expected auto, local or one such as 10.0.0.1:6379")
        for name in ("num_workers", "max_deaths"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"{name} is {value}: expected at least 1")
        if self.gpus_per_worker is not None and not 0 <= self.gpus_per_worker < math.inf:
            raise ConfigError(
                f"gpus_per_worker is {self.gpus_per_worker}: expected 0 or more, or null"
            )
        if self.cpus_per_worker is not None and not 0 < self.cpus_per_worker < math.inf:
            raise ConfigError(
                f"cpus_per_worker is {self.cpus_per_worker}: expected more than 0, or null"
            )
