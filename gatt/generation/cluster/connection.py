"""The connection to a Ray cluster, and how many workers it has room for."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from gatt.errors import ConfigError
from gatt.generation.cluster.config import RayConfig


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


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Yield the `ray` module, connected; an existing connection is used and left open.

    Raises:
        ConfigError: Ray is not installed, or there is no such cluster.
    """
    ray = installed_ray()
    if ray.is_initialized():
        yield ray
        return
    # Telemetry only where the user asks for it.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    more = {"include_dashboard": False} if address == "local" else {}
    try:
        ray.init(address=address, logging_level=logging.WARNING, **more)
    except (OSError, RuntimeError, ValueError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ConfigError(
            f"ray.address is {address!r}: {reason.rstrip('.')}: expected a cluster that runs "
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
    """Return the resources of each worker, and for how many workers the cluster has room, at least 1.

    Args:
        config: settings of the user.
        resources: of the whole cluster, in Ray's units.
        has_local_model: whether each worker loads the model.
    """
    num_cpus, num_gpus = resources.get("CPU", 0.0), resources.get("GPU", 0.0)
    # All N workers of one machine must start, however small it is.
    num_sharing = (config.address == "local" and config.num_workers) or 0
    cpus, gpus = config.cpus_per_worker, config.gpus_per_worker
    if cpus is None:
        cpus = _share(num_cpus, num_sharing) if num_sharing and num_cpus else 1.0
    if gpus is None:
        gpus = 1.0 if has_local_model and num_gpus else 0.0
        if gpus and num_sharing:
            gpus = min(1.0, _share(num_gpus, num_sharing))
    room = min(num_cpus // cpus, num_gpus // gpus if gpus else math.inf)
    return {"num_cpus": cpus, "num_gpus": gpus}, max(1, int(room))


def _share(total: float, num_workers: int) -> float:
    """Return the share of each worker: whole units, or a fraction of a unit that several workers share."""
    if num_workers <= total:
        return float(total // num_workers)
    # Ray counts in ten-thousandths.
    return math.floor(10_000 / math.ceil(num_workers / total)) / 10_000
