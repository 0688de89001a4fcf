"""Asking the model turn by turn."""
