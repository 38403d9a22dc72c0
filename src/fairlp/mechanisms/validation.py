"""Every way to a mechanism's result against an independent one: ``validate``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..models.instances.arithmetic import relative
from ..models.instances.checks import require_instance
from ..models.instances.instance import Instance
from ..models.programs.backends import AnySolver, spelt
from ..models.programs.certificate import Proof
from ..tolerances import AGREEMENT
from .allocation import Allocation, no_certificate
from .mechanism import Mechanism, run
from .table import find, find_defined, refuse_options_of_others

#: Method → what ``validate`` says of it, by column.
Compared = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Check:
    """What the ``validate`` of a mechanism works with: the instance, and how it was asked."""

    instance: Instance
    mechanism: Mechanism
    solver: str
    options: dict[str, Any]

    def allocate(
        self, mechanism: str | None = None, method: str = "auto", **parameters: Any
    ) -> Allocation:
        """Run a method of this mechanism (with the options that it was asked with), or of another one."""
        row = self.mechanism if mechanism is None else find(mechanism)
        solves = method != "auto" and row.method_called(method).solves
        own = {name: value for name, value in self.options.items() if name in row.options}
        if method != "auto":
            own = {
                name: value
                for name, value in own.items()
                if name not in row.method_called(method).lacks(own)
            }
        of_solver = {
            name: value
            for name, value in self.options.items()
            if name not in self.mechanism.options
        }
        options = {**own, **(of_solver if solves else {}), **parameters}
        found: Allocation = run(
            row, self.instance, method=method, solver=self.solver if solves else "highs", **options
        )
        return found

    def compared(self) -> pd.DataFrame:
        """Return what the mechanism's own ``validate`` finds, by method."""
        assert self.mechanism.validate is not None
        return pd.DataFrame.from_dict(self.mechanism.validate(self), orient="index").rename_axis(
            "method"
        )


def validate(
    instance: Instance, mechanism: str | Mechanism, *, solver: AnySolver = "highs", **options: Any
) -> pd.DataFrame:
    """Run every method of a mechanism that is exact for the instance and compare it with an independent result.

    Parameters
    ----------
    instance : Instance
    mechanism : str or Mechanism
    solver : str, Backend or class
        As for :func:`fairlp.allocate`.
    **options
        Options of the mechanism and of the solver.

    Returns
    -------
    DataFrame
        Indexed by method: ``agrees``, ``difference`` (largest difference of a user's tasks,
        relative to the larger), ``user`` with that difference, ``proved`` (whether
        :meth:`.Allocation.certify` holds, which asks no method; None for a mechanism without a
        certificate), ``residual`` (largest violation of a capacity or limit, relative),
        ``seconds``. What is not proved does not agree. The reference is ``lp`` on the unmerged
        instance. Mechanisms with whole tasks are compared with the loop over tasks and with the
        linear and integer programs, and say with what, by how much (``below``, ``above``: tasks)
        and for how many users; mechanisms for users who arrive are compared at every step.
    """
    require_instance(instance)
    row = find_defined(mechanism, instance)
    refuse_options_of_others(row, options)
    if row.validate is not None:
        return Check(instance, row, spelt(solver), options).compared()
    reference = run(row, instance, method="lp", solver=solver, merge=False, **options)
    runs = {
        "lp": reference,
        "lp, merged": run(row, instance, method="lp", solver=solver, **options),
    }
    for method in row.methods:
        if method.name != "lp" and method.is_exact_for(instance):
            own = {name: value for name, value in options.items() if name in row.options}
            runs[method.name] = run(row, instance, method=method.name, solver=solver, **own)
    rows = {name: agreement(instance, found, reference) for name, found in runs.items()}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")


def differences(values: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return how far numbers are apart, each relative to the larger of the two."""
    larger = np.maximum(abs(values), abs(expected))
    return relative(abs(values - expected), larger)


def agreement(instance: Instance, found: Allocation, reference: Allocation) -> dict[str, Any]:
    """Return one row of :func:`validate`: how far an allocation is from the reference, user by user."""
    difference = differences(found.totals.to_numpy(), reference.totals.to_numpy())
    worst = int(difference.argmax())
    proved = None if found.prove is None else found.certify().holds
    return {
        "agrees": bool(difference[worst] <= AGREEMENT) and proved is not False,
        "difference": float(difference[worst]),
        "user": instance.users[worst],
        "proved": proved,
        "residual": found.residual,
        "seconds": float(sum(found.times.values())),
    }


def in_floats(
    allocation: Allocation, exact: bool = False, *, judge: Callable[[Allocation], Proof]
) -> Proof:
    """Return what is proved of an allocation by a mechanism that has no proof in rationals."""
    if exact:
        raise no_certificate(allocation.mechanism, exact)
    return judge(allocation)


__all__ = ["Check", "agreement", "differences", "in_floats", "validate"]
