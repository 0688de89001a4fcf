"""What the report reads from run folders."""
