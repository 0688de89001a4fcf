"""An adapter as a folder that transformers, vLLM and `transformers serve` load as it is."""
