"""Both computations of attention to shared prefixes, against one plain softmax in double precision."""

from __future__ import annotations

import pytest
import torch

from gatt.generation.local.prefix import row_attention
from gatt.generation.local.prefix.row_attention import RowMask
from gatt.generation.local.prefix.stack import PrefixStack, Read

KV_HEADS, REPEAT, SIZE, OWN, SCALE = 2, 3, 8, 5, 0.3
SPANS = ((0, 3, 7), (3, 4, 4))
"""Start, end and tokens of each prefix; the last two of six rows share nothing."""
ROWS, LONGEST = 6, 7
WAYS = {"joined": "_joined", "side by side": "_side_by_side"}


def inputs(columns: int, seed: int) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(seed)
    query = torch.randn(ROWS, KV_HEADS * REPEAT, columns, SIZE, dtype=torch.float64)
    own = torch.randn(2, ROWS, KV_HEADS, OWN, SIZE, dtype=torch.float64)
    prefixes = torch.randn(2, len(SPANS), KV_HEADS, LONGEST, SIZE, dtype=torch.float64)
    seen = torch.rand(ROWS, columns, LONGEST + OWN) < 0.6
    seen[..., LONGEST] = True
    for start, end, length in SPANS:
        seen[start:end, :, length:LONGEST] = False
    seen[1, :, :LONGEST] = False
    seen[4:, :, :LONGEST] = False
    return query, own, prefixes, seen


def plain(query, own, prefixes, seen, softcap=None) -> torch.Tensor:
    shared = torch.zeros(2, ROWS, KV_HEADS, LONGEST, SIZE, dtype=query.dtype)
    for index, (start, end, _) in enumerate(SPANS):
        shared[:, start:end] = prefixes[:, index, None]
    keys, values = torch.cat((shared, own), dim=3).repeat_interleave(REPEAT, dim=2)
    scores = query @ keys.transpose(-1, -2) * SCALE
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    weights = scores.masked_fill(~seen[:, None], -torch.inf).softmax(-1)
    return (weights @ values).transpose(1, 2)


def ours(
    monkeypatch, way, query, own, prefixes, seen, softcap=None, *, together=False
) -> torch.Tensor:
    def read(first: int, end: int, num_prefixes: int, num_rows: int, num_tokens: int) -> Read:
        places = torch.arange(end - first)
        rows = torch.arange(first, end)
        return Read(PrefixStack({}), 0, num_prefixes, num_tokens, rows, places, num_rows)

    if together:
        # The second prefix is padded to the first, and has two places more than rows.
        shared = [(read(0, 4, 2, 3, LONGEST), tuple(prefixes))]
    else:
        shared = [
            (read(start, end, 1, end - start, num), tuple(p[i, None, :, :num] for p in prefixes))
            for i, (start, end, num) in enumerate(SPANS)
        ]
    if way == "side by side" and softcap is None:
        # On a CPU the other way would be taken.
        monkeypatch.setattr(
            row_attention,
            "_joined",
            lambda *args: row_attention._side_by_side(*args, softcap=None),
        )
    mask = RowMask(seen, LONGEST, REPEAT, query.dtype)
    return row_attention.row_attention(
        query, (own[0], own[1]), shared, mask, scale=SCALE, softcap=softcap
    )


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_it_is_one_softmax_over_shared_and_own_tokens(monkeypatch, way, columns, together, seed):
    made = inputs(columns, seed)
    found = ours(monkeypatch, way, *made, together=together)
    torch.testing.assert_close(found, plain(*made), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("together", [True, False])
def test_scores_of_both_parts_are_soft_capped(monkeypatch, columns, together):
    made = inputs(columns, 5)
    found = ours(monkeypatch, "side by side", *made, softcap=0.5, together=together)
    torch.testing.assert_close(found, plain(*made, softcap=0.5), rtol=1e-10, atol=1e-10)
    assert not torch.allclose(found, plain(*made))


@pytest.mark.parametrize("way", WAYS)
def test_masked_values_do_not_matter(monkeypatch, way):
    query, own, prefixes, seen = inputs(2, 9)
    # A column after every fork, which no row of the prefix sees.
    seen[0:3, :, 6] = False
    expected = plain(query, own, prefixes, seen)
    prefixes[:, 0, :, 6] = 1e30
    torch.testing.assert_close(
        ours(monkeypatch, way, query, own, prefixes, seen), expected, rtol=1e-10, atol=1e-10
    )


def test_scores_of_half_precision_are_not_rounded(monkeypatch) -> None:
    """Rounded to bfloat16, scores of this size would put three times as much on the output."""
    query, own, prefixes, seen = inputs(1, 0)
    narrow = [t.bfloat16() for t in (20 * query, own, prefixes)]
    expected = plain(*(t.double() for t in narrow), seen)
    found = ours(monkeypatch, "side by side", *narrow, seen)
    assert found.dtype == torch.bfloat16
    assert (found - expected).norm() < 2e-3 * expected.norm()
