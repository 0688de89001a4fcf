"""Generation: one protocol; engines for local models and for scripts."""

from gatt.generation.base import Engine, Generation, GenerationRequest, SamplingParams

__all__ = ["Engine", "Generation", "GenerationRequest", "SamplingParams"]
