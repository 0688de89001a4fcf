"""A server as a child of a run: started, awaited, asked, and ended with it.

It may be installed in another environment than this package (`server.python`), since vLLM pins a torch of its
own. Its output goes to a file, of which the last lines are shown where it does not start.
"""

from __future__ import annotations

import logging
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import httpx2

from gatt.errors import ConfigError, GenerationError
from gatt.generation.servers.config import ServerConfig
from gatt.models.adapter import check_adapter, largest_rank
from gatt.models.load import resolve

LINES_SHOWN: Final = 12
"""Last lines of the log of a server that did not start."""
PATIENCE: Final = 20.0
"""Seconds in which a server may end by itself."""
_POLL_SECONDS: Final = 0.5
_LOG_SECONDS: Final = 30.0
WEIGHT_SHARE: Final = 0.6
"""Of a GPU's memory, at most for weights: the rest is for keys, values and activations."""
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Wanted:
    """What a server must serve."""

    python: str
    """Interpreter of the environment in which it is installed."""
    model: str
    """Folder, or id of the hub."""
    name: str
    """Under which the base model is asked for."""
    adapters: Mapping[str, str]
    """Folder of each adapter, by the name under which it is asked for."""
    port: int
    num_gpus: int
    """That one model is spread over."""

    @property
    def rank(self) -> int:
        """The largest rank of an adapter."""
        return max((largest_rank(Path(folder)) for folder in self.adapters.values()), default=0)


def _vllm(wanted: Wanted) -> list[str]:
    words = [
        wanted.python, "-m", "vllm.entrypoints.cli.main", "serve", wanted.model,
        "--served-model-name", wanted.name, "--host", "127.0.0.1", "--port", str(wanted.port),
        "--enable-prefix-caching",
        "--enable-prompt-tokens-details", "--tensor-parallel-size", str(wanted.num_gpus),
    ]  # fmt: skip
    if not wanted.adapters:
        return words
    # One place more than adapters: on a CPU vLLM 0.32 computes a request to the base model that shares a
    # batch with one to an adapter with the adapter in the last place.
    most, rank = len(wanted.adapters) + 1, next(r for r in _RANKS if r >= wanted.rank)
    modules = [f"{name}={folder}" for name, folder in wanted.adapters.items()]
    return [
        *words, "--enable-lora", "--max-loras", str(most), "--max-lora-rank", str(rank),
        "--lora-modules", *modules,
    ]  # fmt: skip


_RANKS: Final = (8, 16, 32, 64, 128, 256, 320, 512)
"""That vLLM takes for `--max-lora-rank`."""


def _sglang(wanted: Wanted) -> list[str]:
    words = [
        wanted.python, "-m", "sglang.launch_server", "--model-path", wanted.model, "--served-model-name",
        wanted.name, "--host", "127.0.0.1", "--port", str(wanted.port), "--tp-size", str(wanted.num_gpus),
        "--enable-cache-report",
    ]  # fmt: skip
    modules = [f"{name}={folder}" for name, folder in wanted.adapters.items()]
    return [*words, "--enable-lora", "--lora-paths", *modules] if modules else words


def _transformers(wanted: Wanted) -> list[str]:
    if wanted.adapters:
        raise ConfigError(
            "server.start is 'transformers', which serves no adapters: expected vllm, or an adapter that "
            "`gatt export` merged into its model, as engine.model"
        )
    code = "from transformers.cli.transformers import main; main()"
    return [
        wanted.python, "-c", code, "serve", wanted.model, "--host", "127.0.0.1", "--port", str(wanted.port),
    ]  # fmt: skip


COMMANDS: Final[Mapping[str, Callable[[Wanted], list[str]]]] = {
    "vllm": _vllm,
    "sglang": _sglang,
    "transformers": _transformers,
}
"""By the word of `server.start`; any other is a command line with `{port}`."""


class StartedServers:
    """The servers of an engine; they end with it, with `stop`, or with this process."""

    def __init__(self, servers: Sequence[_Child], config: ServerConfig, name: str) -> None:
        self.config = replace(
            config, start=None, python=None, start_words=(), can_prefill=config.prefills,
            urls=tuple(server.url for server in servers),
        )  # fmt: skip
        """How they are asked."""
        self.name = name
        """Under which the base model is asked for."""
        self._end = weakref.finalize(self, _stop_all, servers)

    def stop(self) -> None:
        """End them; twice is once."""
        self._end()


def start_servers(
    config: ServerConfig, model: str, adapters: Mapping[str, str | Path]
) -> StartedServers:
    """Start servers of a model and its adapters, and return them when all answer.

    With several GPUs one server a GPU, or fewer where the model needs more than one.

    Raises:
        ConfigError: a server that serves no adapters.
        ModelError: model or adapter cannot be found.
        GenerationError: a server ended, or did not answer in time; the end of its log is shown.
    """
    assert config.start is not None
    place = resolve(model)
    folders = {name: str(Path(folder).absolute()) for name, folder in adapters.items()}
    for folder in folders.values():
        check_adapter(Path(folder))
    # `transformers serve` knows a model by the place that it was given.
    name = place if config.start == "transformers" else model
    each, groups = gpu_groups(place)
    servers: list[_Child] = []
    try:
        for gpus in groups:
            wanted = Wanted(
                config.python or sys.executable, place, name, folders, _free_port(), each
            )
            servers.append(_Child.start(_command(config, wanted), wanted.port, gpus))
        for server in servers:
            server.wait(config.start_seconds, log_name=config.start)
        return StartedServers(servers, config, name)
    except BaseException:
        _stop_all(servers)
        raise


def _command(config: ServerConfig, wanted: Wanted) -> list[str]:
    assert config.start is not None
    if make := COMMANDS.get(config.start):
        return [*make(wanted), *config.start_words]
    values = {
        "python": wanted.python,
        "model": wanted.model,
        "name": wanted.name,
        "port": str(wanted.port),
    }
    words = shlex.split(config.start)
    for name, value in values.items():
        # Other braces, such as those of JSON, stay.
        words = [word.replace(f"{{{name}}}", value) for word in words]
    return [*words, *config.start_words]


def gpu_groups(place: str) -> tuple[int, list[tuple[int, ...]]]:
    """Return on how many GPUs one model is spread, and the GPUs of each server; one without GPUs."""
    import torch

    num = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if not num:
        return 1, [()]
    size = sum(path.stat().st_size for path in Path(place).glob("*.safetensors"))
    memory = torch.cuda.get_device_properties(0).total_memory * WEIGHT_SHARE
    each = 1
    # Heads are divided among the GPUs, so that powers of two fit.
    while each * 2 <= num and size > each * memory:
        each *= 2
    return each, [tuple(range(start, start + each)) for start in range(0, num - each + 1, each)]


@dataclass(eq=False)
class _Child:
    """One server."""

    process: subprocess.Popen[bytes]
    url: str
    log: Path

    @classmethod
    def start(cls, command: Sequence[str], port: int, gpus: Sequence[int]) -> _Child:
        # Another environment must not find the packages of this one.
        env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        if gpus:
            env["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, gpus))
        handle, path = tempfile.mkstemp(prefix="gatt-server-", suffix=".log")
        log.warning("starting the server, log in %s: %s", path, shlex.join(command))
        try:
            with os.fdopen(handle, "wb") as stream:
                # In a session of its own: Ctrl-C is for this process, which ends it.
                process = subprocess.Popen(
                    command, stdout=stream, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                    env=env, start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            raise GenerationError(
                f"{command[0]}: {error.strerror}: expected a program that starts the server: see "
                "server.python and server.start"
            ) from None
        return cls(process, f"http://127.0.0.1:{port}/v1", Path(path))

    def wait(self, most_seconds: float, log_name: str) -> None:
        """Return once it answers.

        Raises:
            GenerationError: it ended, or the time is over.
        """
        began = logged = time.monotonic()
        while not self._answers():
            seconds = time.monotonic() - began
            status = self.process.poll()
            if status is not None or seconds > most_seconds:
                why = (
                    f"ended (status {status})"
                    if status is not None
                    else f"gave no answer in {seconds:.0f} s"
                )
                raise GenerationError(
                    f"the server of server.start ({log_name.split()[0]}) {why}: mend what its last lines "
                    f"say, or start it yourself and set server.urls. {self._tail()}"
                )
            if time.monotonic() - logged > _LOG_SECONDS:
                logged = time.monotonic()
                log.warning("waiting for the server, %.0f s (log in %s)", seconds, self.log)
            time.sleep(_POLL_SECONDS)
        log.warning("the server answers after %.0f s", time.monotonic() - began)

    def _answers(self) -> bool:
        # `transformers serve` lists the models of the hub's cache, and fails where there is none.
        base = self.url.removesuffix("/v1")
        try:
            with httpx2.Client(trust_env=False, timeout=5) as client:
                return any(
                    client.get(url).status_code == httpx2.codes.OK
                    for url in (f"{self.url}/models", f"{base}/health")
                )
        except httpx2.HTTPError:
            return False

    def _tail(self) -> str:
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        shown = " | ".join(line.strip() for line in lines[-LINES_SHOWN:] if line.strip())
        return f"The end of {self.log}: {shown or 'nothing'}"

    def stop(self) -> None:
        """End it and whatever it started."""
        for kind in (signal.SIGTERM, signal.SIGKILL):
            if self.process.poll() is None:
                try:
                    os.killpg(self.process.pid, kind)
                    self.process.wait(PATIENCE)
                except (ProcessLookupError, subprocess.TimeoutExpired):
                    continue


def _stop_all(servers: Sequence[_Child]) -> None:
    for server in servers:
        server.stop()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
