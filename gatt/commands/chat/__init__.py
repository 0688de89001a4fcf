"""`gatt chat`: a conversation with a verdict on every reply."""
