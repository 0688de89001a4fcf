"""Configuration files: loading, overrides, help, the files that are shipped."""
