"""`gatt doctor`: what this machine has and what would be chosen on it."""
