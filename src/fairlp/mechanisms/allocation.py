"""``Allocation``: the tasks of each user on each server, of every mechanism and method."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, cast

import numpy as np
import pandas as pd

from ..errors import InstanceError, NotDefinedError, quoted
from ..models.files.plain_data import fingerprint
from ..models.files.tables import csv_text, read_tasks, tasks_table, with_all_users
from ..models.files.whole_files import home, write_text
from ..models.instances.arithmetic import effort, limits_beside, quotients, relative
from ..models.instances.checks import labelled
from ..models.instances.instance import Instance
from ..models.notation.labels import aligned, numbers_in, refuse
from ..models.notation.model import Model
from ..models.programs.proof import NO_PROOF, Proof
from ..solvers.leximin.programs import RoundPrices
from ..tolerances import ROUNDING, VERIFIED

__all__ = ["tasks_of"]

# What allocations use of capacities: how far over they are, and scaled down where rounding brought
# them over.


def within_capacity(instance: Instance, tasks: np.ndarray) -> np.ndarray:
    """Return the tasks, scaled down on every server that they take over its capacity.

    A server within the rounding of a sum keeps its tasks.

    A solver keeps capacities within its tolerance, and which digits that leaves depends on the
    machine's arithmetic.
    """
    used = _used(instance, tasks)
    overused = np.flatnonzero(used.max(axis=1) > 1 + ROUNDING)
    if not overused.size:
        return np.ascontiguousarray(tasks)
    within = tasks.copy()
    needs = instance.demands > 0
    # Only users of an overused resource give some of it back.
    for i in overused:
        over = np.where(used[i] > 1 + ROUNDING, used[i], 1.0)
        within[:, i] /= np.where(needs, over, 1.0).max(axis=1)
    return within


def overuse(instance: Instance, tasks: np.ndarray) -> str:
    """Return where tasks are over a capacity by more than rounding, in words; empty if nowhere."""
    used = _used(instance, tasks)
    i, r = divmod(int(used.argmax()), used.shape[1])
    if not used[i, r] > 1 + VERIFIED:
        return ""
    server = quoted(instance.servers[i])
    return f"server {server} uses {used[i, r]:.6g} times its {quoted(instance.resources[r])}"


def _used(instance: Instance, tasks: np.ndarray) -> np.ndarray:
    """Return use over capacity, servers × resources; 0 where there is no capacity."""
    return quotients(_amounts(instance, tasks), instance.total_capacities)


def _amounts(instance: Instance, tasks: np.ndarray) -> np.ndarray:
    """Return the amount of each resource in use, servers × resources."""
    multiple = effort(instance)
    return np.asarray((tasks if multiple is None else tasks * multiple).T @ instance.demands)


#: (Model, Instance, tasks over users and servers) → None: adds the rows of a mechanism's own
#: feasible region.
Region = Callable[[Model, Instance, Any], object]


def says_what_fits(region: Region | None) -> bool:
    """Return whether a region has rows of its own in the place of the capacities of servers."""
    return bool(getattr(region, "says_what_fits", False))


def beyond_region(region: Region | None, instance: Instance, tasks: np.ndarray) -> float:
    """Return the part by which all tasks must shrink to lie in the region; 0 without a region."""
    if region is None:
        return 0.0
    n = instance.users
    i = instance.servers
    model = Model("is it in the region?", indices=(n, i))
    y = model.variable("y", n, i)
    scale = model.variable("part", upper=1.0)
    given_tasks = model.parameter("has", (n, i), np.maximum(tasks, 0.0))
    region(model, instance, y)
    model.constraint("these_tasks", y - given_tasks * scale == 0)
    model.maximize(scale)
    return 1.0 - float(model.solve().require_optimal().objective or 0.0)


#: What a method says of its answer, which nothing in the file tells again: its fields have a
#: fingerprint, so that a change is seen. (Times are of the run, and say nothing of the answer.)
EVIDENCE = ("mechanism", "method", "solver", "prices", "gap", "notes", "unproved")


Table = TypeVar("Table")


class MadeWhenRead(Generic[Table]):
    """A field of a dataclass that holds a table, or a function that makes it at the first read.

    Making a table takes pandas longer than a small instance takes to share.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.key = f"_{name}"

    def __get__(self, holder: object | None, owner: type) -> Table | None:
        if holder is None:
            return None  # the default of the field
        table = vars(holder)[self.key]
        if callable(table):
            table = vars(holder)[self.key] = table()
        return cast("Table | None", table)

    def __set__(self, holder: object, table: Table | Callable[[], Table] | None) -> None:
        vars(holder)[self.key] = table


@dataclass(frozen=True, eq=False)
class Allocation:
    """The answer of a mechanism, labelled.

    Attributes
    ----------
    instance : Instance
    mechanism, method, solver : str
        How it was made; ``solver`` is empty when no solver was needed.
    tasks_array : ndarray, shape (N, K)
        Tasks of each user on the servers of each row (all ``counts[i]`` servers of row i together).
    gamma : ndarray, shape (N,)
        Γ[n], the tasks that count as a share of 1 (DRF: what n could run alone).
    tasks_per_level : ndarray, shape (N,)
        Tasks at level 1: φ[n]·Γ[n]; the mechanism makes tasks / entitled as equal as it can.
    prices_array : ndarray, shape (K, R), or None
        Capacity duals of the first round that a resource ended: at most what one more unit of
        capacity would add to that round's level, at fixed Γ (and at least what one unit less would
        take; the two differ where the program is degenerate).
    times : mapping
        Seconds by phase.
    rounds : DataFrame or None
        Rounds of the leximin: level, users frozen there, and those of them who have all their tasks
        (satisfied). Of ``shockwave`` each user's progress after each round.
    gap : float or None
        Largest relative duality gap of the rounds, where LPs gave the answer.
    picks : DataFrame or None
        Every turn of a loop that serves task by task, where a trace was asked for: user, share
        before, tasks after, and whether the task ran. Of ``allox`` the schedule: user, server,
        device, position from the end, start and end.
    certificate : object or None
        What the method said of its answer where that is not a linear program's optimum (PS-DSF:
        that no user could gain on a server). :meth:`certify` does not rely on it.
    prove : callable or None
        The mechanism's own proof, (Allocation, exact) → Proof; see :meth:`certify`.
    notes : tuple of str
        What a careful reader should know (merged servers, tasks that fit nowhere).
    unproved : str
        What of the answer nothing proves, and why; empty where all of it is as the method promises.
        It is a note, too.
    parameters : mapping
        Options of the mechanism that were asked for.
    region : callable or None
        Rows of the mechanism's own feasible region, as of
        :class:`~fairlp.mechanisms.mechanism.Mechanism`.
    state : Series or None
        What a mechanism that remembers wants to know next time, by user (``karma``: credits); give
        it as ``state=``.
    round_prices : RoundPrices or None
        Prices of every program of the rounds, of capacities and caps: :meth:`certify` finds in them
        why users could not have more. None where no programs were solved, or from a solver without
        duals.
    """

    instance: Instance
    mechanism: str
    method: str
    tasks_array: np.ndarray
    gamma: np.ndarray
    tasks_per_level: np.ndarray
    solver: str = ""
    prices_array: np.ndarray | None = None
    times: Mapping[str, float] = field(default_factory=dict)
    rounds: MadeWhenRead[pd.DataFrame] = MadeWhenRead()
    gap: float | None = None
    picks: pd.DataFrame | None = None
    certificate: Any = None
    prove: Callable[[Allocation, bool], Proof] | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()
    unproved: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    region: Region | None = field(default=None, repr=False)
    state: MadeWhenRead[pd.Series[float]] = MadeWhenRead()
    round_prices: RoundPrices | None = field(default=None, repr=False)

    @cached_property
    def tasks(self) -> pd.DataFrame:
        """Tasks, users × servers (rows of identical servers: of all of them together)."""
        return pd.DataFrame(self.tasks_array, index=self._users, columns=self._servers)

    @cached_property
    def totals(self) -> pd.Series[float]:
        """Tasks by user."""
        return pd.Series(self.tasks_array.sum(axis=1), index=self._users, name="tasks")

    @cached_property
    def shares(self) -> pd.Series[float]:
        """Share by user, tasks/Γ, not divided by weights.

        For DRF and DRFH it is the dominant share, a fraction of the pool.
        """
        return pd.Series(
            quotients(self.totals.to_numpy(), self.gamma), index=self._users, name="share"
        )

    @cached_property
    def levels(self) -> pd.Series[float]:
        """Share divided by weight: what the mechanism equalises."""
        return self._levels_of_users

    @cached_property
    def _levels_of_users(self) -> pd.Series[float]:
        levels = quotients(self.totals.to_numpy(), self.tasks_per_level)
        return pd.Series(levels, index=self._users, name="level")

    @cached_property
    def pool_utilization(self) -> pd.Series[float]:
        """Fraction of the whole cluster's capacity in use, by resource."""
        # by columns, as tables hold it: NumPy adds what lies side by side in pairs
        used = np.asfortranarray(_amounts(self.instance, self.tasks_array))
        used_parts = used.sum(axis=0) / self.instance.pool
        return pd.Series(used_parts, index=self._resources, name="used")

    @property
    def _users(self) -> pd.Index[Any]:
        return self.instance.users.labels.rename("user")

    @property
    def _servers(self) -> pd.Index[Any]:
        return self.instance.servers.labels.rename("server")

    @property
    def _resources(self) -> pd.Index[Any]:
        return self.instance.resources.labels.rename("resource")

    @cached_property
    def effort(self) -> np.ndarray | None:
        """Needs of one task by server, as a multiple of its demands; shape (N, K).

        None for an instance without rates.
        """
        return effort(self.instance)

    @cached_property
    def usage(self) -> pd.DataFrame:
        """Amount of each resource in use, servers × resources.

        A row of identical servers shows the amount on all of them together.
        """
        used = _amounts(self.instance, self.tasks_array)
        return pd.DataFrame(used, index=self._servers, columns=self._resources)

    @cached_property
    def utilization(self) -> pd.DataFrame:
        """Fraction of capacity in use, servers × resources; NaN where there is no capacity."""
        capacity = self.instance.total_capacities
        with np.errstate(invalid="ignore", divide="ignore"):
            fraction = np.where(capacity > 0, self.usage.to_numpy() / capacity, np.nan)
        return pd.DataFrame(fraction, index=self._servers, columns=self._resources)

    @cached_property
    def prices(self) -> pd.DataFrame | None:
        """Capacity duals, servers × resources; None from a method without an LP.

        A dual is the most that one more unit of capacity adds to the level; of a mechanism of one's
        own that is solved once, to its objective.
        """
        if self.prices_array is None:
            return None
        return pd.DataFrame(self.prices_array, index=self._servers, columns=self._resources)

    @cached_property
    def residual(self) -> float:
        """Largest violation of any constraint, relative to the capacity or limit.

        The constraints are capacities, task limits, placement, signs and the region.

        Of the mechanism's own region: the part by which all tasks must shrink to be in it. Infinite
        where tasks are no finite numbers.
        """
        if not np.isfinite(self.tasks_array).all():
            return float("inf")
        capacity = self.instance.total_capacities
        over = self.usage.to_numpy() - capacity
        worst = 0.0
        if not says_what_fits(self.region):
            worst = float(relative(over, capacity).max(initial=0.0))
        totals = self.totals.to_numpy()
        limits = limits_beside(totals, self.instance.task_limits)
        finite = np.isfinite(limits)
        beyond = relative(totals[finite] - limits[finite], limits[finite])
        worst = max(
            worst, float(beyond.max(initial=0.0)), float((-self.tasks_array).max(initial=0.0))
        )
        worst = max(worst, self.instance.tree.over_caps(totals, self.instance.demands)[0])
        if self.instance.has_constraints:
            worst = max(worst, float(self.tasks_array[~self.instance.eligible].max(initial=0.0)))
        return max(worst, beyond_region(self.region, self.instance, self.tasks_array))

    def plot(self, *, by: Literal["class", "server"] = "class", ax: Any = None) -> Any:
        """Draw the resources of every class of servers by user.

        See :func:`fairlp.plots.plot_allocation`.

        Parameters
        ----------
        by : {"class", "server"}
            A bar for all servers that are alike, or for every one.
        ax : Axes or sequence of them, optional
            One for each resource.

        Returns
        -------
        matplotlib.figure.Figure

        Examples
        --------
        >>> import fairlp
        >>> found = fairlp.allocate(fairlp.examples.load("ghodsi"), "drf")
        >>> [axes.get_ylabel() for axes in found.plot().axes]
        ['fraction of capacity in use', 'fraction of capacity in use']
        """
        from ..plots.allocations import plot_allocation

        return plot_allocation(self, by=by, ax=ax)

    def certify(self, exact: bool = False) -> Proof:
        """Return a proof, independent of the method, that the mechanism demands this allocation.

        All is computed from the instance and these tasks; of what the method said only prices are
        used, and any prices prove what they prove. Max-min mechanisms are proved by weak duality,
        round by round as their definition has it (docs/audit.md), or (``exact=True``) in rationals
        from the bases of linear programs, without a tolerance but ``AGREEMENT`` between the exact
        levels and these floats. Placements and Karma are replayed and leximins of whole tasks
        enumerated, in exact arithmetic, as far as that is short. The others are proved by what says
        that their tasks are right: prices, or that no user could gain on a server.

        Parameters
        ----------
        exact : bool
            Prove in rationals instead of by gap and residuals (needs python-flint).

        Returns
        -------
        Proof
            True or False, with a ``message`` ("optimal, proved …", or what fails) and the exact
            levels. An exact one of a max-min mechanism without queues can ``write`` a proof that
            others check (docs/proofs.md).

        Raises
        ------
        NotDefinedError
            For a mechanism without an optimality certificate (docs/audit.md lists them;
            :func:`fairlp.validate` compares their methods).

        Examples
        --------
        >>> import fairlp
        >>> found = fairlp.allocate(fairlp.examples.load("wang-figure-1"), "drfh")
        >>> bool(found.certify())
        True
        """
        if self.prove is None:
            raise no_certificate(self.mechanism, exact)
        if not self.residual <= VERIFIED:
            return Proof(
                False,
                f"infeasible: a capacity, limit or placement is violated by {self.residual:.3g}",
            )
        return self.prove(self, exact)

    def summary(self) -> pd.DataFrame:
        """Return one row for each user: tasks, share, weight-adjusted level, servers used.

        Returns
        -------
        DataFrame
            Indexed by user: ``tasks``, ``share``, ``level`` and ``server_rows``.

        Examples
        --------
        >>> import fairlp
        >>> found = fairlp.allocate(fairlp.examples.load("ghodsi"), "drf")
        >>> found.summary()
              tasks     share     level  server_rows
        user
        A       3.0  0.666667  0.666667            1
        B       2.0  0.666667  0.666667            1
        """
        used = np.asarray((self.tasks_array > 0).sum(axis=1))
        return pd.DataFrame(
            {
                "tasks": self.totals,
                "share": self.shares,
                "level": self._levels_of_users,
                "server_rows": used,
            }
        )

    def by_queue(self, level: int | None = None) -> pd.DataFrame:
        """Return what the users below each queue have together.

        Parameters
        ----------
        level : int, optional
            Queues at this depth (1: the root's children); a user who stands higher counts with its
            own queue. By default all queues of the tree, each with everything below it.

        Returns
        -------
        DataFrame
            Indexed by the path of the queue (``""`` is the root): ``users``, ``tasks``, ``share``
            (dominant share of all that they have) and the amount of each resource.

        Raises
        ------
        InstanceError
            Where the instance has no queues.

        Examples
        --------
        >>> import fairlp
        >>> queued = fairlp.Instance.from_arrays([[1, 0], [0, 1]], [[4, 4]], queue=["a", "a"])
        >>> fairlp.allocate(queued, "h-drf").by_queue(1)["share"].tolist()
        [1.0]
        """
        instance = self.instance
        queues = instance.tree
        if not instance.has_queues:
            raise InstanceError(
                "the instance has no queues; give queue= (the path of each user's queue) to make "
                "some"
            )
        tasks = self.totals.to_numpy()
        amounts = tasks[:, None] * instance.demands
        if level is None:
            below = queues.below
            positions = np.arange(len(queues))
        else:
            if isinstance(level, bool) or not isinstance(level, int) or level < 0:
                raise InstanceError(
                    f"level is {quoted(level)}; expected the depth of queues: 0 for the root, 1, 2 and "
                    "so on"
                )
            queue_of = queues.at_depth(level)
            positions = np.unique(queue_of)
            below = (positions[:, None] == queue_of[None, :]).astype(float)
        amounts_below = np.asarray(below @ amounts)
        table = pd.DataFrame(
            {
                "users": np.asarray(below.sum(axis=1)).astype(int),
                "tasks": np.asarray(below @ tasks),
                "share": (amounts_below / instance.pool).max(axis=1),
            },
            index=pd.Index(queues.paths.labels[positions], name="queue"),
        )
        amount_table = pd.DataFrame(
            amounts_below,
            index=table.index,
            columns=[str(resource) for resource in instance.resources],
        )
        return pd.concat([table, amount_table], axis=1)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: method, totals, shares, the nonzero tasks, utilisation, notes.

        Returns
        -------
        dict
            Mappings and lists of text and numbers.

        Examples
        --------
        >>> import fairlp
        >>> found = fairlp.allocate(fairlp.examples.load("ghodsi"), "drf")
        >>> sorted(found.to_dict())[:4]
        ['gap', 'mechanism', 'method', 'notes']
        """
        from scipy.sparse import coo_array

        pairs = coo_array(self.tasks_array)
        instance = self.instance
        document: dict[str, Any] = {
            "mechanism": self.mechanism,
            "method": self.method,
            "solver": self.solver or None,
            "users": [
                dict(
                    zip(
                        ("user", "tasks", "share", "level", "tasks_per_level"),
                        (user, *map(float, row)),
                        strict=True,
                    )
                )
                for user, *row in zip(
                    instance.users,
                    self.totals,
                    self.shares,
                    self._levels_of_users,
                    self.tasks_per_level,
                    strict=True,
                )
            ],
            "tasks": [
                {"user": instance.users[n], "server": instance.servers[i], "tasks": tasks}
                for n, i, tasks in zip(
                    *(array.tolist() for array in (*pairs.coords, pairs.data)), strict=True
                )
                if tasks
            ],
            "prices": None
            if self.prices_array is None
            else [
                {
                    "server": instance.servers[i],
                    "resource": instance.resources[r],
                    "price": float(self.prices_array[i, r]),
                }
                for i, r in np.argwhere(self.prices_array).tolist()
            ],
            "parameters": {
                name: value
                if value is None or isinstance(value, str | int | float)
                else {"shown": repr(value)}
                for name, value in self.parameters.items()
            },
            "utilization": {str(r): float(u) for r, u in self.pool_utilization.items()},
            "residual": self.residual,
            "gap": self.gap,
            "times": dict(self.times),
            "notes": list(self.notes),
            "unproved": self.unproved,
        }
        return document | {"sha256": fingerprint(document, EVIDENCE)}

    def to_json(self, path: str | Path | None = None) -> str:
        """Return :meth:`to_dict` as JSON text, and write it when a path is given.

        Parameters
        ----------
        path : str or Path, optional

        Returns
        -------
        str

        Examples
        --------
        >>> import fairlp
        >>> allocation = fairlp.allocate(fairlp.examples.load("ghodsi"), "drf")
        >>> print(allocation.to_json()[:30])
        {
         "mechanism": "drf",
         "metho
        """
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False)
        if path is not None:
            write_text(path, text + "\n")
        return text

    def to_csv(self, path: str | Path | None = None) -> str:
        """Return the table (tasks, users × servers) as CSV text, written to a path.

        Parameters
        ----------
        path : str or Path, optional

        Returns
        -------
        str

        Examples
        --------
        >>> import fairlp
        >>> allocation = fairlp.allocate(fairlp.examples.load("ghodsi"), "drf")
        >>> print(allocation.to_csv().strip())
        user,pool
        A,3.0
        B,2.0
        """
        text = csv_text(self._csv())
        if path is not None:
            write_text(path, text)
        return text

    @classmethod
    def from_json(cls, source: str | Path, instance: Instance) -> Allocation:
        """Return the allocation that :meth:`to_json` wrote, ready to be certified and audited.

        Parameters
        ----------
        source : str or Path
            The text, or a file.
        instance : Instance
            What was shared; labels may be in another order.

        Returns
        -------
        Allocation

        Raises
        ------
        FileFormatError
            For what no Allocation wrote, or was changed since.
        InstanceError
            For users, servers, resources or numbers that are not those of the instance: levels,
            shares and all else that follows from the tasks are computed, and compared.

        Examples
        --------
        >>> import fairlp
        >>> instance = fairlp.examples.load("ghodsi")
        >>> text = fairlp.allocate(instance, "drf").to_json()
        >>> bool(fairlp.Allocation.from_json(text, instance).certify())
        True
        """
        from .read_back import read_allocation

        return read_allocation(source, instance)

    def _csv(self) -> pd.DataFrame:
        return self.tasks

    def __repr__(self) -> str:
        how = f"{self.method}, {self.solver}" if self.solver else self.method
        least = f"smallest level {self.levels.min():.6g}" if len(self.levels) else ""
        return (
            f"<{type(self).__name__} by {self.mechanism} ({how}): {len(self.instance.users)} "
            f"users, {least}>"
        )

    def __str__(self) -> str:
        table = self.summary().to_string(float_format=lambda value: f"{value:.6g}", max_rows=40)
        notes = "".join(f"\nnote: {note}" for note in self.notes)
        return f"{self!r}\n{table}{notes}"

    def _repr_html_(self) -> str:
        table = self.summary().to_html(float_format=lambda value: f"{value:.6g}", max_rows=40)
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<p>{escape(repr(self))}</p>{table}{notes}"


def no_certificate(mechanism: str, exact: bool) -> NotDefinedError:
    """Return the error of a mechanism that has no certificate of this kind."""
    kind = "exact certificate" if exact else "certificate"
    return NotDefinedError(
        f"{quoted(mechanism)} has no {kind} of optimality; fairlp.validate compares its methods, and "
        f"fairlp.audit checks its properties{f' ({NO_PROOF})' if exact else ''}"
    )


def altered(allocation: Allocation, **changes: Any) -> Allocation:
    """Return a copy with other fields; tables that were not read yet are not made for it."""
    tables = {
        name: vars(allocation)[descriptor.key]
        for name, descriptor in vars(Allocation).items()
        if isinstance(descriptor, MadeWhenRead)
    }
    return replace(allocation, **(tables | changes))


def tasks_of(instance: Instance, allocation: Allocation | pd.DataFrame | Any) -> np.ndarray:
    """Return tasks as an array of users × servers, by label where there are labels.

    The forms are an Allocation, a frame users × servers or an array, a long table (``user``,
    ``server``, ``tasks``), and the path of a CSV of either table. Users whom a table leaves out
    have no tasks, with a warning.
    """
    if isinstance(allocation, Allocation):
        audited = allocation.instance
        in_order = audited.users is instance.users and audited.servers is instance.servers
        allocation = allocation.tasks_array if in_order else allocation.tasks
    elif isinstance(allocation, Path) or (isinstance(allocation, str) and _is_path(allocation)):
        allocation = read_tasks(allocation, instance)
    elif isinstance(allocation, pd.DataFrame):
        allocation = _of_every_user(allocation, instance)
    axes = (instance.users, instance.servers)
    tasks = labelled(allocation, "the allocation", *axes)
    refuse(~np.isfinite(tasks), tasks, axes, "the allocation", "a finite number", InstanceError)
    return tasks


def _is_path(text: str) -> bool:
    """Whether a text is the path of a file, and no name of a mechanism."""
    try:
        return text.lower().endswith(".csv") or home(text).is_file()
    except OSError:  # a name too long for a file
        return False


def _of_every_user(table: pd.DataFrame, instance: Instance) -> pd.DataFrame:
    """Return a table whose labels are a column, or not those of every user, as users × servers."""
    if "user" in table.columns and "user" not in list(instance.servers):
        return tasks_table(table, instance, "the allocation", InstanceError)
    is_of_users = len(table) > 0 and table.index.isin(list(instance.users)).all()
    if is_of_users and table.index.is_unique and len(table) < len(instance.users):
        return with_all_users(table, instance, "the allocation")
    return table


def tasks_by_user(instance: Instance, allocation: Any) -> np.ndarray:
    """Return the tasks by user, shape (N,), of an allocation in any form.

    The forms are an Allocation, a mapping, a Series, a frame users × servers, and an array.
    """
    if isinstance(allocation, Allocation):
        return np.asarray(allocation.tasks_array.sum(axis=1))
    if isinstance(allocation, pd.DataFrame):
        allocation = allocation.sum(axis=1)
    axes = (instance.users,)
    allocation = aligned(allocation, axes, "the allocation", InstanceError)
    array = numbers_in(allocation, axes, "the allocation", InstanceError)
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
