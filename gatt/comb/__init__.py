"""The comb: every turn of a dialogue in one sequence; packing, collator, loss."""
