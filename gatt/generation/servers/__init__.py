"""Servers that speak the OpenAI protocol: how they are asked, and what becomes of their faults."""
