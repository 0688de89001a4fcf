"""Sampling from a local transformers model."""
