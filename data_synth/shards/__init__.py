"""Parts of a synthesis run."""
