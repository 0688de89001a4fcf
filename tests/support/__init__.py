"""Stand-ins for models, tokenizers and data that several tests share."""
