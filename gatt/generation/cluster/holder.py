"""What stands in a worker of the cluster: the model, made once, and what is done with it."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from typing import Any

from gatt.errors import ConfigError, GattError, GenerationError
from gatt.runs.provenance import versions


class Holder:
    """Makes what does the work, and does it; Ray runs it as an actor.

    Loading is a call of its own: what goes wrong in it comes back as an error,
    where a constructor that fails would look like a worker that was killed.
    """

    def __init__(
        self, make: Callable[[], Callable[[Any], Any]], expected: Mapping[str, str | None]
    ) -> None:
        """Keep what `start` will make.

        Args:
            make: loads the model and returns what does the work.
            expected: versions where the run was started.
        """
        self._make = make
        self._expected = dict(expected)
        self._work: Callable[[Any], Any] | None = None

    def start(self) -> None:
        """Load the model.

        Raises:
            GenerationError: what went wrong, with the machine's name; or the
                machine has other versions, and would give other results.
        """
        self._work = self._told(self._load)

    def work(self, item: Any) -> Any:
        """Return what the work makes of an item.

        Raises:
            GenerationError: what went wrong, with the machine's name.
        """
        work = self._work
        assert work is not None  # the pool starts a worker first
        return self._told(lambda: work(item))

    def _load(self) -> Callable[[Any], Any]:
        found = versions()
        if other := [name for name, version in self._expected.items() if found[name] != version]:
            name = other[0]
            raise ConfigError(
                f"{name} {found[name]} is installed there, expected {self._expected[name]} as where the "
                "run was started: install the same versions on every machine of the cluster"
            )
        return self._make()

    def _told(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except GattError as error:
            raise GenerationError(f"worker on {socket.gethostname()}: {error}") from None
