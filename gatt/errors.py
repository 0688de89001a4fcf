"""Errors of the project. Every one a user can cause derives from `GattError`.

The command line prints a `GattError` as one line and exits with status 2. A
message says where, what was found, what was expected, and what to do.
"""

from __future__ import annotations


class GattError(Exception):
    """Root of all errors that a user can cause and mend."""


class DataError(GattError):
    """A dialogue, sample or text that breaks its contract."""


class ConfigError(GattError, ValueError):
    """A configuration file or override that cannot be used.

    Also a `ValueError`: pydantic collects those of `__post_init__` with their
    dotted place, instead of stopping at the first.
    """


class CatalogError(GattError):
    """A catalogue file, entry or composition that breaks its contract."""


class VerifierError(GattError):
    """An unknown verifier kind, or parameters that it does not take."""


class MissingPackageError(VerifierError):
    """A verifier kind needs a package that is not installed."""


class TemplateError(GattError):
    """A chat template that cannot carry the views or the labels."""


class ModelError(GattError):
    """A model or adapter that cannot be loaded or used."""


class StoreError(GattError):
    """An output folder that cannot be written, resumed, or belongs to another run."""


class StaleError(StoreError):
    """An output folder whose inputs (samples, cases, an adapter) have changed since it was made."""

    def __init__(self, message: str, parts: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.parts = parts
        """What of the folder is stale, as the stage names it; empty: all of it."""


class GenerationError(GattError):
    """A teacher, server or engine that gave no usable reply."""


class HubError(GattError):
    """The hub of models and data sets cannot be reached, or refuses."""


class TrainingError(GattError):
    """A training run that cannot start or has gone wrong (no target, NaN loss)."""


class ToldByMainError(GattError):
    """What the main process of a run reports; every other process ends without a word."""
