"""Where dialogues come from: one small file a source, and one table of their names in `gatt.sources.config`."""

from __future__ import annotations

from gatt.sources.base import SourceReport, SourceRequest

__all__ = ["SourceReport", "SourceRequest"]
