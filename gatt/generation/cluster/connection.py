"""The way to a Ray cluster, and how many workers it has room for."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from gatt.errors import ConfigError
from gatt.generation.cluster.config import RayConfig


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Yield the `ray` module, connected; a connection that stood before stays as it is.

    Raises:
        ConfigError: Ray is not installed, or there is no such cluster.
    """
    try:
        import ray
    except ImportError:
        raise ConfigError(
            "ray is not installed: `pip install 'ghost-attention[ray]'`, or leave `ray` out"
        ) from None
    if ray.is_initialized():
        yield ray
        return
    # As telemetry of other libraries: only where the user asks for it.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    more = {"include_dashboard": False} if address == "local" else {}
    try:
        ray.init(address=address, logging_level=logging.WARNING, **more)
    except (OSError, RuntimeError, ValueError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise ConfigError(
            f"ray.address is {address!r}: {lines[0].rstrip('.')}: expected a cluster that runs "
            "(`ray start --head` on one machine, `ray start --address=HEAD:6379` on the others), or "
            "local"
        ) from None
    try:
        yield ray
    finally:
        ray.shutdown()


def room_for(
    config: RayConfig, resources: Mapping[str, float], *, has_local_model: bool
) -> tuple[dict[str, float], int]:
    """Return what each worker asks of Ray, and how many of them the cluster has room for, at least 1.

    Args:
        config: what is asked for.
        resources: of the whole cluster, as Ray counts them.
        has_local_model: whether the model is in the worker.
    """
    gpus = config.gpus_per_worker
    if gpus is None:
        gpus = 1.0 if has_local_model and resources.get("GPU") else 0.0
    wanted = {"num_cpus": config.cpus_per_worker, "num_gpus": gpus}
    rooms = [resources.get("CPU", 0.0) // config.cpus_per_worker]
    if gpus:
        rooms.append(resources.get("GPU", 0.0) // gpus)
    return wanted, max(1, int(min(rooms)))
