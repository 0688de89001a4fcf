"""The rule that a reply speaks as a figure or a persona."""
