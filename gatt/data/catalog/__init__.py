"""Reading the catalogue, choosing instructions, changing them during a dialogue."""
