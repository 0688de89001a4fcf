"""Sampling all replies of a dialogue from one shared prefix."""
