"""From samples to rates with intervals: the metrics, and what compares arms."""
