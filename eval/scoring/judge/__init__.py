"""A judge model over any engine: it decides what no rule can, and is compared with the rules."""
