"""``@fairlp.mechanism``: a mechanism of one's own, as good as those of the table wherever a mechanism is taken."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import FairlpError, InstanceError, ModelError, NotDefinedError, UnknownNameError, require_own_name
from ..formulations import normalisers
from ..models.notation.labels import aligned
from .capacity import overuse
from .domains import Domain
from .mechanism import Asked, Mechanism, Method, Tasks
from .own_models import solve_model
from .own_proofs import compare_methods, prove
from .table import FAMILIES, OWN

if TYPE_CHECKING:
    from ..models.instances.instance import Instance
    from ..models.notation.model import Model

#: What a method of one's own is called: by a model, by a procedure, and before it is known which.
MODEL, PROCEDURE, UNKNOWN = "lp", "procedure", "own"


@dataclass(frozen=True, eq=False, repr=False)
class OwnMechanism(Mechanism):
    """A row of the table that somebody else wrote: what ``@fairlp.mechanism`` makes of a function.

    Call it as the function that it was; give it, or its name, wherever a mechanism is taken.

    Attributes
    ----------
    function : callable
        Instance → Model (a formulation), or Instance → tasks (a procedure).
    """

    function: Callable[[Instance], Any] = field(kw_only=True)

    def __call__(self, instance: Instance) -> Any:
        """Return what the function returns: a Model, or tasks."""
        return self.function(instance)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel by reference where the function can be imported, else as it is (its methods as well)."""
        reference = self.reference
        if reference is not None:
            return _imported, tuple(reference.split(":"))
        state = {one.name: getattr(self, one.name) for one in fields(self)}
        return _declared, (state,)

    @property
    def reference(self) -> str | None:
        """``module:function``, by which another process finds it; None where it cannot (a notebook's, a script's)."""
        home, path = getattr(self.function, "__module__", None), getattr(self.function, "__qualname__", "")
        module = sys.modules.get(home or "")
        if home == "__main__" or "." in path or getattr(module, path, None) is not self:
            return None
        return f"{home}:{path}" if importlib.util.find_spec(str(home)) is not None else None

    @property
    def faster(self) -> dict[str, Callable[[Instance], Any]]:
        """The functions of the methods that were added, by name."""
        return {one.name: one.run.function for one in self.methods[:-1] if isinstance(one.run, _Procedure)}

    def __repr__(self) -> str:
        return f"<Mechanism {self.name!r}: {', '.join(self.method_names)}>"

    def method(
        self, name: str, *, applies: Callable[[Instance], bool] | None = None, needs: str = "", cost: str = ""
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
            raise UnknownNameError(f"a method of {self.name!r} cannot be called {name!r}")

        def add(function: Callable[[Instance], Any]) -> Callable[[Instance], Any]:
            own = Method(name, _Procedure(function), applies=applies, needs=needs, cost=cost)
            others = tuple(method for method in self.methods if method.name != name)
            _set(self, methods=(own, *others))
            return function

        return add

    def method_name(self, name: str) -> str:
        """Return the name of the method that is meant; of a function that was never asked, of either kind."""
        if self.methods[-1].name == UNKNOWN and name in (MODEL, PROCEDURE):
            return name
        return super().method_name(name)

    def defined_for(self, instance: Instance) -> OwnMechanism:
        """Return self, knowing whether the function returns a model or tasks: it is asked once, with this instance."""
        if self.methods[-1].name == UNKNOWN:
            _settle(self, _is_model(_returned(self.function, instance, self.name), self.name))
        return self


@dataclass(frozen=True)
class _Procedure:
    """The method of a function that returns tasks."""

    function: Callable[[Instance], Any]

    def __call__(self, asked: Asked) -> Tasks:
        name = asked.mechanism.name
        tasks = tasks_of(_returned(self.function, asked.instance, name), asked.instance, name)
        over = _over(asked.instance, tasks)
        return Tasks(tasks, notes=() if over is None else (f"{name!r} gave out more than there is: {over}",))


def mechanism(
    name: str,
    *,
    title: str = "",
    source: str = "",
    promises: Iterable[str] = (),
    domain: Iterable[Domain | Callable[[Instance], str | None]] = (),
    gamma: Callable[[Instance], np.ndarray] = normalisers.dominant,
    whole_tasks: bool = False,
    region: Callable[[Model, Instance, Any], object] | None = None,
) -> Callable[[Callable[[Instance], Any]], OwnMechanism]:
    """Make a mechanism of a function: a decorator.

    The function takes an Instance and returns either

    * a :class:`~fairlp.Model` (a formulation). It says what its tasks are by ``model.define("tasks", …)``, over users
      and servers (over users, where there is one server). It is a leximin where it maximises a variable ``t`` and has
      rows ``fairness`` of the form … ≥ w·t; otherwise it is solved once; or
    * tasks (a procedure): an array or a labelled table, users × servers (or by user, where there is one server).

    Parameters
    ----------
    name : str
        Not that of one of fairlp's. Declaring one's own again replaces it.
    title, source : str
        What it is, and where it was published.
    promises : iterable of str
        Properties of :func:`fairlp.properties`, also with a condition: "envy-free if all weights are equal".
    domain : iterable of (Domain or callable)
        What an instance must be: functions Instance → why it is not so, or None.
    gamma : callable
        Instance → Γ, the tasks that count as a share of 1, shape (N,); by default those of the dominant share.
    whole_tasks : bool
        Whether its tasks are whole.
    region : callable, optional
        (Model, Instance, tasks over users and servers) → None: adds rows to a model, which every allocation has to
        keep besides capacities, task limits and placement. Audits of feasibility, waste and Pareto optimality ask
        within them.

    Returns
    -------
    callable
        Function → :class:`OwnMechanism`, which is taken, as is its name, wherever a mechanism is: allocate, compare,
        validate, audit, promises, counterexample, studies, simulation; on the command line as
        ``-m package.module:function`` or ``-m file.py:function``.

    Raises
    ------
    UnknownNameError
        For a name that is one of fairlp's, or without a name.

    Examples
    --------
    Memory first: nobody's memory share may be raised by lowering a smaller one.

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
    >>> fairlp.allocate(instance, "memory-first").certify(exact=True).proved
    True
    """
    if callable(name):  # the decorator without its parentheses
        raise UnknownNameError(f"{_called(name)} has no name as a mechanism; write @fairlp.mechanism('its-name')")
    conditions = [domain] if callable(domain) or isinstance(domain, Domain) else list(domain)
    for one in conditions:
        if not callable(one) and not isinstance(one, Domain):
            raise UnknownNameError(
                f"domain of {name!r} has {one!r}; expected functions: why an instance is not so, or None"
            )

    def declare(function: Callable[[Instance], Any]) -> OwnMechanism:
        if not callable(function):
            raise UnknownNameError(f"mechanism {name!r} is to be a function of an Instance, not {function!r}")
        require_own_name(name, FAMILIES, "mechanism")
        row = OwnMechanism(
            name,
            title or inspect.getdoc(function) or name,
            source,
            None,
            gamma,
            (Method(UNKNOWN, _either, solves=True),),
            tuple([promises] if isinstance(promises, str) else promises),
            tuple(one if isinstance(one, Domain) else Domain(_called(one).strip("_"), one) for one in conditions),
            whole_tasks=whole_tasks,
            region=region,
            compared=False,
            function=function,
        )
        kind = inspect.signature(function).return_annotation
        if kind is not inspect.Signature.empty:
            _settle(row, getattr(kind, "__name__", str(kind)).rpartition(".")[2] == "Model")
        OWN[name] = row
        return row

    return declare


def _called(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _returned(function: Callable[[Instance], Any], instance: Instance, name: str) -> Any:
    """Return what somebody's function returns; an error of its own says whose it is."""
    try:
        return function(instance)
    except FairlpError:
        raise
    except Exception as error:
        error.add_note(f"raised by the function of mechanism {name!r}")
        raise


def tasks_of(found: Any, instance: Instance, name: str) -> np.ndarray:
    """Return what a procedure returned as users × servers; raise where it is of another form."""
    whole = (len(instance.users), len(instance.servers))
    ordered = aligned(found, (instance.users, instance.servers), f"what {name!r} returned", InstanceError)
    try:
        given = np.asarray(ordered, dtype=float)
    except (TypeError, ValueError):
        raise InstanceError(
            f"{name!r} returned {type(found).__name__}; expected a Model, or tasks: "
            f"{whole[0]} users × {whole[1]} servers"
        ) from None
    if given.shape == whole[:1] and whole[1] == 1:
        given = given[:, None]
    if given.shape != whole:
        raise InstanceError(
            f"{name!r} returned tasks of shape {given.shape}; expected {whole}: {whole[0]} users × {whole[1]} servers"
        )
    wrong = ~(np.isfinite(given) & (given >= 0))
    if wrong.any():
        n, i = np.argwhere(wrong)[0]
        raise InstanceError(
            f"{name!r} gave user {instance.users[n]!r} {given[n, i]:g} tasks on server {instance.servers[i]!r}; "
            "expected numbers >= 0"
        )
    return given


def _over(instance: Instance, tasks: np.ndarray) -> str | None:
    """Return where tasks are over a capacity by more than rounding, in words."""
    over = overuse(instance, tasks)
    if over is None:
        return None
    server, resource, times = over
    return f"server {server!r} uses {times:.6g} times its {resource!r}"


def _is_model(found: Any, name: str) -> bool:
    from ..models.notation.model import Model

    if found is None:
        raise ModelError(f"mechanism {name!r} returned nothing; expected a Model, or tasks (users × servers)")
    return isinstance(found, Model)


def _settle(row: OwnMechanism, is_model: bool) -> None:
    """Put down which kind of function it is."""
    name, run = (MODEL, solve_model) if is_model else (PROCEDURE, _Procedure(row.function))
    first = Method(name, run, solves=is_model)
    _set(
        row,
        methods=(*(method for method in row.methods if method.name != UNKNOWN), first),
        formulation=_Formulation(row.name, row.function) if is_model else None,
        prove=prove if is_model else None,
        validate=compare_methods,
    )


@dataclass(frozen=True)
class _Formulation:
    """The formulation of a function, which must return a model."""

    name: str
    function: Callable[[Instance], Any]

    def __call__(self, instance: Instance) -> Model:
        found = _returned(self.function, instance, self.name)
        if not _is_model(found, self.name):
            raise ModelError(f"mechanism {self.name!r} is a formulation and returned {type(found).__name__}, no Model")
        model: Model = found
        return model


def _either(asked: Asked) -> Tasks:
    raise NotDefinedError(f"mechanism {asked.mechanism.name!r} was never asked what it returns")


def _imported(module: str, function: str) -> OwnMechanism:
    """Return a mechanism by reference, in another process."""
    found: OwnMechanism = getattr(importlib.import_module(module), function)
    return found


def _declared(state: dict[str, Any]) -> OwnMechanism:
    """Return a mechanism that came as it was, in another process."""
    row = OwnMechanism(**state)
    OWN[row.name] = row
    return row


def _set(row: OwnMechanism, **changes: Any) -> None:
    for name, value in changes.items():
        object.__setattr__(row, name, value)


__all__ = ["OwnMechanism", "mechanism"]
