"""Small instances that break a property: a seeded search, then simplification."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypedDict

import numpy as np
import pandas as pd

from ..api import allocate
from ..errors import FairlpError, FairlpWarning, InstanceError, quoted
from ..formulations import region
from ..mechanisms.mechanism import (
    EQUAL_WEIGHTS,
    NO_CONSTRAINTS,
    NO_GUARANTEES,
    NO_QUEUE_LIMITS,
    NO_RATES,
    ONE_SIZE,
    QUOTAS,
    RATES,
    Mechanism,
)
from ..mechanisms.table import find as find_mechanism
from ..models.instances.arithmetic import quotients
from ..models.instances.instance import Instance, require_instance
from ..models.instances.queues import Queues
from ..models.notation.expressions import Index
from ..models.trees.guarantees import floors
from ..progress import progress_bar
from ..tolerances import SHRINKING_MARGIN
from .audits import case_of, findings_of
from .findings import Deadline, changed
from .properties import PROPERTIES, Property, known, table as property_table

#: Of instances with a tree, the part in which many leaves are blocked: one server, all resources,
#: zero demands.
_BLOCKED = 0.7
#: Of the others, the part with task limits, and a limit as a part of what is due to the user, from
#: and to.
_LIMITED = 0.3
_OF_THEIR_DUE = (0.25, 1.0)
#: Of instances of a mechanism that takes them: the part with given rates, with queues that have
#: guarantees or caps (along a tree and elsewhere), and with a past.
_RATED = 0.15
_LIMITED_TREES = 0.5
_LIMITED_QUEUES = 0.3
_WITH_PAST = 0.25
#: Of instances of a mechanism that shares by entitlements, the part that has some.
_ENTITLED = 0.3


class CounterexampleOptions(TypedDict, total=False):
    """The attributes of :class:`Search` as keywords."""

    seed: int
    tries: int
    users: int
    servers: int
    resources: int
    lies: int
    shrink: bool
    everything: bool
    options: Mapping[str, Any]
    generator: Callable[[np.random.Generator], Instance] | None
    time_limit: float | None
    progress: bool | None


@dataclass(frozen=True)
class Search:
    """A seeded search among small instances for one on which a mechanism breaks a property.

    Attributes
    ----------
    seed : int
        The same seed finds the same instance.
    tries : int
        Instances to look at.
    users, servers, resources : int
        Largest sizes.
    lies : int
        Lies tried on each instance, for strategy-proofness.
    shrink : bool
        Simplify what was found: fewer users, servers, resources; no weights, limits, constraints;
        smaller integers.
    options : mapping
        Options of the mechanism.
    everything : bool
        Draw all that the mechanism takes: given rates, and queues with guarantees and caps, too.
    generator : callable or None
        NumPy generator → Instance: what is drawn in place of random small instances.
    time_limit : float or None
        Seconds after which the mechanism is run no more: on no other instance or lie, and on no
        simpler instance.
    progress : bool or None
        False hides the progress (a bar in a terminal or notebook, lines elsewhere).
    """

    seed: int = 0
    tries: int = 1000
    users: int = 4
    servers: int = 3
    resources: int = 3
    lies: int = 60
    shrink: bool = True
    everything: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    generator: Callable[[np.random.Generator], Instance] | None = None
    time_limit: float | None = None
    progress: bool | None = None
    deadline: Deadline = field(init=False)

    def __post_init__(self) -> None:
        if self.time_limit is not None and not self.time_limit > 0:
            raise InstanceError(f"time_limit is {self.time_limit}; expected seconds above 0")
        time_limit = np.inf if self.time_limit is None else self.time_limit
        object.__setattr__(self, "deadline", Deadline(time_limit))

    def run(self, mechanism: str, property: str) -> SearchResult:
        """Return what the search tried, and the instance that breaks the property, if it has one.

        ``fairlp.audit(instance, fairlp.allocate(instance, mechanism), property)`` shows the
        violation.
        """
        row = find_mechanism(mechanism)
        name = known(property)
        fewest_users = _property_row(name).fewest_users
        if self.users < fewest_users:
            raise InstanceError(
                f"{quoted(name)} is asked of {fewest_users} users or more, and the search has "
                f"users={self.users}"
            )
        errors: list[str] = []
        breaks = partial(self._breaks, row, name, errors)
        result = self._looked(row, name, breaks)
        if result.instance is not None:
            simplest, tried = self._shrunk(result.instance, breaks)
            labels = pd.Index(letters(len(simplest.users)), dtype=object)
            users = Index("n", labels, "user")
            simplest = simplest.derived(users=users, name=f"{row.name} breaks {property}")
            return replace(result, instance=simplest, simpler_tried=tried)
        if result.tried < self.tries:
            self.warn(f"looked at {result.tried} of {self.tries} instances")
        if errors:
            message = (
                f"{row.name!r} failed on {len(errors)} of {result.in_domain} instances in its "
                f"domain: {errors[0]}"
            )
            warnings.warn(message, FairlpWarning, stacklevel=4)
        if result.tried and not result.in_domain:
            message = (
                f"0 of {result.tried} instances were in the domain of {row.name!r}; a generator "
                "may draw such"
            )
            warnings.warn(message, FairlpWarning, stacklevel=4)
        return result

    def _breaks(self, row: Mechanism, name: str, errors: list[str], instance: Instance) -> bool:
        """Whether the mechanism is defined for the instance and clearly breaks the property there.

        An error with which it ends, or the audit, is noted among ``errors``.
        """
        if row.undefined(instance):
            return False
        options = dict(self.options)
        try:
            with warnings.catch_warnings(action="ignore"):
                allocation = allocate(instance, row.name, **options)
                case = case_of(
                    instance,
                    allocation,
                    tries=self.lies,
                    seed=self.seed,
                    options=options,
                    deadline=self.deadline,
                )
                is_plain = getattr(PROPERTIES.get(name), "is_plain", None)
                if is_plain is not None and is_plain(case):
                    return False
                finding = findings_of(case, allocation, name)[name]
        except FairlpError as error:
            errors.append(str(error))
            return False
        return finding.holds is False and finding.margin < -SHRINKING_MARGIN

    def _looked(
        self, row: Mechanism, name: str, breaks: Callable[[Instance], bool]
    ) -> SearchResult:
        """Draw instances until one breaks the property, or the tries or the time are used up."""
        rng = np.random.default_rng(self.seed)
        tries_lies = "(a search)" in str(property_table().loc[name, "asks"])
        tried = 0
        in_domain = 0
        with progress_bar(f"search: {name}", self.tries, 0, self.progress) as count_done:
            while tried < self.tries and not self.time_is_up:
                drawn = self.draw(rng, row, name)
                is_broken = breaks(drawn)
                if not is_broken and self.time_is_up:  # not all lies were tried
                    break
                tried += 1
                in_domain += row.undefined(drawn) is None
                if is_broken:
                    return SearchResult(self, drawn, tries_lies, tried, in_domain)
                count_done()
        return SearchResult(self, None, tries_lies, tried, in_domain)

    @property
    def time_is_up(self) -> bool:
        """Whether the time limit has passed since the search was made."""
        return self.deadline.has_passed

    def draw(self, rng: np.random.Generator, row: Mechanism, property_name: str) -> Instance:
        """Return the next instance to look at."""
        if self.generator is None:
            return random_instance(
                rng,
                row,
                property_name,
                self.users,
                self.servers,
                self.resources,
                everything=self.everything,
            )
        instance = self.generator(rng)
        require_instance(instance)
        return instance

    def warn(self, message: str) -> None:
        """Say what was done until the time was up."""
        warnings.warn(
            f"the time limit of {self.time_limit:g} s ended the search: {message}",
            FairlpWarning,
            stacklevel=5,
        )

    def _shrunk(
        self, instance: Instance, breaks: Callable[[Instance], bool]
    ) -> tuple[Instance, int]:
        """Return the simplest instance that single steps of simplification reach in time, if asked for.

        And the number of simpler instances that were tried.
        """
        tried = 0
        while self.shrink:
            for simpler in _simpler(instance):
                if self.time_is_up:
                    self.warn("what was found could be simpler")
                    return instance, tried
                tried += 1
                if breaks(simpler):
                    instance = simpler
                    break
            else:
                break
        return instance, tried


@dataclass(frozen=True)
class SearchResult:
    """What a search tried, and what it came to.

    Attributes
    ----------
    search : Search
    instance : Instance or None
        It breaks the property; None proves nothing.
    tries_lies : bool
        Whether the property is about lies, of which some are tried.
    tried, in_domain : int
        Instances that were looked at, and for how many of them the mechanism is defined.
    simpler_tried : int
        Simpler instances that were looked at after that.
    """

    search: Search
    instance: Instance | None
    tries_lies: bool
    tried: int
    in_domain: int
    simpler_tried: int = 0

    def __str__(self) -> str:
        search = self.search
        sizes = (
            f"up to {search.users} users, {search.servers} servers and {search.resources} resources"
            if search.generator is None
            else "drawn by the generator"
        )
        details = f"{sizes}; seed {search.seed}; {self.in_domain} in the mechanism's domain"
        if self.tries_lies:
            details += f"; at most {search.lies} lies on each"
        if self.instance is None:
            instances = f"{self.tried} of {search.tries} instances"
            return f"none found in {instances} ({details}), which proves nothing"
        message = f"found on instance {self.tried} of {search.tries} ({details})"
        return f"{message}; {self.simpler_tried} simpler ones were tried after it"


def random_instance(
    rng: np.random.Generator,
    row: Mechanism,
    name: str,
    users: int,
    servers: int,
    resources: int,
    *,
    everything: bool = False,
) -> Instance:
    """Return a random instance of small integers that the mechanism may be defined for.

    Weights, entitlements, placement and task limits are drawn, and queues along which the mechanism shares; with
    ``everything`` also given rates, guarantees and caps of queues, where the mechanism takes them.
    """
    property_row = _property_row(name)
    has_tree = row.along_tree or property_row.tree
    # Trees break where leaves of one pool are blocked by different resources, or satisfied.
    is_blocked = has_tree and rng.random() < _BLOCKED

    # Sizes
    n = users if is_blocked else int(rng.integers(property_row.fewest_users, users + 1))
    k = 1 if row.shares_one_server or is_blocked else int(rng.integers(1, servers + 1))
    r = (
        1
        if property_row.one_resource
        else resources
        if is_blocked
        else int(rng.integers(1, resources + 1))
    )

    # Demands; the papers on users who arrive exclude those of zero.
    has_zeros = is_blocked or (rng.random() < 0.5 and not row.arrivals)
    demands = rng.integers(0 if has_zeros else 1, 3 if is_blocked else 5, (n, r))
    demands[~demands.any(axis=1), 0] = 1
    if ONE_SIZE in row.domain:
        demands[:] = demands[0]

    # Capacities
    capacities = rng.integers(1, 13, (k, r))
    if k > 1 and rng.random() < 0.3:
        capacities[rng.random((k, r)) < 0.25] = 0
        capacities[0] = np.maximum(capacities[0], 1)

    # Weights, constraints, limits and queues
    options: dict[str, Any] = {}
    if rng.random() < 0.3 and EQUAL_WEIGHTS not in row.domain:
        options["weights"] = rng.integers(1, 4, n)
    if row.entitled and rng.random() < _ENTITLED:
        options["entitlements"] = as_entitlements(rng.integers(1, 10, n))
    if k > 1 and NO_CONSTRAINTS not in row.domain and rng.random() < 0.6:
        eligible = rng.random((n, k)) < 0.6
        eligible[np.arange(n), rng.integers(0, k, n)] = True
        options["eligible"] = eligible
    limited_part = 0.5 if is_blocked else _LIMITED
    is_limited = row.limits == "always" or (row.limits == "any" and rng.random() < limited_part)
    takes_limits = NO_QUEUE_LIMITS not in row.domain and (everything or property_row.tree)
    has_limits = takes_limits and rng.random() < (_LIMITED_TREES if has_tree else _LIMITED_QUEUES)
    if has_tree or has_limits:
        options |= random_tree(
            rng,
            n,
            r,
            capacities.sum(axis=0),
            limits=has_limits,
            guarantees=NO_GUARANTEES not in row.domain,
        )
        if QUOTAS in row.domain:
            _add_quotas(rng, options["queues"], r)

    # A resource that is the dominant one of all users
    if property_row.common_resource:
        demands[:, 0] = _dominating(demands, capacities, options.get("eligible"))
    if property_row.pool_resource:
        pool = capacities.sum(axis=0)
        needed = quotients(demands * pool[0], pool).max(axis=1)
        demands[:, 0] = np.maximum(np.ceil(needed), 1)

    # Rates where tasks can run
    takes_rates = everything and NO_RATES not in row.domain and rng.random() < _RATED
    if RATES in row.domain or takes_rates:
        can_run = ((demands[:, None, :] == 0) | (capacities > 0)).all(axis=2)
        options["rates"] = can_run * rng.integers(0, 5, (n, k))
    instance = Instance.from_arrays(demands, capacities, **options)
    if is_limited:
        instance = instance.derived(task_limits=_binding_limits(rng, instance, row))
    return _without_excess(instance)


def _binding_limits(rng: np.random.Generator, instance: Instance, row: Mechanism) -> np.ndarray:
    """Return task limits of half of the users, near the half of what each would get.

    At least one user has a limit. A user would get about its fair part of the tasks that it
    could run alone; some limits are below and some above.
    """
    weights = instance.weights.reshape(len(instance.users), -1).mean(axis=1)
    parts = weights / weights.sum() if instance.entitlements is None else instance.entitlements
    due = instance.gamma().sum(axis=1) * parts
    parts_of_due = rng.uniform(*_OF_THEIR_DUE, len(due))
    limits = np.maximum(np.round(due * parts_of_due, 1), 0.1)
    if row.whole_tasks:
        limits = np.maximum(np.rint(limits), 1.0)
    without = rng.random(len(due)) < 0.5
    without[rng.integers(len(due))] = False
    if row.limits == "always":
        without[:] = False
    return np.where(without, np.inf, limits)


def _property_row(name: str) -> Property:
    """Return the property; one of every step has the row of Pareto optimality."""
    return PROPERTIES.get(name, PROPERTIES["Pareto-optimal"])


def random_tree(
    rng: np.random.Generator,
    users: int,
    resources: int,
    pool: np.ndarray,
    *,
    limits: bool,
    guarantees: bool = True,
) -> Any:
    """Return a random tree over users: three queues with weights, perhaps guarantees and caps."""
    paths = ["", "a", "b", "a/c"]
    queue = [paths[k] for k in rng.integers(0, len(paths), users)]
    queues: dict[str, Any] = {}
    for path in paths[1:]:
        queues[path] = {"weight": int(rng.integers(1, 4))}
    if not limits:
        return {"queue": queue, "queues": queues}
    kind = rng.choice(["cap", "guarantee", "both"]) if guarantees else "cap"
    capped, guaranteed = rng.choice(len(paths) - 1, 2, replace=False) + 1
    if kind != "guarantee":
        r = int(rng.integers(resources))
        cap = int(rng.integers(1, pool[r] + 1))
        queues[paths[capped]]["cap"] = {f"resource{r + 1}": cap}
    if kind != "cap":
        named = rng.random(resources) < 0.7
        named[rng.integers(resources)] = True
        parts = rng.integers(1, 4, resources) / 4
        amounts = (pool[:resources] * parts).round(1)
        queues[paths[guaranteed]]["guarantee"] = {
            f"resource{r + 1}": float(amounts[r]) for r in np.flatnonzero(named)
        }
    return {"queue": queue, "queues": queues}


def _without_excess(instance: Instance) -> Instance:
    """Return the instance; where its guarantees do not fit on the servers, without them."""
    tree = instance.tree
    if not tree.guarantees.any():
        return instance
    solution = region.shortfall(instance, floors(instance)).solve()
    fits = solution.objective is not None and solution.objective <= SHRINKING_MARGIN
    if fits:
        return instance
    table = tree.table(instance.resources)
    is_guarantee = table.columns.str.startswith("guarantee:")
    return instance.replace(queues=table.loc[:, ~is_guarantee])


def random_past(rng: np.random.Generator, row: Mechanism, instance: Instance) -> dict[str, Any]:
    """Return options of a mechanism that remembers: now and then what an earlier period left.

    Some of the users were there, with other limits.
    """
    if not row.remembers or rng.random() >= _WITH_PAST:
        return {}
    was_there = rng.random(len(instance.users)) < 0.7
    was_there[rng.integers(len(was_there))] = True
    earlier = instance.derived(task_limits=rng.permutation(instance.task_limits))
    first: dict[str, Any] = {}
    if "credits" in row.options:
        first["credits"] = int(rng.choice([0, 3, 1000]))
    try:
        earlier_users = earlier.select_users(np.flatnonzero(was_there))
        return {"state": allocate(earlier_users, row.name, **first).state}
    except InstanceError:  # guarantees did not fit then
        return {}


def _add_quotas(rng: np.random.Generator, queues: dict[str, Any], resources: int) -> None:
    """Add random quotas to the queues; some may not borrow or lend all."""
    names = [f"resource{k + 1}" for k in range(resources)]
    for queue in queues.values():
        limit_kinds = [kind for kind in ("borrowing", "lending") if rng.random() < 0.2]
        for kind in ["nominal", *limit_kinds]:
            queue[kind] = dict.fromkeys(names, int(rng.integers(0, 7)))


def _dominating(
    demands: np.ndarray, capacities: np.ndarray, eligible: np.ndarray | None
) -> np.ndarray:
    """Return demands of the first resource that make it dominant for all, wherever they run."""
    is_demanded = demands[:, None, :] > 0
    needed = demands[:, None, :] * quotients(capacities[:, [0]], capacities)
    runs = ((demands[:, None, :] == 0) | (capacities > 0)).all(axis=2)
    if eligible is not None:
        runs &= eligible
    counts = runs[:, :, None] & is_demanded
    least = np.where(counts, needed, 0.0).max(axis=(1, 2))
    return np.asarray(np.maximum(np.ceil(least), 1))


def _simpler(instance: Instance) -> Iterator[Instance]:
    """Yield instances one step simpler: the largest steps first."""
    n = len(instance.users)
    for kind in ("users", "servers", "resources"):
        count = len(getattr(instance, kind))
        for k in range(count if count > 1 else 0):
            yield from _changed_instance(instance, **{kind: np.delete(np.arange(count), k)})
    if np.isfinite(instance.task_limits).any():
        yield from _changed_instance(instance, task_limits=np.full(n, np.inf))
    tree = instance.tree
    if tree.has_limits:
        yield from _changed_instance(
            instance, queues=dict(zip(tree.paths, tree.weights, strict=True))
        )
    if (tree.weights != 1).any():
        yield from _changed_instance(instance, queues=list(tree.paths))
    if (instance.weights != 1).any():
        yield from _changed_instance(instance, weights=np.ones(n))
    if instance.entitlements is not None:
        yield from _changed_instance(instance, entitlements=None)
    if instance.has_constraints:
        yield from _changed_instance(instance, eligible=None)
        for user, server in np.argwhere(~instance.eligible):
            yield from _changed_instance(
                instance, eligible=changed(instance.eligible, (user, server), True)
            )
    for kind in ("demands", "capacities"):
        values = getattr(instance, kind)
        for place in zip(*np.nonzero(values), strict=True):
            for smaller in dict.fromkeys((0.0, 1.0, values[place] // 2, values[place] - 1)):
                if 0 <= smaller < values[place]:
                    yield from _changed_instance(
                        instance, **{kind: changed(values, place, smaller)}
                    )


def _changed_instance(instance: Instance, **changes: Any) -> Iterator[Instance]:
    """Yield the changed instance, if it is one."""
    n = changes.pop("users", np.arange(len(instance.users)))
    k = changes.pop("servers", np.arange(len(instance.servers)))
    r = changes.pop("resources", np.arange(len(instance.resources)))
    eligible = changes.get("eligible", instance.eligible)
    entitlements = changes.get("entitlements", instance.entitlements)
    arrays = {
        "demands": changes.get("demands", instance.demands)[np.ix_(n, r)],
        "capacities": changes.get("capacities", instance.capacities)[np.ix_(k, r)],
        "weights": changes.get("weights", instance.weights)[n],
        "task_limits": changes.get("task_limits", instance.task_limits)[n],
        "eligible": None if eligible is None else eligible[np.ix_(n, k)],
        "entitlements": None if entitlements is None else as_entitlements(entitlements[n]),
        "queue": None if instance.queue is None else [instance.queue[user] for user in n],
        "queues": _tree(changes.get("queues", instance.queues), r),
    }
    try:
        yield Instance.from_arrays(**arrays)
    except FairlpError:  # a user without demand, a resource nowhere
        return


def as_entitlements(amounts: np.ndarray) -> np.ndarray | None:
    """Return amounts as entitlements, which sum to 1; None where all are 0."""
    return amounts / amounts.sum() if amounts.any() else None


def _tree(queues: Any, resources: np.ndarray) -> Any:
    """Return queues with these resources only, by position."""
    if not isinstance(queues, Queues):
        return queues
    names = [f"resource{k + 1}" for k in range(len(resources))]
    return queues.of_resources(resources).table(Index("r", names))


def letters(count: int) -> list[str]:
    """Return short labels: A, B, C and so on."""
    return [chr(ord("A") + n) for n in range(count)]
