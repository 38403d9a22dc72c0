"""Every way to a mechanism's result beside the others, and what proves it: ``validate``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Unpack

import numpy as np
import pandas as pd

from ..errors import SolverError, TooLargeError, UnsupportedError
from ..formulations.options import MechanismOptions
from ..keywords import lists
from ..models.instances.arithmetic import relative
from ..models.instances.instance import Instance, require_instance
from ..models.programs.backends import AnySolver, spelt
from ..models.programs.options import Options
from ..models.programs.proof import Proof
from ..tolerances import AGREEMENT, VERIFIED
from .allocation import Allocation, no_certificate
from .mechanism import Mechanism, Method, run
from .table import find_defined

COLUMNS = ["agrees", "difference", "user", "proved", "residual", "seconds", "reason"]
#: Back ends for the second run of a mechanism of one method; the first that solves its models.
SECOND_SOLVERS = ("scipy", "highs", "cvxpy:CLARABEL")


@lists(MechanismOptions)
def validate(
    instance: Instance,
    mechanism: str | Mechanism,
    *,
    solver: AnySolver = "highs",
    **options: Unpack[MechanismOptions],
) -> pd.DataFrame:
    """Run every exact method of a mechanism on the instance, compare and prove the answers.

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
        Indexed by method:

        * ``agrees``: whether the tasks of all users equal those of the first method, nothing is
          violated, and the answer is proved where the mechanism has a certificate. Where several
          answers are right (``psdsf-rdm``, ``njc``, ``drf-milp``), or tasks are less certain than
          what is optimised (``ceei``, ``alpha-fair``), the certificate alone decides: None where it
          neither proves nor refutes an answer that differs.
        * ``difference``: the largest difference of a user's tasks, relative to the larger;
        * ``user``: the user with that difference;
        * ``proved``: whether :meth:`.Allocation.certify` holds, which calls no method; None for a
          mechanism without a certificate;
        * ``residual``: the largest violation of a capacity or limit, relative;
        * ``seconds``;
        * ``reason``: why ``agrees`` is None: why a method refused the instance, or what is not
          proved; else empty.

        Methods that merge identical servers and users run unmerged as well (``lp, unmerged``); a
        mechanism of a single method that solves models runs it with a second back end.
    """
    require_instance(instance)
    row = find_defined(mechanism, instance, options)
    name_of_solver = spelt(solver)

    methods = [method for method in row.methods if _is_comparable(row, method, instance, options)]
    runs: dict[str, Callable[[], Allocation]] = {}
    for method in methods:
        runs[method.name] = _run_of(row, instance, method, name_of_solver, options)
        if method.merges:
            unmerged = {**options, "merge": False}
            runs[f"{method.name}, unmerged"] = _run_of(
                row, instance, method, name_of_solver, unmerged
            )
    if len(methods) == 1 and methods[0].solves:
        of_mechanism = {name: value for name, value in options.items() if name in row.options}
        for second in SECOND_SOLVERS:
            if second != name_of_solver:
                runs[f"{methods[0].name}, {second}"] = _run_of(
                    row, instance, methods[0], second, of_mechanism
                )

    reference = None
    rows: dict[str, dict[str, Any]] = {}
    for name, call in runs.items():
        if len(methods) == 1 and len(rows) == 2:
            break
        try:
            allocation = call()
        except UnsupportedError:  # a second back end without logarithms, say
            if reference is None:
                raise
            continue
        except (TooLargeError, SolverError) as error:
            rows[name] = {"agrees": None, "reason": str(error)}
            continue
        if reference is None:
            reference = allocation
        rows[name] = _agreement(allocation, reference, by_proof=row.agrees_by_proof)
    return pd.DataFrame.from_dict(rows, orient="index", columns=COLUMNS).rename_axis("method")


def _is_comparable(
    row: Mechanism, method: Method, instance: Instance, options: Mapping[str, Any]
) -> bool:
    """Return whether a method is exact for the instance and the options, and quick enough."""
    pairs = int(np.count_nonzero(instance.runnable()))
    of_mechanism = {name: value for name, value in options.items() if name in row.options}
    return (
        method.is_exact_for(instance)
        and (row.agrees_by_proof or not method.lacks(of_mechanism))
        and (method.largest_pairs is None or pairs <= method.largest_pairs)
    )


#: Methods that solve no program leave these out.
_SOLVER_OPTIONS = {option.name for option in fields(Options)}


def _run_of(
    row: Mechanism, instance: Instance, method: Method, solver: str, options: Mapping[str, Any]
) -> Callable[[], Allocation]:
    """Return the call of a method, with the options that it takes."""
    of_solver = method.solves
    lacking = method.lacks(options)
    arguments = {
        name: value
        for name, value in options.items()
        if name == "merge"
        or (name in row.options and name not in lacking)
        or (name not in row.options and (of_solver or name not in _SOLVER_OPTIONS))
    }

    def call() -> Allocation:
        allocation: Allocation = run(
            row,
            instance,
            method=method.name,
            solver=solver if of_solver else "highs",
            **arguments,
        )
        return allocation

    return call


def differences(values: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return how far numbers are apart, each relative to the larger of the two."""
    larger = np.maximum(abs(values), abs(expected))
    return relative(abs(values - expected), larger)


def _agreement(allocation: Allocation, reference: Allocation, *, by_proof: bool) -> dict[str, Any]:
    """Return one row of :func:`validate`."""
    errors = differences(allocation.totals.to_numpy(), reference.totals.to_numpy())
    user = int(errors.argmax())
    proof = None if allocation.prove is None else allocation.certify()
    proved = None if proof is None else proof.holds
    # what is too large for its proof is refuted by nothing
    refuted = proof is not None and not proof.holds and not proof.message.startswith("not proved")
    is_equal = bool(errors[user] <= AGREEMENT)
    agrees: bool | None = allocation.residual <= VERIFIED and not refuted
    reason = ""
    if agrees and not is_equal:
        agrees = by_proof
        if by_proof and proof is not None and not proof.holds:
            agrees = None
            reason = proof.message
    return {
        "agrees": agrees,
        "difference": float(errors[user]),
        "user": allocation.instance.users[user],
        "proved": proved,
        "residual": allocation.residual,
        "seconds": float(sum(allocation.times.values())),
        "reason": reason,
    }


def in_floats(
    allocation: Allocation, exact: bool = False, *, judge: Callable[[Allocation], Proof]
) -> Proof:
    """Return the proof of an allocation by a mechanism that has no proof in rationals."""
    if exact:
        raise no_certificate(allocation.mechanism, exact)
    return judge(allocation)


__all__ = ["differences", "in_floats", "validate"]
