"""When the interior-point method is the fastest way to a leximin (measured: ``benchmarks/interior_point.py``)."""

from __future__ import annotations

from ...models.instances.instance import Instance
from ...models.instances.merging import merge_servers, merge_users

#: Pairs of users and servers, after merging, from which on it beats the simplex method.
PAYS_FROM = 2_000


def pays(instance: Instance) -> bool:
    """Whether the interior-point method beats HiGHS on the instance.

    Where all users demand all resources, one round decides as a rule. Where some demand nothing of a resource there
    are several, and the simplex method, which goes on from its last basis, is faster.
    """
    if len(instance.servers) == 1 or (instance.demands == 0).any() or instance.runnable().sum() < PAYS_FROM:
        return False
    small, _ = merge_users(merge_servers(instance)[0])
    return bool(len(small.servers) > 1 and small.runnable().sum() >= PAYS_FROM)
