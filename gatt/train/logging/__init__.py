"""Progress bar and logging integrations of a training run."""
