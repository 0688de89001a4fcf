"""Generation: one protocol; engines for local models, OpenAI-compatible servers, scripts."""

from gatt.generation.base import Engine, Generation, GenerationRequest, SamplingParams

__all__ = ["Engine", "Generation", "GenerationRequest", "SamplingParams"]
