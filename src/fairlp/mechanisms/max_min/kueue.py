"""The method of ``kueue``: a leximin of nominal quotas over queues, then rounds along the tree of quotas."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ...formulations import kueue as formulas
from ...models.instances.instance import Instance
from ...models.instances.problem import of_whole
from ...models.instances.quotas import Lanes
from ...models.notation.model import Model
from ...models.programs.certificate import Verdict
from ...models.trees.quotas import QuotaSegment
from ...solvers.leximin.leximin import climb
from ...solvers.leximin.of_model import leximin
from ...tolerances import AGREEMENT, AUDIT, NOISE
from ..allocation import no_certificate
from ..mechanism import Mechanism, MethodCall, Tasks
from .methods import outcome


@dataclass(frozen=True)
class Nominal:
    """What nominal quotas come to.

    Attributes
    ----------
    floors : ndarray, shape (Q,)
        Dominant shares of the pool that users whose quota is that of a queue have together at least.
    wanted, has : ndarray, shape (Q, M)
        What each queue's demand would use of its nominal quota, and what of it has servers.
    gap : float or None
        Largest duality gap of the programs.
    """

    floors: np.ndarray
    wanted: np.ndarray
    has: np.ndarray
    gap: float | None

    @classmethod
    def of(cls, instance: Instance, **how: Any) -> Nominal:
        """Return what the nominal quotas of an instance come to."""
        queues = instance.queues
        assert queues is not None and queues.quotas is not None
        alone = formulas.nominal_alone(instance)
        found = alone.solve(**how).require_optimal().require_point()
        names = list(alone.definitions["has"].indices[0])
        at = [queues.named(name) for name in names]
        due, shape = np.zeros(len(queues)), queues.quotas.nominal.shape
        due[at] = alone.evaluate("has", found)
        due[due <= NOISE * due.max(initial=0.0)] = 0.0
        floors, wanted, has = np.zeros(len(queues)), np.zeros(shape), np.zeros(shape)
        wanted[at] = alone.evaluate("used", found)
        if not due.any():
            return cls(floors, wanted, has, 0.0)
        first = formulas.nominal_first(instance, due)
        answer = leximin(first, **how)
        floors[at], has[at] = first.evaluate("has", answer.x), first.evaluate("used", answer.x)
        return cls(floors * (1 - AGREEMENT), wanted, has, answer.gap)


def formulation(instance: Instance) -> Model:
    """Return the program of what is shared above the floors of nominal quotas."""
    return formulas.kueue(instance, Nominal.of(instance).floors)


def share_quotas(call: MethodCall) -> Tasks:
    """Share nominal quotas first, and then what is lent, by rounds of linear programs."""
    instance, how = call.instance, {"solver": call.solver, **call.options}
    with call.phase("nominal"):
        nominal = Nominal.of(instance, **how)
    lanes = Lanes.of(instance)
    result = climb(
        lanes.instance,
        partial(formulas.kueue, floors=nominal.floors),
        QuotaSegment.first(lanes, instance),
        solver=call.solver,
        merge=call.merge,
        options=call.options,
    )
    found = outcome(lanes.instance, result)
    tasks = np.zeros((len(instance.users), found.tasks.shape[1]))
    np.add.at(tasks, lanes.user, found.tasks)
    gaps = [found.gap, nominal.gap]
    gap = None if None in gaps else max(one for one in gaps if one is not None)
    return replace(found, tasks=tasks, gap=gap, notes=(*found.notes, *told(instance, nominal)))


def told(instance: Instance, nominal: Nominal) -> list[str]:
    """Return one sentence for each queue of whose nominal quota something that its demand allows has no server."""
    queues, sentences = instance.queues, []
    assert queues is not None and queues.quotas is not None
    wanted = np.where(queues.quotas.listed, nominal.wanted, 0.0)
    part = np.divide(wanted - nominal.has, wanted, out=np.zeros(wanted.shape), where=wanted > 0)
    for v in np.flatnonzero(part.max(axis=1) > AUDIT).tolist():
        m = int(part[v].argmax())
        resource = str(instance.resources[int(queues.quotas.resource[m])])
        unit = instance.units.get(resource, "")
        amounts = of_whole(wanted[v, m] - nominal.has[v, m], wanted[v, m], resource, unit)
        sentences.append(f"{amounts} in the nominal quota of queue {queues.paths[v]!r} have no server")
    return sentences


def no_rationals(mechanism: Mechanism, instance: Instance, count: str) -> tuple[Verdict, np.ndarray]:
    """Raise: rounds along a tree of quotas are not solved in rationals."""
    raise no_certificate(mechanism.name, True)
