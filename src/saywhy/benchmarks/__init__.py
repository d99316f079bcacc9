"""Speed beside others: the same work done by saywhy, by a peer and by the bare model, in one run.

Example:
    >>> from saywhy.benchmarks import Plan, compare
    >>> table = compare(Plan("runs/sst2", tokens=(32,), texts=5, peers=("captum",)))     # doctest: +SKIP
    >>> table.to_markdown()                                                              # doctest: +SKIP
"""

from __future__ import annotations

from saywhy.benchmarks.comparison import Plan, compare, estimate
from saywhy.benchmarks.environments import PEERS, environment
from saywhy.benchmarks.table import PeerTable, Row

__all__ = ["PEERS", "PeerTable", "Plan", "Row", "compare", "environment", "estimate"]
