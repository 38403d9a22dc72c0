"""The verdict about a small cluster by hand: dues in fractions, and every placement tried.

It shares no code with fairlp. The rule is that of issue 76: a tenant is short where one more of its
jobs is within its due, and this job could start on what is free and what tenants of the same tree
hold beyond their dues.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from scipy.optimize import linprog

Amounts = tuple[int, ...]


@dataclass
class Task:
    """A task that runs on a node."""

    tenant: str
    demand: Amounts
    node: int


@dataclass
class Job:
    """A job that waits: so many tasks at once, each on a node of its own where ``spread`` says so."""

    tenant: str
    demand: Amounts
    size: int = 1
    spread: bool = False

    @property
    def total(self) -> Amounts:
        return tuple(self.size * amount for amount in self.demand)


@dataclass
class Scene:
    """A cluster: amounts of nodes, who runs and waits, and the rule of its scheduler.

    ``root`` names its tree of queues, ``allows`` says whether queues let tenants have such amounts in
    all. Where ``is_pool``, nobody knows which tasks run on which node. ``part`` is what the cluster is
    of the dump's.
    """

    nodes: list[Amounts]
    tenants: dict[str, Fraction]
    running: list[Task] = field(default_factory=list)
    waiting: list[Job] = field(default_factory=list)
    dues: dict[str, Fraction] = field(default_factory=dict)
    root: str = ""
    allows: Callable[[dict[str, Amounts]], bool] = lambda held: True
    is_pool: bool = False
    part: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        self.pool = added(*self.nodes)

    def held(self, tenant: str) -> Amounts:
        """Amounts that a tenant has."""
        demands = [task.demand for task in self.running if task.tenant == tenant]
        return added(*demands, (0,) * len(self.pool))

    def wanted(self, tenant: str) -> Amounts:
        """Amounts that a tenant has and waits for."""
        jobs = [job.total for job in self.waiting if job.tenant == tenant]
        return added(self.held(tenant), *jobs)

    def share(self, amounts: Amounts) -> Fraction:
        """The dominant share of amounts."""
        return max(Fraction(a) / c for a, c in zip(amounts, self.pool, strict=True) if c)

    def free(self) -> list[list[int]]:
        """Amounts that are free, by node."""
        free = [list(amounts) for amounts in self.nodes]
        for task in self.running:
            for r, amount in enumerate(task.demand):
                free[task.node][r] -= amount
        return free

    # Room

    def has_room(self, jobs: list[Job]) -> bool:
        """Whether jobs have room together, beside what runs."""
        held = {tenant: self.held(tenant) for tenant in self.tenants}
        for job in jobs:
            held[job.tenant] = added(held[job.tenant], job.total)
        return self.allows(held) and self._fits(jobs, self.free())

    def _fits(self, jobs: list[Job], free: list[list[int]]) -> bool:
        if not jobs:
            return True
        job, *others = jobs
        return any(
            self._fits(others, [left(f, job.demand, n) for f, n in zip(free, counts, strict=True)])
            for counts in placements(job, len(free))
            if all(fits(f, job.demand, n) for f, n in zip(free, counts, strict=True))
        )

    def most_with_room(self, tenant: str) -> int:
        """The most jobs of a tenant that have room together."""
        jobs = [job for job in self.waiting if job.tenant == tenant]
        return max(
            size
            for size in range(len(jobs) + 1)
            if any(self.has_room(list(some)) for some in itertools.combinations(jobs, size))
        )

    # The rule

    def condition(self, tenant: str, others: dict[str, str]) -> str:
        """Why a tenant is short, or is not; ``edge`` where floats cannot say.

        ``others`` are the tenants of the dump that hold more than is due, with their trees.
        """
        has = self.held(tenant)
        due = self.dues[tenant]
        jobs = [
            job
            for job in self.waiting
            if job.tenant == tenant and self.share(added(has, job.total)) <= due
        ]
        if not jobs:
            return "has its due in whole jobs"
        givers = [u for u, root in others.items() if u != tenant and root == self.root]
        if not givers:
            return "nobody in its tree of queues holds more than is due"
        answers = {self._could_start(job, givers) for job in jobs}
        if "yes" in answers:
            return "short"
        no_room = "no job of it could start on what others hold beyond their dues"
        return "edge" if "edge" in answers else no_room

    def beyond(self) -> dict[str, str]:
        """The tenants that hold more than is due, with their tree of queues."""
        return {u: self.root for u in self.tenants if self.share(self.held(u)) > self.dues[u]}

    def _could_start(self, job: Job, givers: list[str]) -> str:
        """``yes``, ``no`` or ``edge``: whether a job has room where givers give what is beyond."""
        free = [[sum(column) for column in zip(*self.free(), strict=True)]]
        free = free if self.is_pool else self.free()
        answers = {
            self._could_give(
                [left(f, job.demand, n) for f, n in zip(free, counts, strict=True)], givers
            )
            for counts in placements(job, len(free))
        }
        return next(answer for answer in ("yes", "edge", "no") if answer in answers | {"no"})

    def _could_give(self, free: list[list[int]], givers: list[str]) -> str:
        """Whether givers could give what is missing on nodes, in parts of tasks."""
        tasks = [
            (task, 0 if self.is_pool else task.node)
            for task in self.running
            if task.tenant in givers
        ]
        missing = [(i, r) for i, f in enumerate(free) for r, amount in enumerate(f) if amount < 0]
        if not missing:
            return "yes"
        rows = []
        sides = []
        for i, r in missing:
            rows.append([-task.demand[r] if node == i else 0 for task, node in tasks] + [0])
            sides.append(free[i][r])
        for u in set(givers) & set(self.tenants):
            for r, amount in enumerate(self.held(u)):
                beyond = Fraction(amount) - self.dues[u] * self.pool[r]
                if beyond > 0:
                    parts = [task.demand[r] if task.tenant == u else 0 for task, _ in tasks]
                    rows.append([*parts, -1])
                    sides.append(float(beyond))
        # the least by which what is beyond would have to be more
        cost = [0] * len(tasks) + [1]
        bounds = [(0, 1)] * len(tasks) + [(0, None)]
        solution = linprog(cost, rows, sides, bounds=bounds)
        if solution.x is None:
            return "no"
        gap = solution.fun / max(self.pool)
        if gap <= 1e-9:
            return "yes"
        return "no" if gap > 1e-6 else "edge"


def added(*amounts: Amounts) -> Amounts:
    return tuple(map(sum, zip(*amounts, strict=True)))


def left(free: list[int], demand: Amounts, count: int) -> list[int]:
    return [f - count * d for f, d in zip(free, demand, strict=True)]


def fits(free: list[int], demand: Amounts, count: int) -> bool:
    return count == 0 or min(left(free, demand, count)) >= 0


def placements(job: Job, nodes: int) -> Iterator[tuple[int, ...]]:
    """All ways to put the tasks of a job on nodes."""
    most = 1 if job.spread else job.size
    for counts in itertools.product(range(most + 1), repeat=nodes):
        if sum(counts) == job.size:
            yield counts


# Dues


def filled(amount: Fraction, limits: list[Fraction], weights: list[Fraction]) -> list[Fraction]:
    """Divide an amount by weight among those who still want more."""
    parts = [Fraction(0)] * len(limits)
    active = [k for k, limit in enumerate(limits) if limit > 0]
    while active and amount > 0:
        level = min((limits[k] - parts[k]) / weights[k] for k in active)
        level = min(level, amount / sum(weights[k] for k in active))
        for k in active:
            parts[k] += level * weights[k]
        amount -= level * sum(weights[k] for k in active)
        active = [k for k in active if parts[k] < limits[k]]
    return parts


def along_tree(
    amount: Fraction,
    wanted: dict[str, Fraction],
    weights: dict[str, Fraction],
    caps: dict[str, Fraction],
) -> dict[str, Fraction]:
    """Divide an amount of one resource along paths such as ``a/b``, level by level.

    Those right below the root may have caps.
    """
    children: dict[str, dict[str, Fraction]] = {}
    for path, limit in wanted.items():
        name, _, rest = path.partition("/")
        children.setdefault(name, {})[rest] = limit
    limits = []
    for name, below in children.items():
        total = sum(below.values())
        limits.append(min(total, caps.get(name, total)))
    parts = filled(amount, limits, [weights[name] for name in children])
    dues = {}
    for (name, below), part in zip(children.items(), parts, strict=True):
        if "" in below:
            dues[name] = part
            continue
        inside = {
            path.partition("/")[2]: weight
            for path, weight in weights.items()
            if path.startswith(f"{name}/")
        }
        for path, due in along_tree(part, below, inside, {}).items():
            dues[f"{name}/{path}"] = due
    return dues


def quotas(
    pool: int,
    wanted: dict[str, int],
    nominal: dict[str, int],
    weights: dict[str, Fraction],
    borrowing: dict[str, int],
    lending: dict[str, int],
    shares_fairly: bool = True,
) -> dict[str, Fraction]:
    """Divide one resource of a cohort: nominal quotas first, then what is borrowed, by weight."""
    own = [Fraction(min(wanted[v], nominal[v])) for v in wanted]
    total = sum(own)
    if total > pool:  # each has the same part of what its quota and its demand allow
        return {v: part * pool / total for v, part in zip(wanted, own, strict=True)}
    kept = {v: max(0, nominal[v] - lending.get(v, nominal[v])) for v in wanted}
    limits = []
    for v, part in zip(wanted, own, strict=True):
        most = min(wanted[v], nominal[v] + borrowing.get(v, wanted[v]))
        limits.append(most - part if shares_fairly else Fraction(0))
    lent = sum(nominal[v] - kept[v] for v in wanted)
    unused = lent - sum(
        max(Fraction(0), part - kept[v]) for v, part in zip(wanted, own, strict=True)
    )
    amount = min(unused, pool - total)
    more = filled(amount, limits, [weights[v] for v in wanted])
    return {v: a + b for v, a, b in zip(wanted, own, more, strict=True)}


def within_quotas(
    used: dict[str, int],
    nominal: dict[str, int],
    borrowing: dict[str, int],
    lending: dict[str, int],
) -> bool:
    """Whether a cohort's quotas of one resource allow such use."""
    kept = {v: max(0, nominal[v] - lending.get(v, nominal[v])) for v in nominal}
    if any(used[v] > nominal[v] + limit for v, limit in borrowing.items()):
        return False
    beyond = sum(max(0, used[v] - kept[v]) for v in nominal)
    return beyond <= sum(nominal[v] - kept[v] for v in nominal)


class Vectors:
    """Dues of several resources in two levels: classes of equal tasks, each below its tenant.

    Of classes that stopped, those with all their tasks count for their tenant, and those that lack a
    resource for nobody. A tenant at level t takes the largest s at which no resource of it is beyond t.
    """

    def __init__(self, pool: Amounts, wanted: dict[tuple[str, Amounts], int]) -> None:
        self.pool = pool
        self.wanted = wanted
        self.tasks = dict.fromkeys(wanted, Fraction(0))
        self.active = set(wanted)
        self.satisfied: set[tuple[str, Amounts]] = set()

    def parts(self, demand: Amounts) -> list[Fraction]:
        return [Fraction(d) / c for d, c in zip(demand, self.pool, strict=True)]

    def _lines(self, tenant: str) -> list[tuple[Fraction, Fraction]]:
        """By resource, what satisfied classes of a tenant take, and what the active ones take at s = 1."""
        lines = []
        for r in range(len(self.pool)):
            fixed = Fraction(0)
            slope = Fraction(0)
            for key in self.wanted:
                part = self.parts(key[1])
                if key[0] == tenant and key in self.satisfied:
                    fixed += self.tasks[key] * part[r]
                if key[0] == tenant and key in self.active:
                    slope += part[r] / max(part)
            lines.append((fixed, slope))
        return lines

    def _asked(self, level: Fraction) -> dict[tuple[str, Amounts], Fraction]:
        """The tasks that all ask for at a level of the root."""
        asked = dict(self.tasks)
        for tenant in {key[0] for key in self.active}:
            lines = self._lines(tenant)
            s = min((level - fixed) / slope for fixed, slope in lines if slope)
            s = max(Fraction(0), s)
            if any(fixed > level for fixed, slope in lines):
                s = Fraction(0)
            for key in self.active:
                if key[0] == tenant:
                    asked[key] = max(self.tasks[key], s / max(self.parts(key[1])))
        return asked

    def _excess(self, level: Fraction) -> list[Fraction]:
        """By how much what all ask for is beyond the pool, and beyond what they want."""
        asked = self._asked(level)
        excess = [asked[key] - self.wanted[key] for key in self.active]
        for r, capacity in enumerate(self.pool):
            excess.append(sum(count * key[1][r] for key, count in asked.items()) - capacity)
        return excess

    def _breaks(self) -> list[Fraction]:
        """The levels at which what somebody asks for may bend."""
        levels = {Fraction(0)}
        for tenant in {key[0] for key in self.active}:
            lines = self._lines(tenant)
            levels |= {fixed for fixed, _ in lines}
            starts = [self.tasks[k] * max(self.parts(k[1])) for k in self.active if k[0] == tenant]
            levels |= {fixed + slope * s for fixed, slope in lines for s in starts}
            for (f, a), (g, b) in itertools.combinations(lines, 2):
                if a != b and (g - f) / (a - b) > 0:
                    levels.add(f + a * (g - f) / (a - b))
        levels = sorted(levels)
        return [*levels, levels[-1] + 1, levels[-1] + 100]

    def dues(self) -> dict[tuple[str, Amounts], Fraction]:
        while self.active:
            for low, high in itertools.pairwise(self._breaks()):
                before = self._excess(low)
                after = self._excess(high)
                if max(after) > 0:
                    level = min(
                        low + (high - low) * -b / (a - b)
                        for b, a in zip(before, after, strict=True)
                        if a > 0
                    )
                    break
            self.tasks = self._asked(level)
            used = [
                sum(count * key[1][r] for key, count in self.tasks.items())
                for r in range(len(self.pool))
            ]
            full = {r for r, capacity in enumerate(self.pool) if used[r] == capacity}
            done = {key for key in self.active if self.tasks[key] == self.wanted[key]}
            stuck = {key for key in self.active if any(key[1][r] for r in full)}
            assert done | stuck
            self.satisfied |= done
            self.active -= done | stuck
        return self.tasks
