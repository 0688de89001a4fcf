"""Synthetic dialogues: catalogue, sources, sampling, filters."""
