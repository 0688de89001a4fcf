"""Where dialogues come from: one small file a source, and one explicit table of their names."""

from __future__ import annotations

from gatt.sources.base import SOURCES, SourceReport, SourceRequest, load_dialogues

__all__ = ["SOURCES", "SourceReport", "SourceRequest", "load_dialogues"]
