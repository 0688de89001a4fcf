"""From the vectors of a packed row to what the attention of the model computes.

`geometry` says which token sees which, once and simply. Two back ends obey it:

- `split`: SDPA over the parts of the row that see each other (CPU, any device);
- `flex`: FlexAttention with a block mask (CUDA).

`backend` registers them with transformers and chooses; `packable` says whether
a model can take packed rows at all.
"""
