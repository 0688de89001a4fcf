"""The rule that a reply holds the answer of its turn, and what it reads: words, and numbers by value."""
