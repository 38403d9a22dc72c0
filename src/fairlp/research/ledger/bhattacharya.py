"""What is retold of hierarchical DRF (Bhattacharya et al., SoCC 2013): examples, its guarantee, its claims of lies."""

from __future__ import annotations

from ...api import allocate
from ...models.instances.instance import Instance
from .registry import Run, audited, entry, shipped
from .verdicts import ItemAnswer, beside, named

PAPER, H_DRF = "005", "h-drf"
_CPU, _GPU = [1, 0], [0, 1]
_LIES = (
    "users 1 and 2 stand at the root, 3 and 4 in a queue; by claiming (1, 0, 1) user 3 has 8/9 in place of 6/7, both "
    "proved in rationals; no instance without zero demands is known"
)


@entry(PAPER, "example, starvation", "n1 needs GPUs, n2 has a (CPUs) and b (GPUs): ½, 1 and ½")
def starvation(run: Run) -> ItemAnswer:
    """The tree on which a naive one starves b."""
    instance = Instance.from_arrays([_GPU, _CPU, _GPU], [[1, 1]], queue=["", "n2", "n2"])
    return beside(named("share of", ["1/2", "1", "1/2"]), allocate(instance, H_DRF).shares)


@entry(PAPER, "example, blocked leaves", "n1, n2 (CPUs), n3 with both, n4 (GPUs): ⅓, ⅓, n3 ⅓ and ½, n4 ½")
def blocked_leaves(run: Run) -> ItemAnswer:
    """What a blocked leaf leaves goes to its siblings."""
    queue = ["", "", "n3", "n3", ""]
    instance = Instance.from_arrays([_CPU, _CPU, _CPU, _GPU, _GPU], [[1, 1]], queue=queue)
    return beside(named("share of", ["1/3", "1/3", "1/3", "1/2", "1/2"]), allocate(instance, H_DRF).shares)


audited(
    PAPER,
    "hierarchical share guarantee",
    "Each leaf has the dominant share that the weights on its way up promise",
    H_DRF,
    "hierarchical share guarantee",
    why="with task limits instances break it (docs/results.md)",
)
audited(PAPER, "Pareto optimality", "Nobody can gain without another's loss", H_DRF, "Pareto-optimal")
shipped(PAPER, "strategy-proofness", "No leaf gains by lying about its demands", H_DRF, "strategy-proof", _LIES)
# one leaf is a group, too
shipped(
    PAPER,
    "group strategy-proofness",
    "No group of leaves gains by lying together",
    H_DRF,
    "group strategy-proof",
    _LIES,
)
