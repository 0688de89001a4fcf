"""From samples to labelled rows."""
