"""Generation: one protocol; engines for local models, servers and scripts."""
