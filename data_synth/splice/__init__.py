"""Samples with a change of the instruction, made without sampling."""
