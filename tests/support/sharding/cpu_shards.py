"""Make Accelerate shard the weights over CPU processes, as it would over GPUs.

Accelerate takes several CPU processes for MULTI_CPU, where it ignores FSDP and DeepSpeed. Here it takes
them for MULTI_GPU over gloo.

Usage:
accelerate launch --config_file configs/accelerate/fsdp2.yaml tests/support/sharding/cpu_shards.py MODULE WORDS
"""

from __future__ import annotations

import os
import runpy
import sys
from typing import Any

os.environ.setdefault("ACCELERATE_TORCH_DEVICE", "cpu")
os.environ.setdefault("DS_ACCELERATOR", "cpu")

from accelerate.state import PartialState
from accelerate.utils import DeepSpeedPlugin, DistributedType


def _backend(*_: Any, **__: Any) -> tuple[str | None, DistributedType]:
    if "LOCAL_RANK" not in os.environ:
        return None, DistributedType.NO
    return "gloo", DistributedType.MULTI_GPU


def shard_on_cpu() -> None:
    """Patch Accelerate; nothing of it may have been set up yet."""
    set_up, fill = PartialState.__init__, DeepSpeedPlugin.__post_init__

    def set_up_as_gpu(self: PartialState, cpu: bool = False, **words: Any) -> None:
        # With `bf16` the training arguments ask for the CPU, which would be MULTI_CPU again.
        set_up(self, cpu=False, **words)

    def fill_and_shard_all(self: DeepSpeedPlugin) -> None:
        fill(self)
        # DeepSpeed keeps small weights whole, which are all of a tiny model.
        self.deepspeed_config["zero_optimization"]["stage3_param_persistence_threshold"] = 0

    if os.environ.get("ACCELERATE_USE_DEEPSPEED") == "true":
        from deepspeed.ops import __compatible_ops__

        # Compiled at the first start, which takes minutes; a build that is killed leaves a lock on which
        # every later start waits. torch's own collectives do without it.
        __compatible_ops__["deepspeed_shm_comm"] = False
    PartialState._prepare_backend = _backend
    PartialState.__init__ = set_up_as_gpu
    DeepSpeedPlugin.__post_init__ = fill_and_shard_all


if __name__ == "__main__":
    shard_on_cpu()
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
