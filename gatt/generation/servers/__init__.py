"""The client of servers that speak the OpenAI protocol."""
