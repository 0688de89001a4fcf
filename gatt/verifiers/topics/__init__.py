"""Rules about what a reply says: terms, likes, questions about a topic."""
