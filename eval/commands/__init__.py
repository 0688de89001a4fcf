"""Sub-command `gatt eval`."""
