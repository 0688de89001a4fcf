"""Pairs of a model's own replies: what it should say rather than what it says."""
