"""Metrics, one file each: which replies count, and what counts as kept."""
