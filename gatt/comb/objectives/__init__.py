"""What a supervised token costs: one objective a file, all of them in `table.py`."""
