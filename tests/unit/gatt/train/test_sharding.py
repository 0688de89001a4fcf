"""What sharded weights refuse, in one line that says what to set."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from accelerate.utils import DistributedType
from torch.distributed.fsdp import MixedPrecisionPolicy

from gatt.errors import ConfigError
from gatt.train.config import TrackConfig
from gatt.train.sharding import refuse_ignored_launch, spreads_weights, sum_in_float32
from gatt.train.tracking import AdherenceTracker
from gatt.train.trainer import RowTrainer


@pytest.mark.parametrize(
    ("kind", "num_processes", "variables", "said"),
    [
        ("MULTI_CPU", 2, {"ACCELERATE_USE_FSDP": "true"}, ("FSDP", "ACCELERATE_USE_CPU")),
        ("MULTI_CPU", 2, {"ACCELERATE_USE_DEEPSPEED": "true"}, ("DeepSpeed", "accelerate/ddp")),
        ("NO", 1, {"ACCELERATE_USE_FSDP": "true"}, ("FSDP",)),
        ("NO", 1, {"WORLD_SIZE": "2"}, ("2 processes", "alone", "ACCELERATE_USE_CPU")),
        ("MULTI_GPU", 2, {"ACCELERATE_USE_FSDP": "true", "WORLD_SIZE": "2"}, ()),
        ("DEEPSPEED", 2, {"ACCELERATE_USE_DEEPSPEED": "true", "WORLD_SIZE": "2"}, ()),
        ("MULTI_CPU", 2, {"ACCELERATE_USE_FSDP": "false", "WORLD_SIZE": "2"}, ()),
        ("NO", 1, {}, ()),
    ],
)
def test_a_launch_that_accelerate_would_ignore(
    kind: str, num_processes: int, variables: dict[str, str], said: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    for name in ("ACCELERATE_USE_FSDP", "ACCELERATE_USE_DEEPSPEED", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    runtime = SimpleNamespace(
        distributed_type=DistributedType(kind),
        num_processes=num_processes,
        device=torch.device("cpu"),
    )
    monkeypatch.setattr("gatt.train.sharding.current_runtime", lambda: runtime)
    if not said:
        refuse_ignored_launch()
        return
    with pytest.raises(ConfigError) as refused:
        refuse_ignored_launch()
    assert all(fact in str(refused.value) for fact in said)


def accelerator(**plugins: Any) -> Any:
    return SimpleNamespace(state=SimpleNamespace(**plugins))


def test_weights_are_spread_by_fsdp_and_by_stage_3_alone() -> None:
    stages = [SimpleNamespace(zero_stage=stage) for stage in (2, 3)]
    assert [spreads_weights(accelerator(deepspeed_plugin=stage)) for stage in stages] == [
        False,
        True,
    ]
    assert spreads_weights(accelerator(fsdp_plugin=SimpleNamespace()))
    assert not spreads_weights(accelerator())


def test_what_needs_the_whole_model_is_refused_and_says_what_to_set() -> None:
    trainer = object.__new__(RowTrainer)
    trainer.accelerator = accelerator(fsdp_plugin=SimpleNamespace())
    with pytest.raises(ConfigError, match=r"track=null.*accelerate/ddp"):
        AdherenceTracker(trainer, None, TrackConfig(), None, len)  # type: ignore[arg-type]


def test_fsdp_returns_and_adds_in_float32_what_it_computes_in_bfloat16() -> None:
    low = MixedPrecisionPolicy(torch.bfloat16, torch.bfloat16, torch.bfloat16)
    plugin = SimpleNamespace(fsdp_version=2, mixed_precision_policy=low)
    sum_in_float32(accelerator(fsdp_plugin=plugin))
    assert plugin.mixed_precision_policy == MixedPrecisionPolicy(
        torch.bfloat16, torch.float32, torch.float32
    )
    with pytest.raises(ConfigError, match="fsdp_version 1: expected 2"):
        sum_in_float32(accelerator(fsdp_plugin=SimpleNamespace(fsdp_version=1)))
