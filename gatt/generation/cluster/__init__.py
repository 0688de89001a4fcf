"""Work by several processes, through Ray: an extra, so no module here imports it at the top."""
