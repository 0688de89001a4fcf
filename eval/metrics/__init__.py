"""From samples to rates with intervals: one small file a metric."""
