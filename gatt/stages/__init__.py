"""Stages: the file of a run, what its stages would take, and what a machine has."""
