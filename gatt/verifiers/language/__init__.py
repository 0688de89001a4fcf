"""The rule that a reply is written in one language."""
