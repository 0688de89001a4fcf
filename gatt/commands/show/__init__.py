"""`gatt show`: a sample as the trainer sees it, for people."""
