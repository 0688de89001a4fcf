"""LoRA training: configuration, rows, trainer, run folder."""
