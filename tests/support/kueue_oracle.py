"""Kueue's fair sharing on one pool, by many small steps: a tournament from the root down, as its scheduler runs one.

Each queue with users has one user. A queue whose nominal is None lists nothing. A user below none that lists any
is outside the quotas, and has of what they leave uncovered a part by weight, as far as it can use it. Nothing here
is shared with fairlp: plain dicts, no linear program."""

from __future__ import annotations


class Cohorts:
    """A tree of quotas: ``tree`` is path → (weight, nominal, borrowing, lending), the last three by resource."""

    def __init__(self, tree, users, pool):
        self.tree, self.users, self.pool = tree, users, pool  # users: path → (demand, limit)
        self.resources = range(len(pool))
        self.children = {
            path: [p for p in tree if p and p.rpartition("/")[0] == path] for path in tree
        }
        self.owned, self.could = {}, {}
        self.unlent = {}
        self.strays = [path for path, row in tree.items() if path and row[1] is None]
        self._own("")
        self._divide_uncovered()
        self._could("", None)

    def _own(self, path):
        _, nominal, _, lending = self.tree[path]
        nominal = nominal or [0] * len(self.pool)
        lending = lending or [float("inf")] * len(self.pool)
        for child in self.children[path]:
            self._own(child)
        self.owned[path] = [
            nominal[r] + sum(self.owned[c][r] - self.unlent[c][r] for c in self.children[path])
            for r in self.resources
        ]
        self.unlent[path] = [max(0, self.owned[path][r] - lending[r]) for r in self.resources]

    def _divide_uncovered(self):
        """By bisection on the amount for a weight of 1, one resource after the other."""
        for path in self.strays:
            self.owned[path] = self.unlent[path] = [0.0] * len(self.pool)
        for r in self.resources:
            nominal = sum(row[1][r] for row in self.tree.values() if row[1] is not None)
            amount = max(0.0, self.pool[r] - nominal)
            largest = {path: self._alone(path) * self.users[path][0][r] for path in self.strays}
            low, high = 0.0, 1e6
            for _ in range(100):
                middle = (low + high) / 2
                total = sum(min(self.tree[path][0] * middle, largest[path]) for path in self.strays)
                low, high = (middle, high) if total <= amount else (low, middle)
            for path in self.strays:
                self.owned[path][r] = min(self.tree[path][0] * low, largest[path])

    def _alone(self, path):
        demand, limit = self.users[path]
        return min([limit, *(self.pool[r] / d for r, d in enumerate(demand) if d > 0)])

    def _could(self, path, parent):
        if path in self.strays:
            return
        owned, borrowing = self.owned[path], self.tree[path][2]
        if parent is None:
            self.could[path] = owned
        else:
            above = self.could[parent]
            self.could[path] = [
                min(owned[r] + borrowing[r], self.unlent[path][r] + above[r])
                for r in self.resources
            ]
        for child in self.children[path]:
            self._could(child, path)

    def usage(self, tasks):
        usage = {}

        def of(path):
            demand = self.users[path][0] if path in self.users else [0] * len(self.pool)
            used = [tasks.get(path, 0) * d for d in demand]
            for child in self.children[path]:
                used = [
                    u + max(0, w - k)
                    for u, w, k in zip(used, of(child), self.unlent[child], strict=True)
                ]
            usage[path] = used
            return used

        of("")
        return usage

    def fits(self, tasks):
        used = self.usage({p: 0 if p in self.strays else x for p, x in tasks.items()})
        total = [
            sum(tasks.get(p, 0) * demand[r] for p, (demand, _) in self.users.items())
            for r in self.resources
        ]
        if any(t > c + 1e-9 for t, c in zip(total, self.pool, strict=True)):
            return False
        for r in self.resources:  # what no quota covers is theirs, and they borrow the rest
            outside = sum(tasks.get(p, 0) * self.users[p][0][r] for p in self.strays)
            used[""][r] += max(0, outside - sum(self.owned[p][r] for p in self.strays))
        for path, amounts in used.items():
            if path in self.strays:
                continue
            borrowing = self.tree[path][2] if path else [0] * len(self.pool)
            if any(amounts[r] > self.owned[path][r] + borrowing[r] + 1e-9 for r in self.resources):
                return False
        return True

    def share(self, path, used):
        parent = path.rpartition("/")[0]
        lent = self.could[parent]
        parts = [
            max(0, used[path][r] - self.owned[path][r]) / lent[r]
            for r in self.resources
            if lent[r] > 0
        ]
        return max(parts, default=0) / self.tree[path][0]

    def borrows(self, path, used, active):
        """Whether the next task below a path takes more than what is the path's own."""
        demands = [self.users[a][0] for a in active if a == path or a.startswith(path + "/")]
        return any(
            demand[r] > 0 and used[path][r] >= self.owned[path][r] - 1e-9
            for demand in demands
            for r in self.resources
        )

    def part(self, path, tasks):
        """The largest part of the pool that all below a path have."""
        below = [p for p in self.users if p == path or p.startswith(path + "/")]
        return max(
            sum(tasks[p] * self.users[p][0][r] for p in below) / self.pool[r]
            for r in self.resources
        )

    def floors(self, steps):
        due = {}
        for path, (demand, limit) in self.users.items():
            nominal = self.tree[path][1] or [0] * len(self.pool)
            due[path] = min([limit, *(nominal[r] / d for r, d in enumerate(demand) if d > 0)])
        tasks = dict.fromkeys(self.users, 0.0)
        active = {path for path in due if due[path] > 0}
        while active:
            path = min(active, key=lambda p: tasks[p] / due[p])
            step = due[path] / steps
            trial = tasks | {path: tasks[path] + step}
            total = [
                sum(trial[p] * demand[r] for p, (demand, _) in self.users.items())
                for r in self.resources
            ]
            if trial[path] > due[path] * (1 + 1e-9) or any(
                t > c + 1e-9 for t, c in zip(total, self.pool, strict=True)
            ):
                active.remove(path)
            else:
                tasks = trial
        return tasks

    def fair(self, step, steps=400):
        """Return tasks by path, up to a few steps."""
        floors = self.floors(steps)
        tasks, active = dict.fromkeys(self.users, 0.0), set(self.users)
        while active:
            used = self.usage(tasks)
            path = ""
            while path not in self.users:
                live = [
                    c
                    for c in self.children[path]
                    if any(a == c or a.startswith(c + "/") for a in active)
                ]
                candidates = [
                    c for c in live if self.tree[c][0] > 1e-3 or not self.borrows(c, used, active)
                ]
                candidates = candidates or live
                shares_taken = {c: self.part(c, tasks) / self.tree[c][0] for c in candidates}
                path = min(
                    candidates, key=lambda c: (round(self.share(c, used), 9), shares_taken[c])
                )
            demand, limit = self.users[path]
            increment = min(step / max(demand), limit - tasks[path])
            trial = tasks | {path: tasks[path] + increment}
            if increment > 1e-12 and self.fits(
                {p: max(trial[p], floors[p] * (1 - 1e-9)) for p in trial}
            ):
                tasks = trial
            else:
                active.remove(path)
        return tasks
