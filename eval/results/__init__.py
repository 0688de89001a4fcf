"""results.json: curves, comparisons, notes, provenance."""
