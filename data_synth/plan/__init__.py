"""Which dialogue gets which instruction."""
