"""The report: one HTML file that opens from disk, and tables for README, model card and terminal."""
