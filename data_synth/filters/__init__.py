"""What disqualifies a sampled reply, whatever its instruction: one small file a filter."""

from data_synth.filters.draw import Draw
from data_synth.filters.table import FILTERS, FILTERS_VERSION, NO_ROOM, REASONS, refuse

__all__ = ["FILTERS", "FILTERS_VERSION", "NO_ROOM", "REASONS", "Draw", "refuse"]
