"""The proof that an allocation is what ``kueue`` promises, from the instance and the tasks alone.

What is proved, of divisible tasks x:

* *It fits*: servers, task limits, caps, and the books: U[v] ≤ S[v] + borrowing limit, U[root] ≤ S[root].
* *Nominal quotas first.* D[o] is the most that queue o can have (in dominant shares of the pool)
  within its nominal quota and demand; the leximin of has[o] / D[o] ≤ 1 over queues, on the servers,
  gives the floors F[o]. All who stand in o have F[o] together at least; where a resource has several
  flavors, within the nominal quota.
* *Then progressive filling.* From nothing on, shares rise along the tree as
  :class:`.quota_levels.NodeMotion` defines them. A user stops where it has what x gives to it; there it
  has all its tasks, or duals show that no point of the region gives it more while all users keep
  what they have by then and queues their floors. That the others can go on x itself shows, which is
  feasible. So the filling ends at x.

The programs are written here once more, and of their solutions only the duals count: weak duality
bounds what they prove.
"""

from __future__ import annotations

import numpy as np

from ...errors import quoted
from ...models.notation.expressions import Expression, Index
from ...models.notation.model import Model
from ...models.notation.variables import Variable
from ...models.programs.certificate import dual_bound
from ...models.programs.proof import Proof
from ...tolerances import (
    ACCEPTED,
    AGREEMENT,
    AUDIT,
    LEAST_PROVED,
    NOISE,
    SHRINKING_MARGIN,
    SMALL_PART,
    SOLVER_TIGHTEST,
)
from ..allocation import Allocation, no_certificate
from .levels import rows_of_pool
from .proof import NotProvedError, PricedRegion, refused_as_infeasible
from .quota_levels import Books, NodeMotion

__all__ = ["prove_quotas"]


#: The second is asked where the first ends without an answer: beside rows of 0 its tolerance shows.
SOLVERS = ("highs", "highs-ipm")


#: Programs tell what users have to SOLVER_TIGHTEST of what they could run alone; a lack is
#: measured by what a user has, and by no less than this part of what it could run alone.
TOLD = SOLVER_TIGHTEST / LEAST_PROVED


class Programs:
    """What programs say of an instance with quotas: each maximises a sum of rises over a region.

    A way's variables are parts of what it could run alone.
    """

    def __init__(self, books: Books) -> None:
        self.books = books
        self.instance = books.instance
        ways = books.ways
        instance = books.instance
        can_run = (instance.task_limits > 0) & ~instance.tree.barred(instance.demands)
        self.runs = ways.servers & can_run[ways.user][:, None]
        self.alone = np.where(self.runs, instance.gamma()[ways.user], 0.0).sum(axis=1)

        # identical servers are one: tasks may be divided among them
        kinds = np.vstack([instance.capacities.T, self.runs])
        _, first, kind = np.unique(kinds, axis=1, return_index=True, return_inverse=True)
        self.server = Index("i", [str(k) for k in first.tolist()], "kind of server")
        self.runs = self.runs[:, first]
        self.room = np.zeros((len(first), len(instance.pool)))
        np.add.at(self.room, kind.ravel(), instance.total_capacities)

        self.way = Index("l", [str(k) for k in range(len(ways.user))], "way")
        shares = (instance.demands / instance.pool).max(axis=1)
        self.share_alone = shares[ways.user] * self.alone
        owner = books.owner[ways.user]
        self.owners = np.unique(owner[owner < books.n_queues])
        self.owner = Index("o", [str(v) for v in self.owners.tolist()], "queue")
        self.ownership = (self.owners[:, None] == owner).astype(float)
        self.column = Index("q", [str(m) for m in range(len(books.resource))], "column")
        self.unit = instance.pool[books.resource]

    def on_servers(self, model: Model) -> Variable:
        """Add parts on servers, and the rows of capacities, task limits and caps."""
        instance = self.instance
        ways = self.books.ways
        i = self.server
        r = instance.resources
        g = model.variable("g", self.way, i, where=self.runs, upper=1.0)
        needs = instance.demands[ways.user] * self.alone[:, None] / instance.pool
        need = model.parameter("need", (self.way, r), needs)
        room = model.parameter("room", (i, r), self.room / instance.pool)
        model.constraint("capacity", (need * g).sum(self.way) <= room)
        self.limit(model, g.sum(i))
        return g

    def limit(self, model: Model, part: Expression) -> None:
        """Add the rows of task limits, and of caps of queues, to a model of parts by way."""
        instance = self.instance
        user = self.books.ways.user
        limited = np.flatnonzero(np.isfinite(instance.task_limits) & (instance.task_limits > 0))
        if limited.size:
            n = Index("n", [str(k) for k in limited.tolist()], "user")
            of_user = (limited[:, None] == user) * self.alone
            of_limit = of_user / instance.task_limits[limited, None]
            model.constraint(
                "limit",
                (model.parameter("of_limit", (n, self.way), of_limit) * part).sum(self.way) <= 1,
            )
        use, room = rows_of_pool(instance.demands, instance.pool, instance.tree)
        caps = np.arange(len(instance.pool), len(room))
        if caps.size:
            k = Index("k", [str(row) for row in caps.tolist()], "cap")
            of_cap = use.toarray()[caps][:, user] * self.alone
            amounts = model.parameter("of_cap", (k, self.way), of_cap)
            model.constraint(
                "cap", (amounts * part).sum(self.way) <= model.parameter("caps", k, room[caps])
            )

    def used(
        self, model: Model, part: Expression, name: str = "use", outside: bool = False
    ) -> Expression:
        """Return what ways in the books, or ``outside``, take of each column, over the pool."""
        books = self.books
        counts = books.outside[books.ways.user] == outside
        amounts = books.ways.use * (self.alone * counts)[:, None] / self.unit
        return model.parameter(name, (self.way, self.column), amounts) * part

    def has(self, model: Model, part: Expression) -> Expression:
        """Return the dominant shares that the users of each owner have together."""
        shares = model.parameter("owns", (self.owner, self.way), self.ownership * self.share_alone)
        return (shares * part).sum(self.way)

    def within_nominal(self, model: Model, part: Expression) -> None:
        """Add the rows of nominal quotas: each owner's use of the columns that it lists."""
        quotas = self.instance.tree.quotas
        assert quotas is not None
        listed = quotas.listed[self.owners]
        nominal = np.where(listed, quotas.amounts[0, self.owners], 0.0) / self.unit
        owns = model.parameter("of_owner", (self.owner, self.way), self.ownership)
        used = (owns * self.used(model, part, "use_of_nominal")).sum(self.way)
        model.constraint(
            "nominal",
            used <= model.parameter("N", (self.owner, self.column), nominal),
            over=(self.owner, self.column),
            where=listed,
        )

    def within_books(self, model: Model, part: Expression) -> None:
        """Add U of each queue and what it draws from its parent, and the limits of borrowing."""
        books = self.books
        queues = self.instance.tree
        labels = [str(v) for v in range(books.n_queues)]
        v = Index("v", labels, "queue")
        w = v.alias("w")
        reserved = books.reserved[: books.n_queues] / self.unit
        most = np.minimum(books.most / self.unit, 1.0)
        used = model.variable("U", v, self.column, upper=most)
        drawn = model.variable("e", v, self.column, upper=1.0, where=reserved > 0)
        stands = np.arange(books.n_queues)[:, None] == queues.of[books.ways.user]
        child = np.arange(books.n_queues)[:, None] == queues.parents
        child[:, 0] = False
        here = (model.parameter("stands", (v, self.way), stands) * self.used(model, part)).sum(
            self.way
        )
        is_child = model.parameter("child", (v, w), child)
        passes_all = model.parameter("passes", (w, self.column), reserved <= 0)
        below = (is_child * (passes_all * used[w, self.column] + drawn[w, self.column])).sum(w)
        is_root = model.parameter("root", v, np.arange(books.n_queues) == 0)
        borrowed = model.variable("borrowed", self.column, upper=1.0)
        outside = self.used(model, part, "use_outside", outside=True).sum(self.way)
        free = model.parameter("W", self.column, books.uncovered / self.unit)
        model.constraint("outside", borrowed >= outside - free)
        model.constraint("usage", used == here + below + is_root * borrowed)
        kept = model.parameter("K", (v, self.column), reserved)
        model.constraint("taken", drawn >= used - kept, where=reserved > 0)


class Rises:
    """A program in which rows have floors; it says who can rise while all others keep theirs.

    Parameters
    ----------
    model : Model
    rows : str
        The rows that have floors.
    fixed : str, optional
        Rows that have the same floors in every solve.
    """

    def __init__(self, model: Model, rows: str, fixed: str | None = None) -> None:
        self.program = model.compile()
        positions = {block.name: np.arange(block.start, block.stop) for block in self.program.rows}
        self.rows = positions[rows]
        self.fixed = positions[fixed] if fixed is not None else self.rows[:0]

    def solved(
        self, floors: np.ndarray, cost: np.ndarray | None = None
    ) -> tuple[np.ndarray, float]:
        """Return the point of the largest cost (by default the model's), and a bound on that cost.

        Solvers are given floors that leave room for rounding; the bound is that of the floors as
        they are, which any duals prove.

        Raises
        ------
        NotProvedError
            Where the program has no answer.
        """
        cost = self.program.c if cost is None else cost
        program = self.program.replace(c=cost)
        lower = program.row_lower.copy()
        lower[self.fixed] *= 1 - AGREEMENT
        lower[self.rows] = np.where(floors > ACCEPTED, floors * (1 - AGREEMENT), 0.0)
        relaxed = program.replace(row_lower=lower)
        for solver in SOLVERS:
            solution = relaxed.solve(
                solver, primal_tolerance=SOLVER_TIGHTEST, dual_tolerance=SOLVER_TIGHTEST
            )
            if solution.status.is_optimal and solution.row_duals is not None:
                lower = program.row_lower.copy()
                lower[self.rows] = floors
                bound = dual_bound(program.replace(row_lower=lower), solution.row_duals)
                return solution.require_point(), bound
        raise NotProvedError(f"not proved: nothing tells who can be raised: {solution.status}")

    def raised(self, floors: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the rows' values where their weighted sum is largest, and a bound on it."""
        rows = self.program.A[self.rows]
        point, bound = self.solved(floors, rows.T @ weights.astype(float))
        return np.asarray(rows @ point), bound


def nominal_floors(programs: Programs) -> np.ndarray:
    """Return F: the leximin of what queues have over what quota and demand allow, (owners,).

    Rounds: the largest level t that all active queues can have; those who cannot rise beyond it
    while all others keep theirs stop there.
    """
    entitled = _entitled(programs)
    counted = entitled > NOISE * entitled.max(initial=0.0)
    due = np.where(counted, entitled, 1.0)
    levels = np.zeros(len(entitled))
    nobody = np.zeros(len(entitled), dtype=bool)
    rises = Rises(_nominal_model(programs, due, counted, nobody), "levels")
    active = counted
    while active.any():
        common = Rises(_nominal_model(programs, due, counted, active), "levels")
        point, _ = common.solved(np.where(active, 0.0, levels))
        t = float(point[-1])
        levels[active] = t
        remaining = np.zeros_like(active)
        undecided = active & (t < 1 - AGREEMENT)
        while undecided.any():
            values, bound = rises.raised(levels, undecided)
            rising = undecided & (values > t + AUDIT)
            if not rising.any() and bound > t * undecided.sum() + AUDIT:
                raise NotProvedError("not proved: no dual bounds what nominal quotas come to")
            if not rising.any():
                break
            remaining |= rising
            undecided &= ~rising
        if (remaining == active).all():
            raise NotProvedError("not proved: the rounds of nominal quotas do not come to an end")
        active = remaining
    return levels * np.where(counted, entitled, 0.0)


def _entitled(programs: Programs) -> np.ndarray:
    """Return D: the most that quota and demand of each owner allow, without servers."""
    ways = programs.books.ways
    model = Model("what nominal quotas allow")
    most = np.where(ways.use.any(axis=1), np.inf, 1.0)
    y = model.variable("y", programs.way, upper=np.where(programs.alone > 0, most, 0.0))
    programs.within_nominal(model, 1.0 * y)
    programs.limit(model, 1.0 * y)
    model.constraint("has", programs.has(model, 1.0 * y) >= 0.0)
    model.maximize(y.sum(programs.way))
    rises = Rises(model, "has")
    entitled = np.zeros(len(programs.owners))
    for k in range(len(entitled)):
        values, bound = rises.raised(np.zeros(len(entitled)), np.arange(len(entitled)) == k)
        if bound > values[k] * (1 + ACCEPTED) + NOISE * ACCEPTED:
            raise NotProvedError("not proved: no dual bounds what a nominal quota allows")
        entitled[k] = values[k]
    return entitled


def _nominal_model(
    programs: Programs, due: np.ndarray, counted: np.ndarray, active: np.ndarray
) -> Model:
    """Return the region of nominal quotas, with ``levels``: has[o] / D[o], or less t."""
    model = Model("nominal quotas first")
    part = programs.on_servers(model).sum(programs.server)
    programs.within_nominal(model, part)
    level = model.parameter("due", programs.owner, 1.0 / due) * programs.has(model, part)
    t = model.variable("t", upper=1.0)
    is_active = model.parameter("active", programs.owner, active.astype(float))
    model.constraint("no_more", level <= 1.0, where=counted)
    model.constraint("levels", level - is_active * t >= 0.0)
    model.maximize(t)
    return model


class QuotaReplay:
    """The progressive filling along an allocation, with the proof of every stop."""

    def __init__(self, books: Books, programs: Programs, totals: np.ndarray) -> None:
        self.books = books
        self.instance = books.instance
        self.alone = programs.alone
        self.totals = totals
        model = Model("what the books allow above nominal floors")
        part = programs.on_servers(model).sum(programs.server)
        programs.within_books(model, part)
        floors = nominal_floors(programs)
        floor = model.parameter("floor", programs.owner, floors)
        counted: Expression = part
        if self.instance.quotas.has_flavors:
            counted = 1.0 * model.variable("counted", programs.way)
            model.constraint("counted_part", counted <= part)
            programs.within_nominal(model, counted)
        model.constraint("floors", programs.has(model, counted) >= floor)
        model.constraint("levels", part >= 0.0)
        model.maximize(part.sum(programs.way))
        self.rises = Rises(model, "levels", fixed="floors")
        self.lacking = np.zeros(len(totals))

        has = (programs.ownership * programs.share_alone) @ (totals / self._unit)
        short = has < floors * (1 - ACCEPTED)
        if short.any():
            k = int(np.where(short, floors - has, 0.0).argmax())
            path = self.instance.tree.paths[int(programs.owners[k])]
            raise NotProvedError(
                f"not optimal: queue {quoted(path)} has a dominant share of {has[k]:.12g}, and its "
                f"nominal quota comes to {floors[k]:.12g}"
            )

    @property
    def _unit(self) -> np.ndarray:
        return np.where(self.alone > 0, self.alone, 1.0)

    def run(self) -> float:
        """Follow the filling; return the largest part of its tasks that a user may lack.

        Whoever has less than ``TOLD`` of what it could run alone may lack that part of ``TOLD``.
        """
        instance = self.instance
        user = self.books.ways.user
        limits = instance.task_limits
        tasks = np.zeros(len(self.totals))
        open_ways = self.alone > 0
        kinks = 0
        while open_ways.any():
            motion = NodeMotion(self.books, tasks, self._tried(open_ways, tasks))
            rises = motion.rate > 0
            arrived = rises & (tasks >= self.totals - AGREEMENT * self.alone)
            if arrived.any():
                open_ways &= ~self._blocked(arrived, tasks)
                kinks = 0
                continue
            kinks += 1
            if not rises.any() or kinks > 4 * (motion.used.size + len(tasks)):
                raise NotProvedError("not proved: the shares of queues do not come to an end")
            times = (self.totals - tasks)[rises] / motion.rate[rises]
            t = min(motion.end, float(times.min()))
            tasks = np.where(rises, np.minimum(tasks + motion.rate * t, self.totals), tasks)
            sums = np.bincount(user, weights=tasks, minlength=len(limits))
            open_ways &= ~(sums >= limits * (1 - AGREEMENT))[user]
        return float(self.lacking.max(initial=0.0))

    def _tried(self, open_ways: np.ndarray, tasks: np.ndarray) -> np.ndarray:
        """Return one open way of each user: the first within its queue's own, else the first."""
        books = self.books
        ways = books.ways
        owner = books.owner[ways.user]
        over = books.usage(tasks)[owner] >= books.owned[owner] * (1 - AGREEMENT)
        beyond = (over & (ways.use > 0)).any(axis=1)
        active = np.zeros(len(tasks), dtype=bool)
        for n in np.unique(ways.user[open_ways]).tolist():
            choices = np.flatnonzero(open_ways & (ways.user == n))
            own = choices[~beyond[choices]]
            active[own[0] if own.size else choices[0]] = True
        return active

    def _blocked(self, arrived: np.ndarray, tasks: np.ndarray) -> np.ndarray:
        """Return who of those who arrived cannot have more while all keep what they have.

        The others of them wait for these to stop, and may be blocked by then.

        Raises
        ------
        NotProvedError
            Where all of them can have more, or no dual shows who cannot.
        """
        parts = tasks / self._unit
        sizes = np.maximum(parts, SMALL_PART)
        undecided = arrived
        while undecided.any():
            values, bound = self.rises.raised(parts, undecided / sizes)
            excess = max(bound - float((parts / sizes)[undecided].sum()), 0.0)
            if excess <= LEAST_PROVED:
                least = np.maximum(parts, TOLD)
                lacks = excess * sizes / least
                for k in np.flatnonzero(undecided & (lacks > LEAST_PROVED)).tolist():
                    alone = np.arange(len(parts)) == k
                    _, bound = self.rises.raised(parts, alone / sizes)
                    lacks[k] = max(bound * sizes[k] - parts[k], 0.0) / least[k]
                self.lacking[undecided] = lacks[undecided]
                return undecided
            gains = np.where(undecided, (values - parts) / sizes, -np.inf)
            k = int(gains.argmax())
            rising = gains > LEAST_PROVED / len(parts)
            undecided = undecided & ~rising
            if not rising.any():
                break
        name = quoted(self.instance.users[int(self.books.ways.user[k])])
        if undecided.any():
            raise NotProvedError(f"not proved: no dual bounds the tasks of user {name}")
        if gains[k] <= SHRINKING_MARGIN:  # a solver's rounding may be all that there is of it
            raise NotProvedError(
                f"not proved: programs tell the tasks of user {name} to {gains[k]:.1e} only"
            )
        raise NotProvedError(
            f"not optimal: user {name} has {tasks[k]:.12g} tasks where its share stops, and can have "
            f"{values[k] * self.alone[k]:.12g} while all others keep theirs"
        )


def prove_quotas(allocation: Allocation, exact: bool = False) -> Proof:
    """Return whether an allocation is what ``kueue`` promises."""
    if exact:
        raise no_certificate(allocation.mechanism, exact)
    instance = allocation.instance
    tasks = allocation.tasks_array
    infeasible = refused_as_infeasible(PricedRegion(instance), tasks)
    if infeasible is not None:
        return infeasible
    books = Books(instance)
    try:
        totals = within_books(books, tasks)
        lack = QuotaReplay(books, Programs(books), totals).run()
    except NotProvedError as error:
        return Proof(False, str(error))
    if lack > LEAST_PROVED:
        return Proof(False, f"not proved: by duals, a user may lack {lack:.1e} of its tasks", lack)
    return Proof(
        True,
        "optimal, proved: nominal quotas first, then progressive filling of shares, every stop by duals; no "
        f"user lacks more than {lack:.1e} of its tasks or {lack * TOLD:.1e} of what it could run alone",
        lack,
    )


def within_books(books: Books, tasks: np.ndarray) -> np.ndarray:
    """Return the tasks of each way; raise where they break the books or do not tell."""
    instance = books.instance
    ways = books.ways
    has = tasks.sum(axis=1) > 0
    totals = ways.tasks(tasks)
    counted = np.bincount(ways.user, weights=totals, minlength=len(has))
    misplaced = tasks.sum(axis=1) > counted * (1 + AGREEMENT)
    if misplaced.any():
        name = quoted(instance.users[int(misplaced.argmax())])
        raise NotProvedError(f"infeasible: user {name} has tasks where its queue has no quota")
    excess, node, _ = books.excess(totals)
    if excess > AGREEMENT:
        path = instance.tree.paths[node]
        raise NotProvedError(
            f"infeasible: queue {quoted(path)} is over its quota by {excess:.3g} of what it may use"
        )
    unclear = books.ways.unclear & has
    if unclear.any():
        name = quoted(instance.users[int(unclear.argmax())])
        raise NotProvedError(
            f"not proved: tasks of user {name} may count in several flavors of the same servers"
        )
    return totals
