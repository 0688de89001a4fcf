"""Sub-commands `gatt catalog` and `gatt synth`."""
