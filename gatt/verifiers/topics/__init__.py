"""Rules about what a reply says: terms, questions about a topic, what it declines."""
