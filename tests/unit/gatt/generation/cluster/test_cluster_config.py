"""What says which cluster works, how it is reached, and what a worker refuses."""

from __future__ import annotations

import builtins
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from data_synth.commands import synth
from data_synth.config import SynthConfig
from data_synth.run_folder import fingerprinted as synth_fingerprinted
from eval.commands import eval as eval_command
from eval.config import EvalConfig
from eval.run import fingerprinted
from gatt.cli import main
from gatt.config.load import load_config
from gatt.errors import ConfigError, DataError, GenerationError, ModelError
from gatt.generation.cluster.config import RayConfig, with_workers
from gatt.generation.cluster.pool import EngineAnywhere, Holder, connected, room_for
from gatt.generation.config import EngineConfig
from gatt.runs.provenance import versions
from tests.support.runs.stages import write_model


@pytest.mark.parametrize("cls", [SynthConfig, EvalConfig])
def test_both_commands_take_a_cluster_by_dotted_keys(cls: type) -> None:
    """A cluster is no part of what a run is."""
    of = synth_fingerprinted if cls is SynthConfig else fingerprinted
    assert of(cls(output_dir=Path("o"))) == of(cls(output_dir=Path("o"), ray=RayConfig()))
    words = ["output_dir=out", "ray.address=10.0.0.1:6379", "ray.num_workers=8"]
    assert load_config(cls, None, words).ray == RayConfig(address="10.0.0.1:6379", num_workers=8)
    assert load_config(cls, None, words[:1]).ray is None


def test_a_worker_gets_a_gpu_where_there_are_some_and_the_model_is_local() -> None:
    machines = {"CPU": 64.0, "GPU": 8.0}
    one = {"num_cpus": 1.0, "num_gpus": 1.0}
    assert room_for(RayConfig(), machines, has_local_model=True) == (one, 8)
    assert room_for(RayConfig(), machines, has_local_model=False)[1] == 64
    assert room_for(RayConfig(), {"CPU": 4.0}, has_local_model=True) == (one | {"num_gpus": 0}, 4)
    asked = RayConfig(gpus_per_worker=0.5, cpus_per_worker=8.0)
    assert room_for(asked, machines, has_local_model=True)[1] == 8
    # A cluster that grows on demand may have nothing yet.
    assert room_for(RayConfig(gpus_per_worker=1.0), {}, has_local_model=True) == (one, 1)


@pytest.mark.parametrize(
    ("num_workers", "cpus", "gpus", "each"),
    [
        (2, 16.0, 8.0, (8.0, 1.0)),
        (3, 16.0, 1.0, (5.0, 0.3333)),
        (4, 2.0, 3.0, (0.5, 0.5)),
        (3, 2.0, 0.0, (0.5, 0.0)),
    ],
)
def test_workers_of_one_machine_share_what_it_has(num_workers, cpus, gpus, each) -> None:
    asked = RayConfig(address="local", num_workers=num_workers)
    wanted, room = room_for(asked, {"CPU": cpus, "GPU": gpus}, has_local_model=True)
    assert (wanted["num_cpus"], wanted["num_gpus"]) == each
    assert room >= num_workers


def test_without_ray_it_is_said_how_to_get_it(monkeypatch) -> None:
    real = builtins.__import__

    def missing(name: str, *words: Any, **more: Any) -> Any:
        if name == "ray":
            raise ImportError(name)
        return real(name, *words, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    way = r"pip install 'ghost-attention\[ray\]'"
    with pytest.raises(ConfigError, match=way), connected("auto"):
        pytest.fail("connected")
    with pytest.raises(ConfigError, match=way):
        with_workers(None, 2)
    assert with_workers(None, 1) is None


@pytest.mark.parametrize("command", ["synth", "eval"])
def test_both_commands_take_a_number_of_workers(command: str, monkeypatch) -> None:
    module = {"synth": synth, "eval": eval_command}[command]
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace())
    seen: list[Any] = []
    monkeypatch.setattr(module, "execute", lambda config: seen.append(config.ray) or "")
    assert main([command, "--output_dir=out", "--workers=3"]) == 0
    assert main([command, "--output_dir=out", "--ray.num_workers=5"]) == 0
    assert seen == [RayConfig(address="local", num_workers=3), RayConfig(num_workers=5)]


def test_a_cluster_that_is_not_there_is_one_line(monkeypatch) -> None:
    def init(**_: Any) -> None:
        raise ConnectionError("Could not find any.\nMore on that")

    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    ray = SimpleNamespace(init=init, is_initialized=lambda: False)
    monkeypatch.setitem(sys.modules, "ray", ray)
    with pytest.raises(ConfigError, match=r"^ray\.address is 'auto': Could not find any"):
        connected("auto").__enter__()


def test_a_worker_says_where_it_is_and_works_with_the_same_versions_only() -> None:
    def double(item: int) -> int:
        if item < 0:
            raise DataError("item -1: expected 0 or more")
        return 2 * item

    holder = Holder(lambda: double, versions())
    holder.start()
    assert holder.work(4) == 8
    with pytest.raises(GenerationError, match=r"^worker on \S+: item -1: expected 0 or more$"):
        holder.work(-1)
    other = Holder(lambda: double, versions() | {"transformers": "4.0.0"})
    with pytest.raises(
        GenerationError, match=r"^worker on \S+: transformers \S+ .*expected 4\.0\.0"
    ):
        other.start()


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What engines are made of; model and adapter stand in the working folder."""
    found: list[Any] = []
    monkeypatch.setattr(
        "gatt.generation.cluster.pool.make_engine", lambda *words: found.append(words)
    )
    here = tmp_path / "here"
    for name in ("models", "adapter"):
        (here / name).mkdir(parents=True)
    write_model(here / "models" / "llama")
    (here / "adapter" / "adapter_model.safetensors").write_bytes(b"weights")
    monkeypatch.chdir(here)
    return found


@pytest.mark.parametrize("name", ["adapter/adapter_model.safetensors", "models/llama/config.json"])
def test_other_weights_of_the_same_name_are_refused(made: list[Any], name: str) -> None:
    engine = EngineAnywhere.of(EngineConfig(model="models/llama"), {"gatt": "adapter"})
    engine()
    Path(name).write_bytes(b"others")
    place = Path(name).parent.absolute()
    with pytest.raises(ModelError, match=rf"^{place}: "):
        engine()
    assert len(made) == 1


def test_workers_that_stand_elsewhere_find_model_and_adapter(made, tmp_path, monkeypatch) -> None:
    folders = [str(Path(name).absolute()) for name in ("models/llama", "adapter")]
    engine = EngineAnywhere.of(EngineConfig(model="models/llama"), {"gatt": Path("adapter")})
    monkeypatch.chdir(tmp_path)
    engine()
    ((found, at),) = made
    assert [found.model, *at.values()] == folders
