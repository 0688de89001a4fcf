"""The attention of packed rows, by SDPA over the parts that see each other (`split`) or by FlexAttention."""
