"""Where dialogues come from: one small file a source, and one table of their names in `gatt.sources.config`."""
