"""Work moved to the processes of a Ray cluster, an extra: nothing here imports it at the top."""
