"""Dialogues, instructions, samples, and the two views of a dialogue."""
