"""Servers that speak the OpenAI protocol: what they take, how they fail, who is asked what and when."""
