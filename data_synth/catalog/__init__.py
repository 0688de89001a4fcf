"""Checking the catalogue, and asking a model for new entries."""
