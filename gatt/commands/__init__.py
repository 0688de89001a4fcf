"""Sub-commands of `gatt` that need only this package."""
