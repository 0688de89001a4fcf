"""What an evaluation reads and writes: cases, suites, replies."""
