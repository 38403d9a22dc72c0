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
    size = 1


@dataclass
class Job:
    """A job that waits: so many tasks at once, each on a node of its own where ``spread`` says so."""

    tenant: str
    demand: Amounts
    size: int = 1
    spread: bool = False
    node = None

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

    def set_dues(self, amounts: dict[str, Fraction]) -> None:
        """Set the dues to amounts of the first resource."""
        self.dues = {tenant: amount / self.pool[0] for tenant, amount in amounts.items()}

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
        free = self.free()
        if self.is_pool:
            free = [list(added(*free))]
        answers = {"no"}
        for counts in placements(job, len(free)):
            rest = [left(f, job.demand, n) for f, n in zip(free, counts, strict=True)]
            answers.add(self._could_give(rest, givers))
            if "yes" in answers:
                break
        return next(answer for answer in ("yes", "edge", "no") if answer in answers)

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
            # of the resource of which it has the largest part
            share, r = max((Fraction(a) / self.pool[r], r) for r, a in enumerate(self.held(u)))
            parts = [task.demand[r] if task.tenant == u else 0 for task, _ in tasks]
            rows.append([*parts, -1])
            sides.append(float((share - self.dues[u]) * self.pool[r]))
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


@dataclass
class Quotas:
    """The quotas of a cohort: nominal ones by resource; limits are of queues with one resource."""

    nominal: dict[str, Amounts]
    borrowing: dict[str, int] = field(default_factory=dict)
    lending: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> Amounts:
        return added(*self.nominal.values())

    def kept(self, queue: str) -> int:
        """What a queue lends to nobody."""
        own = self.nominal[queue][0]
        return max(0, own - self.lending.get(queue, own))

    def allow(self, held: dict[str, Amounts]) -> bool:
        if any(held[v][0] > self.nominal[v][0] + limit for v, limit in self.borrowing.items()):
            return False
        for r, total in enumerate(self.total):
            kept = {v: 0 if r else self.kept(v) for v in self.nominal}
            if sum(max(0, held[v][r] - kept[v]) for v in kept) > total - sum(kept.values()):
                return False
        return True

    def dues(
        self, pool: int, wanted: dict[str, Amounts], weights: dict[str, Fraction]
    ) -> dict[str, Fraction]:
        """Divide one resource: nominal quotas first, then what is borrowed, by weight."""
        own = [Fraction(min(wanted[v][0], self.nominal[v][0])) for v in wanted]
        total = sum(own)
        if total > pool:  # each has the same part of what its quota and its demand allow
            return {v: part * pool / total for v, part in zip(wanted, own, strict=True)}
        most = {
            v: min(amounts[0], self.nominal[v][0] + self.borrowing.get(v, amounts[0]))
            for v, amounts in wanted.items()
        }
        limits = [most[v] - part for v, part in zip(wanted, own, strict=True)]
        lent = sum(self.nominal[v][0] - self.kept(v) for v in wanted)
        lent -= sum(max(0, part - self.kept(v)) for v, part in zip(wanted, own, strict=True))
        more = filled(min(lent, pool - total), limits, [weights[v] for v in wanted])
        return {v: a + b for v, a, b in zip(wanted, own, more, strict=True)}

    def tasks(
        self, pool: Amounts, wanted: dict[str, tuple[Amounts, int]], weights: dict[str, Fraction]
    ) -> dict[str, Fraction]:
        """Divide several resources among queues of equal tasks: by parts of nominal quotas, then by
        dominant shares of what is borrowed.
        """
        demands = {v: demand for v, (demand, _) in wanted.items()}
        limits = {v: Fraction(limit) for v, (_, limit) in wanted.items()}
        lines = {
            v: [
                (Fraction(n) / d, weights[v] * total / d)
                for n, d, total in zip(self.nominal[v], demand, self.total, strict=True)
                if d
            ]
            for v, demand in demands.items()
        }
        own = {v: min(limits[v], *(start for start, _ in lines[v])) for v in wanted}
        parts = {v: [(Fraction(0), own[v])] for v in wanted}
        floors = Lines(pool, demands, own, parts, {}).run()
        caps = tuple(map(min, pool, self.total))
        return Lines(caps, demands, limits, lines, floors).run()


class Filling:
    """Raise the tasks of all, until each has its limit or needs a resource that is used up.

    A rule says by ``asked`` what all ask for at a level, and by ``breaks`` where that may bend.
    """

    def __init__(self, caps: Amounts, demands: dict, limits: dict, floors: dict) -> None:
        self.caps = caps
        self.demands = demands
        self.limits = limits
        self.tasks = {key: floors.get(key, Fraction(0)) for key in demands}
        self.active = set(demands)
        self.satisfied: set = set()
        self._stop()

    def _excess(self, tasks: dict) -> list[Fraction]:
        return [
            sum(count * self.demands[key][r] for key, count in tasks.items()) - cap
            for r, cap in enumerate(self.caps)
        ]

    def _beyond(self, level: Fraction) -> list[Fraction]:
        """By how much what all ask for is beyond the resources, and beyond limits."""
        asked = self.asked(level)
        over = [asked[key] - limit for key, limit in self.limits.items()]
        return [*self._excess(asked), *over]

    def _stop(self) -> None:
        full = [r for r, excess in enumerate(self._excess(self.tasks)) if excess == 0]
        done = {key for key in self.active if self.tasks[key] == self.limits[key]}
        self.satisfied |= done
        self.active -= done
        self.active -= {key for key in self.active if any(self.demands[key][r] for r in full)}

    def run(self) -> dict:
        while self.active:
            count = len(self.active)
            levels = sorted(self.breaks() | {Fraction(0)})
            levels += [levels[-1] + 1, levels[-1] + 100]
            for low, high in itertools.pairwise(levels):
                pairs = list(zip(self._beyond(low), self._beyond(high), strict=True))
                ends = [low - (high - low) * b / (a - b) for b, a in pairs if a > 0]
                if ends:
                    self.tasks = self.asked(min(ends))
                    break
            self._stop()
            assert len(self.active) < count
        return self.tasks


class Lines(Filling):
    """Each asks for the least of its lines, (start, slope) in tasks."""

    def __init__(
        self, caps: Amounts, demands: dict, limits: dict, lines: dict, floors: dict
    ) -> None:
        self.lines = lines
        super().__init__(caps, demands, limits, floors)

    def asked(self, level: Fraction) -> dict:
        asked = dict(self.tasks)
        for key in self.active:
            line = min(start + slope * level for start, slope in self.lines[key])
            asked[key] = max(asked[key], line)
        return asked

    def breaks(self) -> set[Fraction]:
        crossings = set()
        for key in self.active:
            lines = [*self.lines[key], (self.tasks[key], Fraction(0))]
            for (a, s), (b, t) in itertools.combinations(lines, 2):
                if s != t:
                    crossings.add(max(Fraction(0), (b - a) / (s - t)))
        return crossings


class Vectors(Filling):
    """Several resources in two levels: classes of equal tasks, (tenant, demand), each below its tenant.

    Of classes that stopped, those with all their tasks count for their tenant, and those that lack a
    resource for nobody. A tenant at level t takes the largest s at which no resource of it is beyond t.
    """

    def __init__(self, pool: Amounts, wanted: dict[tuple[str, Amounts], int]) -> None:
        self.parts = {
            key: [Fraction(d) / c for d, c in zip(key[1], pool, strict=True)] for key in wanted
        }
        super().__init__(pool, {key: key[1] for key in wanted}, wanted, {})

    def _lines(self, tenant: str) -> list[tuple[Fraction, Fraction]]:
        """By resource, what satisfied classes of a tenant take, and what the active ones take at s = 1."""
        lines = []
        for r in range(len(self.caps)):
            fixed = [self.tasks[k] * self.parts[k][r] for k in self.satisfied if k[0] == tenant]
            slopes = [self.parts[k][r] / max(self.parts[k]) for k in self.active if k[0] == tenant]
            lines.append((sum(fixed, Fraction(0)), sum(slopes, Fraction(0))))
        return lines

    def asked(self, level: Fraction) -> dict:
        asked = dict(self.tasks)
        for key in self.active:
            lines = self._lines(key[0])
            s = min((level - fixed) / slope for fixed, slope in lines if slope)
            if all(fixed <= level for fixed, _ in lines):
                asked[key] = max(asked[key], s / max(self.parts[key]))
        return asked

    def breaks(self) -> set[Fraction]:
        levels = set()
        for key in self.active:
            lines = self._lines(key[0])
            start = self.tasks[key] * max(self.parts[key])
            levels |= {fixed for fixed, _ in lines}
            levels |= {fixed + slope * start for fixed, slope in lines}
            for (f, a), (g, b) in itertools.combinations(lines, 2):
                if a != b:
                    levels.add(max(Fraction(0), f + a * (g - f) / (a - b)))
        return levels
