"""Models: loading, adapters, chat templates, digests."""
