"""Pairs of a model's own replies: a good one and a failure, at the same turn."""
