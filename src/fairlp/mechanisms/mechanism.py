"""The definition of a mechanism, and the way from a call to an answer.

``run`` picks the method, and ``finish`` builds the answer.

A method is a function of a :class:`MethodCall` and returns a :class:`MethodResult`; it neither
clocks itself nor knows what an :class:`~fairlp.mechanisms.allocation.Allocation` is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast, get_args

import numpy as np
import pandas as pd

from ..errors import (
    FairlpError,
    InstanceError,
    NotDefinedError,
    UnknownNameError,
    UnsupportedError,
    named,
    quoted,
    require_known,
)
from ..formulations.normalisers import tasks_at_level_1
from ..models.instances.arithmetic import is_extreme
from ..models.programs.proof import Proof
from ..tolerances import VERIFIED
from .allocation import Allocation, Region, altered
from .literature import Reference, cited

if TYPE_CHECKING:
    from ..models.instances.instance import Instance
    from ..models.notation.model import Model
    from ..models.programs.backends import AnySolver
    from ..solvers.leximin.programs import RoundPrices

__all__ = ["QUOTAS", "RATES", "Division", "Mechanism", "run"]

# What an instance must be for a mechanism to be defined: one small check each, named in the table.


@dataclass(frozen=True)
class Domain:
    """A condition on instances: a name, and a function that returns why an instance fails it.

    The function returns None where the instance meets the condition.
    """

    name: str
    reason: Callable[[Instance], str | None]

    def __str__(self) -> str:
        return self.name


def _several_servers(instance: Instance) -> str | None:
    if instance.n_servers == 1:
        return None
    return (
        f"it shares one server and there are {instance.n_servers} (instance.pooled() makes one of "
        "them, "
        "if tasks may be spread over servers)"
    )


def _constraints(instance: Instance) -> str | None:
    if not instance.has_constraints:
        return None
    user = instance.users[
        int(np.argmax(np.asarray(instance.eligible.sum(axis=1)) < len(instance.servers)))
    ]
    return f"it has no placement constraints, and user {quoted(user)} may not run everywhere"


def _rates(instance: Instance) -> str | None:
    return (
        None
        if not instance.has_rates
        else "it works with demands and capacities, and rates are given"
    )


def _limits(instance: Instance) -> str | None:
    limited = instance.task_limits != float("inf")
    if not limited.any():
        return None
    return (
        f"it has no task limits, and user {quoted(instance.users[int(limited.argmax())])} has one"
    )


def _weights_by_resource(instance: Instance) -> str | None:
    return (
        None
        if not instance.has_resource_weights
        else "it takes one weight for each user, not one for each resource"
    )


def _limits_of_queues(instance: Instance) -> str | None:
    queues = instance.tree
    if not queues.has_limits:
        return None
    v = int((queues.guarantees.any(axis=1) | queues.capped.any(axis=1)).argmax())
    which = "a guarantee" if queues.guarantees[v].any() else "a cap"
    return f"it knows no guarantees and caps of queues, and queue {quoted(queues.paths[v])} has {which}"


def _guarantees(instance: Instance) -> str | None:
    queues = instance.tree
    if not queues.guarantees.any():
        return None
    path = queues.paths[int(queues.guaranteed[0])]
    return f"it serves whole tasks and knows caps of queues only, and queue {quoted(path)} has a guarantee"


def _no_quotas(instance: Instance) -> str | None:
    if instance.tree.quotas is not None:
        return None
    return "it shares quotas of queues (nominal, borrowing, lending), and no queue has one"


def _weights_apart(instance: Instance) -> str | None:
    if np.ptp(instance.weights) == 0:
        return None
    return "its users have equal shares, and weights differ"


def _sizes(instance: Instance) -> str | None:
    other = (instance.demands != instance.demands[0]).any(axis=1)
    if not other.any():
        return None
    first = instance.users[0]
    user = instance.users[int(other.argmax())]
    return (
        f"it shares slices of one size, and a task of user {quoted(user)} is another than one of user "
        f"{quoted(first)}"
    )


def _no_rates(instance: Instance) -> str | None:
    if instance.has_rates:
        return None
    return (
        "it shares servers by the throughputs of jobs, and no rates are given (rates=, users × "
        "servers)"
    )


ONE_SERVER = Domain("one server", _several_servers)
NO_CONSTRAINTS = Domain("no placement constraints", _constraints)
NO_RATES = Domain("no rates", _rates)
NO_LIMITS = Domain("no task limits", _limits)
ONE_WEIGHT = Domain("one weight a user", _weights_by_resource)
NO_GUARANTEES = Domain("no guarantees of queues", _guarantees)
NO_QUEUE_LIMITS = Domain("no guarantees or caps of queues", _limits_of_queues)
QUOTAS = Domain("quotas of queues", _no_quotas)
RATES = Domain("given rates", _no_rates)
EQUAL_WEIGHTS = Domain("equal weights", _weights_apart)
ONE_SIZE = Domain("tasks of one size", _sizes)

#: The condition of promises that rows who share by weights make.
BY_WEIGHTS = "no entitlements are given"


#: What servers divide: their resources, or their time.
Division = Literal["rdm", "tdm"]


def division_named(name: str) -> Division:
    """Return the division that is meant: of resources, or of time."""
    return cast(Division, named(name, get_args(Division), "division"))


@dataclass(frozen=True)
class Method:
    """A way to a mechanism's result.

    Attributes
    ----------
    name : str
    run : callable
        Asked → Outcome.
    applies : callable or None
        Instance → whether the method gives the mechanism's exact result there (None: always).
    pays : callable or None
        Instance → whether ``auto`` is to take it there (None: wherever it is exact).
    options : tuple of str or None
        Options of the mechanism that it takes (None: all of them).
    needs, cost : str
        When it is exact, and what it costs, in words.
    solves : bool
        Whether it puts a model before a solver, whose options it then takes.
    solver_options : tuple of str
        Options of a solver that it takes where the solver is its own.
    by_name : bool
        Whether ``auto`` never takes it.
    merges : bool
        Whether it merges identical servers and proportional users, unless ``merge=False``.
    largest_pairs : int or None
        Pairs of user and server beyond which ``validate`` leaves it out: it would take minutes.
    """

    name: str
    run: Callable[[MethodCall], MethodResult]
    applies: Callable[[Instance], bool] | None = None
    pays: Callable[[Instance], bool] | None = None
    options: tuple[str, ...] | None = None
    needs: str = ""
    cost: str = ""
    solves: bool = False
    solver_options: tuple[str, ...] = ()
    by_name: bool = False
    merges: bool = False
    largest_pairs: int | None = None

    def is_exact_for(self, instance: Instance) -> bool:
        """Whether the method gives the mechanism's exact result for this instance."""
        return self.applies is None or self.applies(instance)

    def lacks(self, parameters: Mapping[str, Any]) -> list[str]:
        """Return the mechanism's options among these that the method does not take.

        Options of the value None or False ask for nothing.
        """
        if self.options is None:
            return []
        call = [
            name for name, value in parameters.items() if value is not None and value is not False
        ]
        return [name for name in call if name not in self.options]


@dataclass(frozen=True)
class Mechanism:
    """One row of the table: a rule for sharing, as the literature states it.

    Attributes
    ----------
    name, title, source : str
    formulation : callable or None
        Instance → Model (None for a procedure that has no model of its own).
    gamma : callable
        Instance → Γ, the tasks that count as a share of 1, shape (N,).
    methods : tuple of Method
        Fastest first; ``auto`` takes the first that is exact.
    promises : tuple of str
        Properties that hold: "PROPERTY [if CONDITION [and CONDITION …]] [(ours)]".
    domain : tuple of Domain
        What the instance must be.
    options : tuple of str
        Options of the mechanism itself.
    agrees_by_proof : bool
        Whether ``validate`` compares proofs in place of tasks: several answers are right, or tasks
        are less certain than what is optimised.
    prove : callable or None
        (Allocation, exact) → Proof: whether it is what the mechanism says, proved without the
        method that made it.
    at_level_1 : callable or None
        Instance → tasks of each user at level 1 (None: φΓ).
    level_1_of : callable or None
        Allocation → tasks of each user at level 1, where they depend on options or the answer.
    entitled : bool
        Whether it shares by entitlements where an instance has some (the others share by weights).
    along_tree : bool
        Whether it shares along the tree of queues (the others know their guarantees and caps at
        most).
    compared : bool
        Whether ``compare`` takes it when it is asked for nothing in particular.
    whole_tasks : bool
        Whether tasks are whole (a task that fits no server then never runs).
    division : {"rdm", "tdm"}
        What servers divide under it.
    arrivals : bool
        Whether users arrive one by one (the answer is a DynamicAllocation).
    limits : {"any", "never", "always"}
        Whether its promises are meant for users with task limits.
    region : callable or None
        (Model, Instance, tasks over users and servers) → None: adds the rows of its feasible region
        besides capacities, limits and placement; audits ask within them.
    reports_rates : bool
        Whether users report their rates, where they are given: a search for lies tries others.
    whole : Mechanism or None
        What it is with ``whole=True``: the same rule over whole tasks.
    variant : callable or None
        (row, options) → the row as it is under other options of the mechanism.
    """

    name: str
    title: str
    source: str
    formulation: Callable[..., Model] | None
    gamma: Callable[[Instance], np.ndarray]
    methods: tuple[Method, ...]
    promises: tuple[str, ...] = ()
    domain: tuple[Domain, ...] = ()
    options: tuple[str, ...] = ()
    agrees_by_proof: bool = False
    prove: Callable[[Allocation, bool], Proof] | None = None
    at_level_1: Callable[[Instance], np.ndarray] | None = None
    level_1_of: Callable[[Allocation], np.ndarray] | None = None
    entitled: bool = False
    along_tree: bool = False
    compared: bool = True
    whole_tasks: bool = False
    division: Division = "rdm"
    arrivals: bool = False
    limits: Literal["any", "never", "always"] = "any"
    region: Region | None = None
    reports_rates: bool = False
    whole: Mechanism | None = None
    variant: Callable[[Mechanism, Mapping[str, Any]], Mechanism] | None = None

    def under(self, options: Mapping[str, Any]) -> Mechanism:
        """Return the row as it is under these options: ``whole=True`` asks for whole tasks."""
        if self.variant is not None:
            return self.variant(self, options)
        chosen = options.get("whole")
        if self.whole is None or chosen is None:
            return self
        if not isinstance(chosen, bool | np.bool_):
            raise InstanceError(f"whole is {chosen!r}; expected True or False")
        return self.whole if chosen else self

    @property
    def reference(self) -> str | None:
        """The name by which another process finds it; None where it has none."""
        return self.name

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        """The functions of the user that it is made of: none of one of fairlp's."""
        return ()

    @property
    def remembers(self) -> bool:
        """Whether it takes the state that an earlier allocation left, and leaves one."""
        return "state" in self.options

    @property
    def references(self) -> tuple[Reference, ...]:
        """The papers that its source names, as far as the page of the literature lists them."""
        return cited(self.source)

    @property
    def bibtex(self) -> str:
        """BibTeX entries of the papers that its source names."""
        return "\n\n".join(reference.bibtex for reference in self.references)

    @property
    def method_names(self) -> tuple[str, ...]:
        """Names of the methods, fastest first."""
        return tuple(method.name for method in self.methods)

    @property
    def shares_one_server(self) -> bool:
        """Whether it is defined for one server only."""
        return ONE_SERVER in self.domain

    def method_name(self, name: str) -> str:
        """Return the name of the method that is meant, "auto" among them, in any case."""
        return named(name, ["auto", *self.method_names], "method", f"mechanism {self.name!r}")

    def method_called(self, name: str) -> Method:
        """Return the method of that name, in any case."""
        full_name = named(name, self.method_names, "method", f"mechanism {self.name!r}")
        return next(method for method in self.methods if method.name == full_name)

    def fastest(
        self,
        instance: Instance,
        parameters: Mapping[str, Any],
        *,
        solver_options: Collection[str] = (),
        names_solver: bool = False,
    ) -> Method:
        """Return the first method that is exact for the instance and takes these options.

        Where a solver was named it is the first that puts a model before a solver. Options of a
        solver, such as ``time_limit``, are also taken by methods that list them.
        """
        exact = [method for method in self.methods if method.is_exact_for(instance)]
        if names_solver or solver_options:
            exact = [
                method
                for method in exact
                if method.solves
                or (not names_solver and set(solver_options) <= set(method.solver_options))
            ]
        if not exact:
            raise UnknownNameError(
                f"no method of mechanism {self.name!r} takes {', '.join(solver_options) or 'a solver'}; methods: "
                f"{', '.join(self.method_names)}"
            )
        candidates = [
            method for method in exact if not method.by_name and not method.lacks(parameters)
        ]
        if not candidates:
            self.refuse(exact[0], parameters)
        return next(
            (method for method in candidates if method.pays is None or method.pays(instance)),
            candidates[0],
        )

    def refuse(self, method: Method, parameters: Mapping[str, Any]) -> None:
        """Raise when the method lacks one of these options; the message names others."""
        lacking = method.lacks(parameters)
        if lacking:
            takers = [other.name for other in self.methods if not other.lacks({lacking[0]: True})]
            raise UnknownNameError(
                f"method {method.name!r} has no option {lacking[0]!r}; it is one of {', '.join(takers)}"
            )

    def require_solving(self, method: Method, solver: str) -> None:
        """Raise where the method would not use the solver that was named."""
        if method.solves or solver == method.name:
            return
        raise UnknownNameError(
            f"method {method.name!r} of {self.name!r} does not use the solver {solver!r}; leave solver= out, "
            "or take a method that solves programs"
        )

    def tasks_per_level(self, instance: Instance) -> np.ndarray:
        """Return the tasks of each user at level 1, shape (N,)."""
        return (
            tasks_at_level_1(instance, self.gamma(instance))
            if self.at_level_1 is None
            else self.at_level_1(instance)
        )

    def defined_for(self, instance: Instance) -> Mechanism:
        """Return the row as it is for an instance that it is defined for."""
        return self

    def undefined(self, instance: Instance) -> str | None:
        """Return why the mechanism is not defined for the instance, or None when it is."""
        return next(filter(None, (domain.reason(instance) for domain in self.domain)), None)


@dataclass(frozen=True)
class MethodCall:
    """One call of a method: the instance, the mechanism, the method and all options.

    Attributes
    ----------
    instance : Instance
    mechanism : Mechanism
    method : Method
    solver : str
        For a method that solves a model.
    merge : bool
        Whether identical servers and proportional users may be merged.
    options, parameters : mapping
        Of the solver, and of the mechanism.
    times : dict
        Seconds of the phases so far; see :meth:`phase`.
    """

    instance: Instance
    mechanism: Mechanism
    method: Method
    solver: str = "highs"
    merge: bool = True
    options: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    times: dict[str, float] = field(default_factory=dict)

    @cached_property
    def tasks_per_level(self) -> np.ndarray:
        """Tasks of each user at level 1, shape (N,)."""
        return self.mechanism.tasks_per_level(self.instance)

    @property
    def state(self) -> pd.Series[float] | None:
        """State from an earlier allocation, a finite number for each user; None without one."""
        state = self.parameters.get("state")
        if state is None:
            return None
        if (
            not isinstance(state, pd.Series)
            or not pd.api.types.is_numeric_dtype(state)
            or state.empty
            or state.index.has_duplicates
            or not np.isfinite(state).all()
        ):
            raise InstanceError(
                f"state is {quoted(state)}; expected that of an earlier allocation, a Series with a finite "
                "number for each user"
            )
        if not state.index.isin(self.instance.users.labels).any():
            raise InstanceError(
                f"the state is of other users, such as {quoted(state.index[0])}; expected some of the "
                "instance's, such as "
                f"{quoted(self.instance.users[0])}"
            )
        return state

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Clock a phase; what no phase clocks is ``solve``."""
        start = perf_counter()
        yield
        self.times[name] = self.times.get(name, 0.0) + perf_counter() - start


class MethodResult(Protocol):
    """The numbers that a method returns, and their way into the answer of its kind."""

    @property
    def times(self) -> Mapping[str, float]:
        """Seconds by phase, where the method knows them from a solver."""

    def answer(self, call: MethodCall, times: dict[str, float]) -> Any:
        """Return the Allocation."""


@dataclass(frozen=True)
class TasksResult:
    """The outcome of a mechanism that shares once: tasks by user and server, and evidence.

    The attributes are those of :class:`~fairlp.mechanisms.allocation.Allocation`;
    ``rounds`` and ``state`` may be functions that make the table when it is read.
    ``tasks_per_level`` is φΓ by default. ``uncertain`` is the relative error of a level, to first
    order: errors that grew from round to round, and what rounding displaces. ``shares_along_tree``: whether the
    weights of queues count by the call's options, where the mechanism's row does not say so.
    """

    tasks: np.ndarray
    tasks_per_level: np.ndarray | None = None
    prices: np.ndarray | None = None
    round_prices: RoundPrices | None = None
    rounds: pd.DataFrame | Callable[[], pd.DataFrame] | None = None
    gap: float | None = None
    picks: pd.DataFrame | None = None
    certificate: Any = None
    notes: tuple[str, ...] = ()
    unproved: str = ""
    uncertain: float = 0.0
    state: pd.Series[float] | Callable[[], pd.Series[float]] | None = None
    shares_along_tree: bool = False
    times: Mapping[str, float] = field(default_factory=dict)

    def answer(self, call: MethodCall, times: dict[str, float]) -> Allocation:
        """Return the Allocation."""
        gamma = call.mechanism.gamma(call.instance)
        unused_tree = "" if self.shares_along_tree else _unused_tree(call)
        answer = Allocation(
            instance=call.instance,
            mechanism=call.mechanism.name,
            method=call.method.name,
            solver=str(call.solver) if call.method.solves else "",
            tasks_array=self.tasks,
            gamma=gamma,
            tasks_per_level=call.tasks_per_level
            if self.tasks_per_level is None
            else self.tasks_per_level,
            prices_array=self.prices,
            round_prices=self.round_prices,
            times=times,
            rounds=self.rounds,
            gap=self.gap,
            picks=self.picks,
            certificate=self.certificate,
            prove=call.mechanism.prove,
            notes=tuple(filter(None, (*self.notes, self.unproved, unused_tree))),
            unproved=self.unproved,
            parameters=call.parameters,
            region=call.mechanism.region,
            state=self.state,
        )
        return self._judged(answer)

    def _judged(self, answer: Allocation) -> Allocation:
        """Return the answer, with what is not proved of it.

        Where its certificate fails, that. Where the gap of its programs is large, or numbers of the
        instance are hardly floats, the mechanism's own proof decides.
        """
        certified = isinstance(self.certificate, Proof)
        large_gap = not certified and self.gap is not None and not self.gap <= VERIFIED
        reasons = []
        if self.unproved:
            return answer
        if certified and not self.certificate.holds:
            reasons.append(self.certificate.message)
        elif large_gap or is_extreme(answer.instance):
            proof = _proof(answer)
            if large_gap and (proof is None or not proof.holds):
                reasons.append(
                    f"its programs have a duality gap of {self.gap:.3g} (at most {VERIFIED:.3g} is "
                    "expected)"
                )
            if proof is not None and not proof.holds:
                reasons.append(proof.message)
        if not reasons:
            return answer
        doubt = "not proved: " + "; ".join(
            reason.removeprefix("not proved: ") for reason in reasons
        )
        return altered(answer, unproved=doubt, notes=(*answer.notes, doubt))


#: Whether an answer is being proved; proofs may run a mechanism again, and that answer is not
#: proved in turn.
_IS_PROVING = ContextVar("is_proving", default=False)


def _proof(answer: Allocation) -> Proof | None:
    """Return the mechanism's proof of an answer.

    The result is None without a proof, and inside a proof that asks for the answer.
    """
    if answer.prove is None or _IS_PROVING.get():
        return None
    token = _IS_PROVING.set(True)
    try:
        return answer.certify()
    except FairlpError as error:
        return Proof(False, str(error))
    finally:
        _IS_PROVING.reset(token)


def _unused_tree(call: MethodCall) -> str:
    """Return a note where the instance has a tree of queues and the mechanism shares without it."""
    queues = call.instance.queues
    if queues is None or queues.is_flat or call.mechanism.along_tree:
        return ""
    reason = (
        "their guarantees and caps count, their weights do not"
        if queues.has_limits
        else "it does not know of queues"
    )
    sharer = "'gavel' with objective='hierarchical'" if call.instance.has_rates else "'h-drf'"
    return f"shared without the tree of queues: {reason} ({sharer} shares along it)"


def run(
    mechanism: Mechanism,
    instance: Instance,
    *,
    method: str = "auto",
    solver: AnySolver = "highs",
    merge: bool = True,
    **options: Any,
) -> Any:
    """Share an instance by a mechanism that is defined for it; what every entry point comes to.

    Parameters are those of :func:`fairlp.allocate`. Returns an Allocation, or a DynamicAllocation
    where users arrive.
    """
    from ..models.programs.backends import find_backend, is_default, spelt
    from ..models.programs.options import Options

    mechanism = mechanism.under(options)
    name_of_solver = spelt(solver)
    find_backend(name_of_solver)  # a name that does not exist ends it here, whatever the method
    if not isinstance(merge, bool | np.bool_):
        raise UnsupportedError(f"merge is {quoted(merge)}; expected True or False")
    method = mechanism.method_name(method)
    parameters = {name: value for name, value in options.items() if name in mechanism.options}
    of_solver = {name: value for name, value in options.items() if name not in parameters}
    if method == "auto":
        method_row = mechanism.fastest(
            instance,
            parameters,
            solver_options=of_solver,
            names_solver=not is_default(name_of_solver),
        )
    else:
        method_row = mechanism.method_called(method)
        mechanism.refuse(method_row, parameters)
        if not is_default(name_of_solver):
            mechanism.require_solving(method_row, name_of_solver)
        if not method_row.is_exact_for(instance):
            raise NotDefinedError(
                f"method {method_row.name!r} of {mechanism.name!r} is not exact for this instance "
                f"({method_row.needs}); "
                "use method='auto' or 'lp'"
            )
    option_names = {
        *method_row.solver_options,
        *((option.name for option in fields(Options)) if method_row.solves else ()),
    }
    for name in of_solver:
        problem = f"method {method_row.name!r} of {mechanism.name!r} has no option {quoted(name)}"
        require_known(name, [*mechanism.options, *sorted(option_names)], problem)
    return finish(
        MethodCall(
            instance, mechanism, method_row, name_of_solver, bool(merge), of_solver, parameters
        )
    )


def finish(call: MethodCall) -> Any:
    """Run the method, clock it, and make the answer: the only place where one is made."""
    start = perf_counter()
    try:
        # what is beyond floats shows in the answer, which is checked; NumPy's words about it would
        # help no user
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            outcome = call.method.run(call)
            seconds = perf_counter() - start
            times = {**call.times, **outcome.times}
            times.setdefault("solve", seconds - sum(times.values()))
            answer = outcome.answer(call, times)
    except (ArithmeticError, ValueError) as error:
        if isinstance(error, FairlpError) or not (
            isinstance(error, ArithmeticError) or is_extreme(call.instance)
        ):
            raise
        raise _beyond_floats(call) from error
    if not np.isfinite(answer.tasks_array).all():
        raise _beyond_floats(call)
    return answer


def _beyond_floats(call: MethodCall) -> InstanceError:
    return InstanceError(
        "the numbers of this instance are too large, too small or too far apart for "
        f"{call.mechanism.name!r}: sums or "
        "quotients of them are no floats; give resources and weights in other units"
    )


def through(
    solver: str, method: Callable[[MethodCall], MethodResult]
) -> Callable[[MethodCall], MethodResult]:
    """Return a method that puts its models before this solver, whatever solver was named."""
    return lambda call: method(replace(call, solver=solver))
