"""Placement the slow and obvious way, server by server in rationals, sharing no code with fairlp."""

from __future__ import annotations

from fractions import Fraction

from discrete_oracle import exactly


def place(
    demands,
    capacities,
    counts,
    policy,
    weights=None,
    limits=None,
    eligible=None,
    ties="larger",
    slots=14,
    unit="system",
):
    users, rows = len(demands), len(capacities)
    d = [[exactly(v) for v in row] for row in demands]
    c = [[exactly(v) for v in row] for row in capacities]
    resources = range(len(d[0]))
    pool = [sum(c[i][r] * int(counts[i]) for i in range(rows)) for r in resources]
    phi = [exactly(1 if weights is None else weights[n]) for n in range(users)]
    single = [(i, list(c[i])) for i in range(rows) for _ in range(int(counts[i]))]
    largest = [max(c[i][r] for i in range(rows)) for r in resources]
    reference = pool if unit == "system" else largest
    free_slots = [
        min(int(c[i][r] * slots / largest[r]) for r in resources if largest[r]) for i, _ in single
    ]
    tasks = [[0] * rows for _ in range(users)]
    active = {n for n in range(users) if limits is None or limits[n] >= 1}
    tasks_placed = [0] * users
    step = [
        1 / phi[n]
        if policy == "slots"
        else max((d[n][r] / pool[r] for r in resources if d[n][r]), default=0) / phi[n]
        for n in range(users)
    ]
    sign = {"larger": -1, "smaller": 1, "index": 0}[ties]
    while active:
        n = min(active, key=lambda k: (tasks_placed[k] * step[k], sign * step[k], k))
        best, chosen = None, None
        for s, (i, free) in enumerate(single):
            if eligible is not None and not eligible[n][i]:
                continue
            if any(free[r] < d[n][r] for r in resources) or (
                policy == "slots" and free_slots[s] < 1
            ):
                continue
            if policy != "best-fit":
                chosen = s
                break
            first = next(r for r in resources if d[n][r])
            distance = Fraction(0)
            for r in resources:
                if reference[r]:
                    distance += (
                        abs(free[r] / free[first] - d[n][r] / d[n][first])
                        * reference[first]
                        / reference[r]
                    )
            if best is None or distance < best:
                best, chosen = distance, s
        if chosen is None:
            active.discard(n)
            continue
        i, free = single[chosen]
        for r in resources:
            free[r] -= d[n][r]
        free_slots[chosen] -= 1
        tasks[n][i] += 1
        tasks_placed[n] += 1
        if limits is not None and tasks_placed[n] + 1 > limits[n]:
            active.discard(n)
    return tasks
