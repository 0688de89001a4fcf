"""Filters that refuse a sampled reply whatever its instruction is."""

from data_synth.filters.config import Draw
from data_synth.filters.table import FILTERS, FILTERS_VERSION, NO_ROOM, REASONS, refuse

__all__ = ["FILTERS", "FILTERS_VERSION", "NO_ROOM", "REASONS", "Draw", "refuse"]
