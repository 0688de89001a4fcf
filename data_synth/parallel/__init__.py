"""Synthesis in several processes."""
