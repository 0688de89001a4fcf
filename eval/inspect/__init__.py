"""The suites as tasks of Inspect."""
