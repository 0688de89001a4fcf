"""Where dialogues come from: one small file a source, and one table of them in `gatt.sources.load`."""
