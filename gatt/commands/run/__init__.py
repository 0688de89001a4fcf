"""`gatt run`: data, training and evaluation from one file."""
