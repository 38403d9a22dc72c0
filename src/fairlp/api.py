"""One way in: allocate, formulate, compare."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Unpack

import numpy as np
import pandas as pd

from .errors import (
    InstanceError,
    NotDefinedError,
    OversizedTaskWarning,
    SkippedMechanismWarning,
    UnknownNameError,
    counted,
    nearest,
    quoted,
    require_known,
    warn_once,
)
from .formulations.options import AllocateOptions, FormulationOptions, MechanismOptions
from .keywords import lists
from .mechanisms.allocation import altered
from .mechanisms.mechanism import RATES, Mechanism, run
from .mechanisms.table import TABLE, find, find_defined
from .models.instances.instance import Instance, oversized_rows, require_instance
from .models.notation.labels import require_ordered
from .plots.comparison import comparison_table

if TYPE_CHECKING:
    from .mechanisms.allocation import Allocation
    from .models.notation.model import Model
    from .models.programs.backends import AnySolver

Oversized = Literal["divide", "drop", "error"]


@lists(MechanismOptions)
def allocate(
    instance: Instance,
    mechanism: str | Mechanism,
    *,
    method: str = "auto",
    solver: AnySolver = "highs",
    merge: bool = True,
    oversized: Oversized = "divide",
    **options: Unpack[MechanismOptions],
) -> Allocation:
    """Share the cluster by a mechanism.

    Parameters
    ----------
    instance : Instance
    mechanism : str or Mechanism
        A name from :func:`fairlp.mechanisms`, or one of your own (:func:`fairlp.mechanism`).
    method : str
        ``auto`` (the fastest that is exact), ``lp`` (the model through a solver), or another of the
        mechanism's.
    solver : str, Backend or class
        A name from :func:`fairlp.solvers`, or a back end of your own (:class:`fairlp.Backend`); for
        methods that solve a model.
    merge : bool
        Merge identical servers and users with proportional demands before the LP (exact; undone in
        the answer).
    oversized : {"divide", "drop", "error"}
        What to do with a task that fits no single server: let fractions of it run (with a warning),
        give its user nothing (with a warning), or raise.
    **options
        Options of the mechanism (the column ``options`` of :func:`fairlp.mechanisms`, such as
        ``rule="stop"``), and of the solver: ``time_limit``, ``threads``, ``seed``,
        ``primal_tolerance``, ``dual_tolerance``, ``method`` of the solver as part of its name,
        ``verbose``, ``extra``.

    Returns
    -------
    Allocation
        Or a DynamicAllocation where users arrive.

    Raises
    ------
    UnknownNameError
        For a mechanism, method, solver or option that does not exist; the nearest names are given.
    NotDefinedError
        When the mechanism is not defined for the instance; those that are, are named.
    InstanceError
        With ``oversized="error"``.
    SolverError
        When the solver fails or its answer cannot be certified.

    Examples
    --------
    >>> import fairlp
    >>> instance = fairlp.Instance.from_arrays([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"])
    >>> fairlp.allocate(instance, "drf").totals.round(6).to_dict()
    {'A': 3.0, 'B': 2.0}
    """
    require_instance(instance)
    row = find_defined(mechanism, instance, options)
    prepared = prepare(instance, oversized, [row])
    return prepared.share(row, method=method, solver=solver, merge=merge, **options)


@lists(FormulationOptions)
def formulate(
    instance: Instance, mechanism: str | Mechanism, **options: Unpack[FormulationOptions]
) -> Model:
    """Return the mechanism's model: print it, solve it with any solver, write it as MPS.

    For a leximin this is the first round, whose optimum is the smallest level.

    Parameters
    ----------
    instance : Instance
    mechanism : str or Mechanism
    **options
        Options of the formulation; of the max-min family, ``whole=True``.

    Returns
    -------
    Model

    Raises
    ------
    NotDefinedError
        For a procedure, which has no model, or an instance that the mechanism is not defined for.
    UnknownNameError
        For a mechanism or option that there is not.

    Examples
    --------
    >>> import fairlp
    >>> instance = fairlp.Instance.from_arrays([[1, 4], [3, 1]], [[9, 18]])
    >>> round(fairlp.formulate(instance, "drf").solve().objective, 9)
    0.666666667
    """
    require_instance(instance)
    row = find_defined(mechanism, instance, options)
    if row.whole_tasks:
        options.pop("whole", None)
    if row.formulation is None:
        raise NotDefinedError(
            f"{row.name!r} is a procedure and has no model of its own; allocate runs it, and "
            "formulate gives the "
            "model of a mechanism that is an optimum, such as 'drfh' or 'drf-milp'"
        )
    options_of_formulation = list(inspect.signature(row.formulation).parameters)[1:]
    for name in options:
        if name not in options_of_formulation:
            raise UnknownNameError(
                f"the formulation of {row.name!r} has no option {quoted(name)}; {nearest(name, options_of_formulation)}"
            )
    if RATES not in row.domain and instance.has_oversized:
        fate = "runs no such task" if row.whole_tasks else "lets fractions of it run"
        message = f"{_fits_no_server(oversized_rows(instance))}; the model {fate}"
        warn_once(OversizedTaskWarning(message), stacklevel=2)
    return row.formulation(instance, **options)


@lists(AllocateOptions)
def compare(
    instance: Instance,
    mechanisms: Sequence[str | Mechanism] | None = None,
    *,
    value: Literal["tasks", "shares", "utilization", "summary"] = "tasks",
    **options: Unpack[AllocateOptions],
) -> pd.DataFrame:
    """Share the same cluster by several mechanisms.

    Parameters
    ----------
    instance : Instance
    mechanisms : sequence of (str or Mechanism), optional
        By default all that are defined for the instance. One that is asked for and not defined
        becomes a column of NaN, with a SkippedMechanismWarning that says why.
    value : {"tasks", "shares", "utilization", "summary"}
        ``tasks``: users × mechanisms. ``shares``: global dominant shares, users × mechanisms (the
        same yardstick for all). ``utilization``: resources × mechanisms. ``summary``: mechanisms ×
        figures.
    **options
        As for :func:`allocate`; an option of some mechanisms goes to those.

    Returns
    -------
    DataFrame
        Its ``attrs["value"]`` is ``value``. There are no times: whoever comes first in a process
        pays for the start (``Allocation.times``, of a second call, tells a mechanism's own).
    """
    return comparison_table(instance, allocate_all(instance, mechanisms, **options), value)


@lists(MechanismOptions)
def allocate_all(
    instance: Instance,
    mechanisms: Sequence[str | Mechanism] | None = None,
    *,
    method: str = "auto",
    solver: AnySolver = "highs",
    merge: bool = True,
    oversized: Oversized = "divide",
    **options: Unpack[MechanismOptions],
) -> dict[str, Allocation | None]:
    """Return the allocation of each mechanism by name, None where it is not defined.

    Parameters
    ----------
    instance : Instance
    mechanisms : sequence of (str or Mechanism), optional
        By default all that are defined for the instance.
    method : str
        As for :func:`allocate`, of those mechanisms that have it.
    solver : str or Backend
        For mechanisms that solve programs.
    merge : bool
        Solve for identical users and servers once.
    oversized : {"divide", "drop", "error"}
        The treatment of a user whose task fits no single server.
    **options
        As for :func:`allocate`; an option of some mechanisms goes to those.

    Returns
    -------
    dict of str to (Allocation or None)
        In the order of the mechanisms.
    """
    require_instance(instance)
    rows = [row.under(options) for row in _rows(instance, mechanisms)]
    prepared = prepare(instance, oversized, rows)

    # An option of a mechanism goes to the mechanisms that have it, another one to all that solve.
    own_options = {option for row in TABLE.values() for option in row.options}
    solver_options = set(options) - own_options
    allocations: dict[str, Allocation | None] = {}
    skipped: dict[str, list[str]] = {}
    for row in rows:
        reason = row.undefined(instance)
        if reason:
            skipped.setdefault(reason, []).append(row.name)
            allocations[row.name] = None
            continue
        row = row.defined_for(instance)
        solves = any(row_method.solves for row_method in row.methods)
        names = set(row.options) | (solver_options if solves else set())
        row_options = {name: value for name, value in options.items() if name in names}
        allocations[row.name] = prepared.share(
            row,
            method=method,
            solver=solver if solves else "highs",
            merge=merge,
            **row_options,
        )
    for reason, names_of_skipped in skipped.items():
        verb = "is" if len(names_of_skipped) == 1 else "are"
        message = f"{', '.join(names_of_skipped)} {verb} left out: {reason}"
        warn_once(SkippedMechanismWarning(message), stacklevel=3)
    return allocations


def _rows(instance: Instance, mechanisms: Sequence[str | Mechanism] | None) -> list[Mechanism]:
    """Return the rows of mechanisms, by default those to compare that are defined."""
    if isinstance(mechanisms, str | Mechanism):
        mechanisms = [mechanisms]
    if mechanisms is not None:
        require_ordered(mechanisms, "the argument 'mechanisms'", InstanceError)
        return [find(name) for name in mechanisms]
    rows = [row for row in TABLE.values() if row.compared and row.undefined(instance) is None]
    if not instance.has_queues:  # without queues, sharing along the tree is DRFH once more
        rows = [row for row in rows if not row.along_tree]
    return rows


class Prepared(NamedTuple):
    """An instance that is ready to be shared.

    Attributes
    ----------
    instance : Instance
        As it was given.
    solved : Instance
        The instance that mechanisms share. With ``oversized="drop"``, users whose task fits no single
        server have a task limit of 0 there.
    notes : tuple of str
        What was done about such users.
    """

    instance: Instance
    solved: Instance
    notes: tuple[str, ...]

    def share(self, row: Mechanism, **options: Any) -> Allocation:
        """Return the allocation of a mechanism, as one of the instance, with the notes."""
        allocation: Allocation = run(row, self.solved, **options)
        if allocation.instance is self.instance and not self.notes:
            return allocation
        return altered(allocation, instance=self.instance, notes=(*allocation.notes, *self.notes))


def prepare(instance: Instance, oversized: str, mechanisms: Sequence[Mechanism]) -> Prepared:
    """Return the instance to solve, and notes about users whose task fits no single server.

    Mechanisms with whole tasks give them nothing. To those that need rates a task is work over
    time, of which any part may be done.
    """
    require_known(oversized, ("divide", "drop", "error"), f"oversized={quoted(oversized)}")
    if oversized == "divide" and all(RATES in row.domain for row in mechanisms):
        return Prepared(instance, instance, ())
    if not instance.has_oversized:
        return Prepared(instance, instance, ())
    short = oversized_rows(instance)
    message = _fits_no_server(short)
    pronoun = "they get" if len(short) > 1 else "it gets"
    if oversized == "error":
        raise InstanceError(f"{message}; lower the demand, or pass oversized='divide' or 'drop'")
    if oversized == "drop":
        note = f"{message}; {pronoun} nothing (oversized='drop')"
        is_oversized = instance.users.labels.isin([label for label, *_ in short])
        solved_instance = instance.derived(
            task_limits=np.where(is_oversized, 0.0, instance.task_limits)
        )
    elif all(row.whole_tasks for row in mechanisms):
        note = f"{message}; {pronoun} nothing, since tasks are whole"
        solved_instance = instance
    else:
        note = f"{message}; it is treated as divisible (oversized='drop' or 'error' are the other ways)"
        solved_instance = instance
    warn_once(OversizedTaskWarning(note), stacklevel=3)
    return Prepared(instance, solved_instance, (note,))


def _fits_no_server(short: list[tuple[Any, Any, float, Any]]) -> str:
    """Return a sentence on users whose task fits no single server: the first and their number."""
    user, server, fraction, resource = short[0]
    message = (
        f"the task of user {quoted(user)} fits no single eligible server (at most {fraction:.3g} of it, "
        f"on {quoted(server)}, which is short of {quoted(resource)})"
    )
    if len(short) > 1:
        message += (
            f", and so for {counted(len(short) - 1, 'more user')} (instance.oversized() lists them)"
        )
    return message


__all__ = ["Oversized", "allocate", "allocate_all", "compare", "formulate"]
