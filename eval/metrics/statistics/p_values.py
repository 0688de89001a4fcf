"""P-values of paired differences: the exact sign-flip test, and Holm's adjustment.

If two arms were the same, each dialogue could as well have come out with its two arms exchanged: the
sign of its difference is a coin. The p-value is the share of all sign patterns whose sum is at least
as far from zero as the observed one (Fisher's randomisation test). With one reply a dialogue that is
McNemar's exact test.

All patterns are counted, however many (`scipy.stats.permutation_test` draws some of them): the sum of
+d or -d over the groups has the characteristic function prod cos(d * angle), and its inverse Fourier
transform is the whole distribution, exact to about 1e-14.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from eval.metrics.statistics.clustered import MIN_INSTRUCTIONS, Codes, Ways, num_groups


def sign_flip_p_value(differences: npt.NDArray[np.int64], ways: Ways) -> float:
    """Return the two-sided p-value of "the arms are the same".

    The test is made over dialogues and over instructions, and the larger p-value counts: a gain must
    show over the instructions as well. Fewer than `MIN_INSTRUCTIONS` are taken as given, not tested.

    Args:
        differences: -1, 0 or 1 for each pair of replies; none gives 1.
        ways: the same pairs.
    """
    p_value = _p_value(differences, ways.dialogue)
    if num_groups(ways.instruction) < MIN_INSTRUCTIONS:
        return p_value
    return max(p_value, _p_value(differences, ways.instruction))


def _p_value(differences: npt.NDArray[np.int64], groups: Codes) -> float:
    sums = np.abs(np.rint(np.bincount(groups, differences)).astype(np.int64))
    sizes, counts = np.unique(sums[sums > 0], return_counts=True)
    num, observed = int(counts.sum()), abs(int(differences.sum()))
    if observed == 0:
        return 1.0
    reach = int(sizes @ counts)
    num_points = 1 << (2 * reach + 1).bit_length()
    angles = 2 * np.pi * np.arange(num_points // 2 + 1) / num_points
    function = np.ones_like(angles)
    for size, count in zip(sizes, counts, strict=True):
        function *= np.cos(angles * size) ** count
    distribution = np.fft.irfft(function, num_points)
    tail = 2 * float(distribution[observed : reach + 1].sum())
    # Not below the chance of the two most extreme patterns, which rounding could undercut.
    return min(1.0, max(tail, 2.0 ** (1 - num)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return each p-value raised so that all may be read at one level together, in their order.

    Holm (1979, Scandinavian Journal of Statistics 6:65-70). scipy has the adjustment of Benjamini and
    Hochberg only.
    """
    values = np.array(p_values, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    raised = np.minimum(1.0, values[order] * np.arange(len(values), 0, -1))
    found = np.empty_like(values)
    found[order] = np.maximum.accumulate(raised)
    return [float(value) for value in found]
