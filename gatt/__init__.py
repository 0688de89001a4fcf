"""Ghost Attention: views, labels, comb packing, training, generation, verifiers."""
