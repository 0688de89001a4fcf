"""`gatt improve`: rounds in which a trained model learns from its own replies."""
