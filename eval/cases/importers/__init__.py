"""Cases of ours from what others made, read from a local copy: one file a benchmark."""
