"""Files of an evaluation: cases, suites, replies."""
