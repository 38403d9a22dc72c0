"""Whole tasks on real servers: from a placement to an Allocation."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from ...errors import InstanceError
from ...formulations import normalisers
from ...models.instances.instance import Instance
from ..allocation import Allocation
from .methods import one_of
from .placement import SLOTS, place
from .shares import TIES

if TYPE_CHECKING:
    from ..max_min.methods import Request
    from ..mechanism import Algorithm, Mechanism

_POLICY = {"drfh-first-fit": "first-fit", "drfh-best-fit": "best-fit", "slots": "slots"}


def placed(instance: Instance, mechanism: Mechanism, algorithm: Algorithm, request: Request) -> Allocation:
    """Serve users one task at a time until nothing fits on any server."""
    request.refuse_solver_options(mechanism, algorithm)
    ties, slots = request.parameters.get("ties", "larger"), request.parameters.get("slots", SLOTS)
    one_of("ties", ties, TIES)
    if isinstance(slots, bool) or not isinstance(slots, int) or slots < 1:
        raise InstanceError(f"slots={slots!r}; expected the number of slots of the largest server, at least 1")
    begin = perf_counter()
    tasks = place(instance, _POLICY[mechanism.name], ties=ties, slots=slots)
    solved = perf_counter()
    alone = normalisers.dominant(instance)
    short = instance.oversized()
    notes: tuple[str, ...] = ()
    if len(short):
        notes = (
            f"the task of user {short.index[0]!r} fits no single server where it may run"
            f"{f', and so for {len(short) - 1} more users' if len(short) > 1 else ''}; they get nothing",
        )
    return Allocation(
        instance=instance,
        mechanism=mechanism.name,
        method=algorithm.method,
        tasks_array=tasks,
        normaliser=alone,
        entitled=normalisers.entitled(instance, alone),
        times={"solve": solved - begin},
        notes=notes,
    )
