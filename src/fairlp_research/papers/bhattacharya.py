"""Hierarchical DRF (Bhattacharya et al., SoCC 2013), from later accounts of it.

The items are examples, its guarantee, and its claims about lies.
"""

from __future__ import annotations

import numpy as np

from fairlp import Instance, allocate, audit

from .registry import Paper, Run
from .verdicts import ItemAnswer, beside, named, on_instance

PAPER = Paper(
    "005",
    "A. Bhattacharya, D. Culler, E. Friedman, A. Ghodsi, S. Shenker and I. Stoica, Hierarchical "
    "Scheduling "
    "for Diverse Datacenter Workloads, SoCC 2013 (what is retold of it)",
    ("bhattacharya-2013", "bhattacharya", "h-drf"),
)
H_DRF = "h-drf"
_GUARANTEE = "hierarchical share guarantee"
_CPU = [1, 0]
_GPU = [0, 1]
_LIES = (
    "users 1 and 2 stand at the root, 3 and 4 in a queue; by claiming (1, 0, 1) user 3 has 8/9 in "
    "place of 6/7, both "
    "proved in rationals; no instance without zero demands is known"
)


@PAPER.item(
    "example, starvation", "n1 needs GPUs, n2 has a (CPUs) and b (GPUs): ½, 1 and ½", "h-drf"
)
def starvation(run: Run) -> ItemAnswer:
    """The tree on which a naive one starves b."""
    instance = Instance.from_arrays([_GPU, _CPU, _GPU], [[1, 1]], queue=["", "n2", "n2"])
    return beside(named("share of", ["1/2", "1", "1/2"]), allocate(instance, H_DRF).shares)


@PAPER.item(
    "example, blocked leaves",
    "n1, n2 (CPUs), n3 with both, n4 (GPUs): ⅓, ⅓, n3 ⅓ and ½, n4 ½",
    "h-drf",
)
def blocked_leaves(run: Run) -> ItemAnswer:
    """What a blocked leaf leaves goes to its siblings."""
    queue = ["", "", "n3", "n3", ""]
    instance = Instance.from_arrays([_CPU, _CPU, _CPU, _GPU, _GPU], [[1, 1]], queue=queue)
    return beside(
        named("share of", ["1/3", "1/3", "1/3", "1/2", "1/2"]), allocate(instance, H_DRF).shares
    )


PAPER.audited(
    "hierarchical share guarantee",
    "Each leaf has the dominant share that the weights on its way up promise",
    H_DRF,
    _GUARANTEE,
    why="on one server, without task limits, guarantees and caps; proved in docs/results.md",
)


@PAPER.item(
    "hierarchical share guarantee, task limits", "Each leaf that lacks tasks has that share"
)
def with_task_limits(run: Run) -> ItemAnswer:
    """A satisfied leaf deep in the tree costs the leaf at the root a part of its share."""
    limits = [np.inf, np.inf, 9, np.inf, np.inf]
    queue = ["", "P", "P/A", "P/A", "P/A"]
    instance = Instance.from_arrays(
        [_GPU, _GPU, _CPU, _CPU, _GPU], [[60, 60]], queue=queue, task_limits=limits
    )
    verdict = audit(instance, allocate(instance, H_DRF), _GUARANTEE).iloc[0]
    why = (
        "a leaf that has all its tasks counts for no queue, so that its siblings rise as if it had "
        "nothing"
    )
    return on_instance(instance, verdict["holds"] is False, verdict["witness"], why)


PAPER.audited(
    "the same, satisfied leaves counted (ours)",
    "The same by h-drf-counted, where what satisfied leaves take counts for their queues",
    "h-drf-counted",
    _GUARANTEE,
    why="proved in docs/results.md for one server",
)
PAPER.audited(
    "Pareto optimality", "No user can gain without another's loss", H_DRF, "Pareto-optimal"
)
PAPER.shipped(
    "strategy-proofness", "No leaf gains by lying about its demands", H_DRF, "strategy-proof", _LIES
)
# one leaf is a group, too
PAPER.shipped(
    "group strategy-proofness",
    "No group of leaves gains by lying together",
    H_DRF,
    "group strategy-proof",
    _LIES,
)
