"""What `scripts/bench_training.py` compares, and how a step is measured."""
