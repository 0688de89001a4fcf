"""`gatt init`: a working start in a folder, from a model and a sentence."""
