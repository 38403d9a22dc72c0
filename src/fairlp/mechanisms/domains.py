"""What an instance must be for a mechanism to be defined: one small check each, named in the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..models.instances.instance import Instance


@dataclass(frozen=True)
class Domain:
    """A condition on instances: its name, and a function that says why an instance does not meet it (None: it does)."""

    name: str
    reason: Callable[[Instance], str | None]

    def __str__(self) -> str:
        return self.name


def _several_servers(instance: Instance) -> str | None:
    if instance.n_servers == 1:
        return None
    return (
        f"it shares one server and there are {instance.n_servers} (instance.pooled() makes one of them, "
        "if tasks may be spread over servers)"
    )


def _constraints(instance: Instance) -> str | None:
    if not instance.has_constraints:
        return None
    user = instance.users[int(np.argmax(np.asarray(instance.eligible.sum(axis=1)) < len(instance.servers)))]
    return f"it has no placement constraints, and user {user!r} may not run everywhere"


def _rates(instance: Instance) -> str | None:
    return None if instance.rates is None else "it works with demands and capacities, and rates are given"


def _limits(instance: Instance) -> str | None:
    limited = instance.task_limits != float("inf")
    if not limited.any():
        return None
    return f"it has no task limits, and user {instance.users[int(limited.argmax())]!r} has one"


def _weights_by_resource(instance: Instance) -> str | None:
    return None if instance.weights.ndim == 1 else "it takes one weight for each user, not one for each resource"


def _limits_of_queues(instance: Instance) -> str | None:
    queues = instance.queues
    if queues is None or not queues.has_limits:
        return None
    v = int((queues.guarantees.any(axis=1) | queues.capped.any(axis=1)).argmax())
    which = "a guarantee" if queues.guarantees[v].any() else "a cap"
    return f"it knows no guarantees and caps of queues, and queue {queues.paths[v]!r} has {which}"


def _guarantees(instance: Instance) -> str | None:
    queues = instance.queues
    if queues is None or not queues.guarantees.any():
        return None
    path = queues.paths[int(queues.guaranteed[0])]
    return f"it serves whole tasks and knows caps of queues only, and queue {path!r} has a guarantee"


ONE_SERVER = Domain("one server", _several_servers)
NO_CONSTRAINTS = Domain("no placement constraints", _constraints)
NO_RATES = Domain("no rates", _rates)
NO_LIMITS = Domain("no task limits", _limits)
ONE_WEIGHT = Domain("one weight a user", _weights_by_resource)
NO_GUARANTEES = Domain("no guarantees of queues", _guarantees)
NO_QUEUE_LIMITS = Domain("no guarantees or caps of queues", _limits_of_queues)
