"""The code of one worker: it loads the model once and works on one item after the other."""

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

    Loading is a call of its own, so that a mistake in it comes back as an error:
    a constructor that fails would look like a worker that was killed.
    """

    def __init__(
        self,
        make: Callable[[], Callable[[Any], Any]],
        expected: Mapping[str, str | None],
        kind_files: Sequence[KindFile] = (),
    ) -> None:
        """Store what `start` needs.

        Args:
            make: loads the model and returns the function that works on an item.
            expected: versions of the packages where the run was started.
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
            GenerationError: the error and the machine's name; also where the machine
                has other versions, which would give other results.
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
                f"{name} {found[name]} is installed there, expected {self._expected[name]} as where the "
                "run was started: install the same versions on every machine of the cluster"
            )
        use_kind_files(self._kind_files)
        return self._make()

    def _with_host(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except GattError as error:
            raise GenerationError(f"worker on {socket.gethostname()}: {error}") from None
