"""Every way to a mechanism's result against an independent one: ``validate``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..api import require_instance, run
from ..tolerances import AGREEMENT
from .mechanism import Mechanism, load
from .table import find

if TYPE_CHECKING:
    from ..models.instances.instance import Instance
    from .allocation import Allocation


@dataclass(frozen=True)
class Check:
    """What a validator of :class:`~fairlp.mechanisms.mechanism.Mechanism` works with: the instance and how it was asked."""

    instance: Instance
    mechanism: Mechanism
    solver: str
    options: dict[str, Any]

    def allocate(self, mechanism: str | None = None, method: str = "auto", **parameters: Any) -> Allocation:
        """Run a method of this mechanism (with the options that it was asked with), or of another one."""
        row = self.mechanism if mechanism is None else find(mechanism)
        solves = method != "auto" and row.algorithm(method, self.instance).solves
        own = {name: value for name, value in self.options.items() if name in row.options}
        others = {name: value for name, value in self.options.items() if name not in self.mechanism.options}
        options = {**own, **(others if solves else {}), **parameters}
        return run(self.instance, self.instance, (), row, method, self.solver if solves else "highs", True, options)


def validate(instance: Instance, mechanism: str, *, solver: str = "highs", **options: Any) -> pd.DataFrame:
    """Run every method of a mechanism that is exact for the instance and compare it with an independent result.

    Parameters
    ----------
    instance : Instance
    mechanism : str
    solver : str
    **options
        Options of the mechanism and of the solver.

    Returns
    -------
    DataFrame
        Indexed by method: ``agrees``, ``difference`` (largest difference of a user's tasks, relative to the larger),
        ``user`` with that difference, ``residual`` (largest violation of a capacity or limit, relative), ``seconds``.
        The reference is ``lp`` on the unmerged instance. Mechanisms with whole tasks are compared with the loop over
        tasks and with the linear and integer programs, and say with what, by how much (``below``, ``above``: tasks)
        and for how many users; mechanisms for users who arrive are compared at every step.
    """
    require_instance(instance)
    row = find(mechanism)
    row.require_defined(instance)
    if row.validator:
        frame: pd.DataFrame = load(row.validator)(Check(instance, row, solver, options))
        return frame
    reference = run(instance, instance, (), row, "lp", solver, False, dict(options))
    runs = {"lp": reference, "lp, merged": run(instance, instance, (), row, "lp", solver, True, dict(options))}
    for algorithm in row.algorithms:
        if algorithm.method != "lp" and algorithm.is_exact_for(instance):
            runs[algorithm.method] = run(instance, instance, (), row, algorithm.method, solver, True, {})
    rows = {method: agreement(instance, found, reference) for method, found in runs.items()}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")


def agreement(instance: Instance, found: Allocation, reference: Allocation) -> dict[str, Any]:
    """Return one row of :func:`validate`: how far an allocation is from the reference, user by user."""
    ours, expected = found.totals.to_numpy(), reference.totals.to_numpy()
    larger = np.maximum(abs(ours), abs(expected))
    difference = abs(ours - expected) / np.where(larger > 0, larger, 1.0)
    worst = int(difference.argmax())
    return {
        "agrees": bool(difference[worst] <= AGREEMENT),
        "difference": float(difference[worst]),
        "user": instance.users[worst],
        "residual": found.residual,
        "seconds": float(sum(found.times.values())),
    }


__all__ = ["Check", "agreement", "validate"]
