"""95 % interval of a rate whose replies come in clusters (several per dialogue).

Replies of one dialogue resemble each other, so n of them are worth fewer than n
independent cases. The interval is Wilson's with an effective sample size, after
Korn and Graubard (1998, Survey Methodology 24:193-201) and Dean and Pagano
(2015, J. Surv. Stat. Methodol. 3:484-503, the modified Wilson interval):

1. design effect = cluster-robust variance of the rate (linearised ratio
   estimator) over the variance of as many independent replies, at least 1;
2. effective size = n / design effect * (t[n - 1] / t[k - 1])**2 for k clusters,
   the second factor paying for a variance that few clusters estimate.

Deviation: the design effect is estimated with two pseudo-dialogues of mean size
added, one that passes throughout and one that fails throughout (the idea of
Agresti and Coull, 1998). At rates near 0 and 1 the plain estimate is noise or
0/0; the pseudo-dialogues turn it into the cautious answer, that a dialogue is
worth one reply, and their weight fades with the number of dialogues. The rate
itself stays as counted.

With one reply a dialogue both factors are 1: plain Wilson.
"""

from __future__ import annotations

from collections.abc import Sequence

from eval.metrics.student_t import t_quantile_95
from eval.metrics.wilson import wilson_from_rate


def clustered_interval(clusters: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """Return the interval of all successes over all replies.

    Args:
        clusters: (successes, total) of each dialogue; empty ones are passed over.

    Returns:
        Low and high bound, (0, 1) where there is no reply at all.

    Raises:
        ValueError: a cluster without 0 <= successes <= total.
    """
    for successes, total in clusters:
        if not 0 <= successes <= total:
            raise ValueError(f"{successes} successes of {total}: expected 0 <= successes <= total")
    filled = [(s, n) for s, n in clusters if n]
    if not filled:
        return 0.0, 1.0
    num_replies = sum(n for _, n in filled)
    rate = sum(s for s, _ in filled) / num_replies
    return wilson_from_rate(rate, effective_size(filled))


def effective_size(clusters: Sequence[tuple[int, int]]) -> float:
    """Return how many independent replies the clusters are worth, from 1 to n.

    Args:
        clusters: (successes, total) of each dialogue, at least one, none empty.
    """
    num_clusters, num_replies = len(clusters), sum(n for _, n in clusters)
    if num_clusters == num_replies:
        return float(num_replies)
    if num_clusters == 1:
        return 1.0
    price = t_quantile_95(num_replies - 1) / t_quantile_95(num_clusters - 1)
    return max(1.0, num_replies / design_effect(clusters) * price**2)


def design_effect(clusters: Sequence[tuple[int, int]]) -> float:
    """Return by how much clustering inflates the variance of the rate, at least 1."""
    mean_size = sum(n for _, n in clusters) / len(clusters)
    smoothed = [*clusters, (mean_size, mean_size), (0.0, mean_size)]
    k, n = len(smoothed), sum(size for _, size in smoothed)
    rate = sum(s for s, _ in smoothed) / n
    clustered = k / (k - 1) * sum((s - rate * size) ** 2 for s, size in smoothed) / n**2
    independent = rate * (1 - rate) / (n - 1)
    return max(1.0, clustered / independent)
