"""``@fairlp.mechanism``: a user's own mechanism, equal to those of the table everywhere."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ..errors import (
    FairlpError,
    InstanceError,
    ModelError,
    NotDefinedError,
    UnknownNameError,
    quoted,
)
from ..formulations import normalisers
from ..models.instances.checks import labelled
from ..models.instances.instance import Instance
from ..models.notation.labels import refuse
from ..models.notation.model import Model
from .allocation import Region, overuse
from .formulated import (
    limit_notes,
    prove,
    solve_model,
)
from .literature import Reference
from .mechanism import Domain, Mechanism, Method, MethodCall, TasksResult
from .table import OWN, TABLE

#: What a method of one's own is called: by a model, by a procedure, and before it is known which.
MODEL = "lp"
PROCEDURE = "procedure"
UNKNOWN = "own"


@dataclass(frozen=True, eq=False, repr=False)
class OwnMechanism(Mechanism):
    """A row of the table that others wrote: what ``@fairlp.mechanism`` makes of a function.

    Call it as the function that it was; give it, or its name, wherever a mechanism is taken.

    Attributes
    ----------
    function : callable
        Instance → Model (a formulation), or Instance → tasks (a procedure).
    """

    function: Callable[[Instance], Any] = field(kw_only=True)

    @property
    def bibtex(self) -> str:
        """BibTeX entries of the papers that its source names, or one of its title and source."""
        return (
            super().bibtex
            or Reference(
                self.name, "", "misc", "", self.title, self.source or "no source was given", None
            ).bibtex
        )

    def __call__(self, instance: Instance, *state: Any) -> Any:
        """Return what the function returns: a Model, or tasks."""
        return self.function(instance, *state)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the reference to an importable function, else the mechanism with its methods."""
        reference = self.reference
        if reference is not None:
            return _imported, tuple(reference.split(":"))
        state = {attribute.name: getattr(self, attribute.name) for attribute in fields(self)}
        return _declared, (state,)

    @property
    def reference(self) -> str | None:
        """Path ``module:function`` for other processes; None where they cannot import it.

        Functions of a notebook or a script have none.
        """
        home = getattr(self.function, "__module__", None)
        path = getattr(self.function, "__qualname__", "")
        module = sys.modules.get(home or "")
        if home == "__main__" or "." in path or getattr(module, path, None) is not self:
            return None
        return f"{home}:{path}" if importlib.util.find_spec(str(home)) is not None else None

    @property
    def faster(self) -> dict[str, Callable[[Instance], Any]]:
        """The functions of the methods that were added, by name."""
        return {
            method.name: method.run.function
            for method in self.methods[:-1]
            if isinstance(method.run, _Procedure)
        }

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        """The user's functions: its own, and those of the methods that were added."""
        return (self.function, *self.faster.values())

    def __repr__(self) -> str:
        return f"<Mechanism {self.name!r}: {', '.join(self.method_names)}>"

    def method(
        self,
        name: str,
        *,
        applies: Callable[[Instance], bool] | None = None,
        needs: str = "",
        cost: str = "",
    ) -> Callable[[Callable[[Instance], Any]], Callable[[Instance], Any]]:
        """Add a faster way to the same tasks: a decorator on a function Instance → tasks.

        ``auto`` takes it where it applies; :func:`fairlp.validate` compares it with the first.

        Parameters
        ----------
        name : str
        applies : callable, optional
            Instance → whether the method gives the exact result there; everywhere without it.
        needs, cost : str
            When it is exact, and what it costs, in words.
        """
        if not isinstance(name, str) or not name or name in ("auto", MODEL, PROCEDURE, UNKNOWN):
            raise UnknownNameError(f"a method of {self.name!r} cannot be called {quoted(name)}")

        def add(function: Callable[[Instance], Any]) -> Callable[[Instance], Any]:
            new_method = Method(name, _Procedure(function), applies=applies, needs=needs, cost=cost)
            others = tuple(method for method in self.methods if method.name != name)
            _set(self, methods=(new_method, *others))
            return function

        return add

    def method_name(self, name: str) -> str:
        """Return the full name of a method.

        Before the function has been called, both kinds of method are accepted.
        """
        if self.methods[-1].name == UNKNOWN and name in (MODEL, PROCEDURE):
            return name
        return super().method_name(name)

    def defined_for(self, instance: Instance) -> OwnMechanism:
        """Return the mechanism itself, after it has settled whether it returns a model or tasks.

        It calls the function once, with this instance.
        """
        if self.methods[-1].name == UNKNOWN:
            _settle(self, isinstance(_returned(self.function, self.name, instance), Model))
        return self


@dataclass(frozen=True)
class _Procedure:
    """The method of a function that returns tasks."""

    function: Callable[[Instance], Any]

    def __call__(self, call: MethodCall) -> TasksResult:
        name = call.mechanism.name
        remembers = call.mechanism.remembers
        returned = _returned(
            self.function, name, call.instance, *([call.state] if remembers else [])
        )
        returned, state = (
            _and_state(returned, call.instance, name) if remembers else (returned, None)
        )
        tasks = tasks_of(returned, call.instance, name)
        over = overuse(call.instance, tasks)
        capacity = (f"{quoted(name)} gave out more than there is: {over}",) if over else ()
        notes = (*capacity, *limit_notes(name, call.instance, tasks))
        return TasksResult(tasks, notes=notes, state=state)


def _and_state(returned: Any, instance: Instance, name: str) -> tuple[Any, pd.Series[float]]:
    """Return the tasks and the state that a mechanism that remembers returned."""
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise InstanceError(
            f"{quoted(name)} takes a state and returned {type(returned).__name__}; expected (tasks, state)"
        )
    subject = f"the state that {quoted(name)} returned"
    state = labelled(returned[1], subject, instance.users)
    refuse(~np.isfinite(state), state, [instance.users], subject, "a finite number", InstanceError)
    return returned[0], pd.Series(state, instance.users.labels.rename("user"), name="state")


def mechanism(
    name: str,
    *,
    title: str = "",
    source: str = "",
    promises: Iterable[str] = (),
    domain: Iterable[Domain | Callable[[Instance], str | None]] = (),
    gamma: Callable[[Instance], np.ndarray] = normalisers.dominant,
    whole_tasks: bool = False,
    region: Region | None = None,
) -> Callable[[Callable[[Instance], Any]], OwnMechanism]:
    """Make a mechanism of a function: a decorator.

    The function takes an Instance and returns either

    * a :class:`~fairlp.Model` (a formulation). It says what its tasks are by
      ``model.define("tasks", …)``, over users and servers (over users, where there is one server).
      It is a leximin where it says so by ``model.leximin(…)``; otherwise it is solved once; or
    * tasks (a procedure): an array or a labelled table, users × servers (or by user, where there is
      one server).

    A procedure with a second parameter, ``state``, remembers: it is called with the state that the
    last allocation left (a Series of numbers by user; None for none), and returns tasks and a new
    one, which is ``allocation.state``.

    Parameters
    ----------
    name : str
        Not that of one of fairlp's. Declaring one's own again replaces it.
    title, source : str
        What it is, and where it was published.
    promises : iterable of str
        Properties of :func:`fairlp.properties`, also with a condition: "envy-free if all weights
        are equal".
    domain : iterable of (Domain or callable)
        What an instance must be: functions Instance → why it is not so, or None.
    gamma : callable
        Instance → Γ, the tasks that count as a share of 1, shape (N,); by default those of the
        dominant share.
    whole_tasks : bool
        Whether its tasks are whole.
    region : callable, optional
        (Model, Instance, tasks over users and servers) → None: adds rows to a model, which every
        allocation has to keep besides capacities, task limits and placement. Audits of feasibility,
        waste and Pareto optimality ask within them.

    Returns
    -------
    callable
        Function → :class:`OwnMechanism`, which is taken, as is its name, wherever a mechanism is:
        allocate, compare, validate, audit, promises, counterexample, studies, simulation; on the
        command line as ``-m package.module:function`` or ``-m file.py:function``.

    Raises
    ------
    UnknownNameError
        For a name that is one of fairlp's, or without a name.

    Examples
    --------
    Memory first: no user's memory share may be raised by lowering a smaller one.

    >>> import fairlp
    >>> @fairlp.mechanism("memory-first", source="our note", promises=("Pareto-optimal",))
    ... def memory_first(instance):
    ...     n, r = instance.users, instance.resources
    ...     model = fairlp.Model("Memory first", indices=(n, r))
    ...     d = model.parameter("d", (n, r), instance.demands)
    ...     c = model.parameter("c", (r,), instance.pool)
    ...     memory = model.parameter("m", (n,), instance.demands[:, -1] / instance.pool[-1])
    ...     x = model.variable("x", n)
    ...     model.constraint("capacity", (d * x).sum(n) <= c)
    ...     fairness = model.leximin(memory * x)
    ...     model.define("tasks", x)
    ...     return model
    >>> instance = fairlp.Instance.from_arrays([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"])
    >>> fairlp.allocate(instance, memory_first).totals.round(6).to_dict()
    {'A': 0.692308, 'B': 2.769231}
    >>> fairlp.allocate(instance, "memory-first").certify(exact=True).holds
    True
    """
    if callable(name):  # the decorator without its parentheses
        raise UnknownNameError(
            f"{_called(name)} has no name as a mechanism; write @fairlp.mechanism('its-name')"
        )
    conditions = [domain] if callable(domain) or isinstance(domain, Domain) else domain
    fields = {
        "name": name,
        "title": title,
        "source": source,
        "promises": tuple([promises] if isinstance(promises, str) else promises),
        "domain": tuple(
            condition
            if isinstance(condition, Domain)
            else Domain(_called(condition).strip("_"), condition)
            for condition in conditions
        ),
        "gamma": gamma,
        "whole_tasks": whole_tasks,
        "region": region,
    }
    # a function of the module, not of this call, so that the decorator can be pickled
    return partial(_declare, fields)


def _declare(fields: Mapping[str, Any], function: Callable[[Instance], Any]) -> OwnMechanism:
    """Put a function into the table of mechanisms, with what was declared of it."""
    name = fields["name"]
    TABLE.require_own_name(name)
    signature = inspect.signature(function)
    remembers = "state" in signature.parameters
    row = OwnMechanism(
        formulation=None,
        methods=(Method(UNKNOWN, _either, solves=True),),
        options=("state",) if remembers else (),
        compared=False,
        function=function,
        **{**fields, "title": fields["title"] or inspect.getdoc(function) or name},
    )
    if row.promises:
        from ..auditing.promises import claims

        claims(row)  # names of properties and conditions are checked where they are said
    kind = signature.return_annotation
    if remembers:
        _settle(row, False)
    elif kind is not inspect.Signature.empty:
        _settle(row, getattr(kind, "__name__", str(kind)).rpartition(".")[2] == "Model")
    OWN[name] = row
    return row


def _called(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _returned(function: Callable[..., Any], name: str, instance: Instance, *state: Any) -> Any:
    """Return what a function of one's own returns; an error of its own says whose it is."""
    try:
        return function(instance, *state)
    except FairlpError:
        raise
    except Exception as error:
        error.add_note(f"raised by the function of mechanism {quoted(name)}")
        raise


def tasks_of(returned: Any, instance: Instance, name: str) -> np.ndarray:
    """Return what a procedure returned as users × servers; raise where it is of another form."""
    axes = (instance.users, instance.servers)
    subject = f"what {quoted(name)} returned (a Model, or tasks by user and server)"
    tasks = labelled(returned, subject, *axes, fewest=1 if len(instance.servers) == 1 else 2)
    tasks = tasks.reshape(instance.shape)
    refused = ~(np.isfinite(tasks) & (tasks >= 0))
    refuse(refused, tasks, axes, subject, "a finite number >= 0", InstanceError)
    return tasks


def _settle(row: OwnMechanism, is_model: bool) -> None:
    """Put down which kind of function it is."""
    name, run = (MODEL, solve_model) if is_model else (PROCEDURE, _Procedure(row.function))
    first = Method(name, run, solves=is_model)
    _set(
        row,
        methods=(*(method for method in row.methods if method.name != UNKNOWN), first),
        formulation=partial(_model, row.function, row.name) if is_model else None,
        prove=prove if is_model else None,
    )


def _model(function: Callable[..., Any], name: str, instance: Instance) -> Model:
    """Return what a formulation returns, which must be a model."""
    returned = _returned(function, name, instance)
    if not isinstance(returned, Model):
        raise ModelError(f"mechanism {quoted(name)} returned {type(returned).__name__}, no Model")
    return returned


def _either(call: MethodCall) -> TasksResult:
    raise NotDefinedError(f"mechanism {call.mechanism.name!r} was never asked what it returns")


def _imported(module: str, function: str) -> OwnMechanism:
    """Return a mechanism by reference, in another process."""
    imported: OwnMechanism = getattr(importlib.import_module(module), function)
    return imported


def _declared(state: dict[str, Any]) -> OwnMechanism:
    """Return a mechanism that came as it was, in another process."""
    row = OwnMechanism(**state)
    OWN[row.name] = row
    return row


def _set(row: OwnMechanism, **changes: Any) -> None:
    for name, value in changes.items():
        object.__setattr__(row, name, value)


__all__ = ["OwnMechanism", "mechanism"]
