"""The code of one worker: it loads the model once and then works on item after item."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gatt.errors import ConfigError, GattError, GenerationError
from gatt.runs.provenance import versions
from gatt.verifiers.own_kinds import KindFile
from gatt.verifiers.table import use_kind_files


class Holder:
    """Loads the model and works on items; Ray runs it as an actor.

    The model is loaded by `start` and not by the constructor: Ray reports an error of a constructor
    like the death of the worker.
    """

    def __init__(
        self,
        make: Callable[[], Callable[[Any], Any]],
        expected: Mapping[str, str | None],
        kind_files: Sequence[KindFile] = (),
    ) -> None:
        """Store the arguments for `start`.

        Args:
            make: loads the model and returns the function that works on an item.
            expected: versions of the packages on the machine that started the run.
            kind_files: Python files with verifiers that the run's catalogue names; they need not be
                on this machine.
        """
        self._make = make
        self._expected = dict(expected)
        self._kind_files = tuple(kind_files)
        self._work: Callable[[Any], Any] | None = None

    def start(self) -> None:
        """Load the model.

        Raises:
            GenerationError: an error of loading, or other versions of packages, which would give
                other results; names the machine.
        """
        self._work = self._with_host(self._load)

    def work(self, item: Any) -> Any:
        """Return the result for an item.

        Raises:
            GenerationError: the error and the machine's name.
        """
        work = self._work
        assert work is not None  # the pool starts a worker first
        return self._with_host(lambda: work(item))

    def _load(self) -> Callable[[Any], Any]:
        found = versions()
        if other := [name for name, version in self._expected.items() if found[name] != version]:
            name = other[0]
            raise ConfigError(
                f"{name} {found[name]} is installed, expected {self._expected[name]} as on the machine that "
                "started the run: install the same versions on every machine of the cluster"
            )
        use_kind_files(self._kind_files)
        return self._make()

    def _with_host(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except GattError as error:
            raise GenerationError(f"worker on {socket.gethostname()}: {error}") from None
