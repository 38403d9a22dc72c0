"""A scheduler event by event in rationals, server by server, sharing no code with fairlp."""

from __future__ import annotations

from fractions import Fraction

from discrete_oracle import exactly


def simulate(jobs, capacities, counts, policy, weights=None, slots=14, eligible=None):
    """Return (job → (start, finish)) of a table of jobs in order of arrival."""
    c = [[exactly(v) for v in row] for row in capacities]
    resources = range(len(c[0]))
    pool = [
        sum(row[r] * int(count) for row, count in zip(c, counts, strict=True)) for r in resources
    ]
    single = [(i, list(row)) for i, row in enumerate(c) for _ in range(int(counts[i]))]
    largest = [max(row[r] for row in c) for r in resources]
    room = [
        min(int(c[i][r] * slots / largest[r]) for r in resources if largest[r]) for i, _ in single
    ]
    all_slots, all_room = sum(room), list(room)
    users = list(dict.fromkeys(job["user"] for job in jobs))
    phi = {u: exactly((weights or {}).get(u, 1)) for u in users}
    usage = {u: [Fraction(0)] * len(pool) for u in users}
    running_counts = dict.fromkeys(users, 0)
    queue = {u: [] for u in users}
    running, first, last, open_tasks = [], {}, {}, {}
    times = sorted({float(job["arrival"]) for job in jobs})
    while times or running:
        moment = min([*times, *(end for end, *_ in running)])
        times = [t for t in times if t > moment]
        for entry in [e for e in running if e[0] == moment]:
            _, s, k = entry
            running.remove(entry)
            user, need = jobs[k]["user"], [exactly(v) for v in jobs[k]["need"]]
            for r in resources:
                single[s][1][r] += need[r]
                usage[user][r] -= need[r]
            room[s] += 1
            running_counts[user] -= 1
            open_tasks[k] -= 1
            if open_tasks[k] == 0:
                last[k] = moment
        for k, job in enumerate(jobs):
            fits_empty = any(
                (eligible is None or eligible[k] is None or eligible[k][i])
                and all(c[i][r] >= exactly(job["need"][r]) for r in resources)
                and (policy != "slots" or all_room[s] >= 1)
                for s, (i, _) in enumerate(single)
            )
            if (
                float(job["arrival"]) == moment
                and job["tasks"]
                and k not in open_tasks
                and fits_empty
            ):
                queue[job["user"]].append([k, job["tasks"]])
                open_tasks[k] = job["tasks"]
        active = {u for u in users if queue[u]}
        while active:

            def share(u):
                if policy == "slots":
                    return Fraction(running_counts[u], all_slots) / phi[u]
                return max(usage[u][r] / pool[r] for r in resources if pool[r]) / phi[u]

            user = min(active, key=lambda u: (share(u), users.index(u)))
            k = queue[user][0][0]
            need = [exactly(v) for v in jobs[k]["need"]]
            best = chosen = None
            for s, (i, free) in enumerate(single):
                allowed = eligible is None or eligible[k] is None or eligible[k][i]
                if (
                    not allowed
                    or any(free[r] < need[r] for r in resources)
                    or (policy == "slots" and room[s] < 1)
                ):
                    continue
                if policy != "best-fit":
                    chosen = s
                    break
                reference = next(r for r in resources if need[r])
                unit = [pool[reference] / pool[r] for r in resources]
                distance = sum(
                    abs(free[r] / free[reference] - need[r] / need[reference]) * unit[r]
                    for r in resources
                )
                if best is None or distance < best:
                    best, chosen = distance, s
            if chosen is None:
                active.discard(user)
                continue
            for r in resources:
                single[chosen][1][r] -= need[r]
                usage[user][r] += need[r]
            room[chosen] -= 1
            running_counts[user] += 1
            first.setdefault(k, moment)
            running.append((moment + float(jobs[k]["duration"]), chosen, k))
            queue[user][0][1] -= 1
            if queue[user][0][1] == 0:
                queue[user].pop(0)
            if not queue[user]:
                active.discard(user)
    return first, last


def fluid(jobs, share):
    """Return (start, finish) of divisible jobs by number, event by event in rationals.

    ``share`` gives for open requests (user, what is asked, tasks at most, part of the user's
    weight) how many tasks of each run at once."""
    remaining = {k: Fraction(job["tasks"]) * exactly(job["duration"]) for k, job in enumerate(jobs)}
    first, last, moment = {}, {}, Fraction(0)
    while True:
        groups = {}
        for k, job in enumerate(jobs):
            if k not in last and exactly(job["arrival"]) <= moment and job["tasks"]:
                groups.setdefault((job["user"], job["ask"]), []).append(k)
        group_counts = {user: sum(other == user for other, _ in groups) for user, _ in groups}
        requests = [
            (user, request, sum(jobs[k]["tasks"] for k in group), Fraction(1, group_counts[user]))
            for (user, request), group in groups.items()
        ]
        rates, heads = {}, list(groups.values())
        for head, tasks in zip(heads, share(requests) if requests else [], strict=True):
            for k in head:
                rates[k] = min(Fraction(jobs[k]["tasks"]), tasks)
                tasks -= rates[k]
        first.update({k: moment for k, rate in rates.items() if rate > 0 and k not in first})
        arrivals = [exactly(job["arrival"]) for job in jobs if exactly(job["arrival"]) > moment]
        ends = [moment + remaining[k] / rate for k, rate in rates.items() if rate > 0]
        if not arrivals and not ends:
            return first, last
        end_of_step = min(arrivals + ends)
        for k, rate in rates.items():
            remaining[k] -= rate * (end_of_step - moment)
            if remaining[k] == 0 and rate > 0:
                last[k] = end_of_step
        moment = end_of_step


def drf(demands, weights, limits, capacity):
    """Return DRF's tasks on one server in rationals: raise all levels until a resource or a limit ends one."""
    users, resources = range(len(demands)), range(len(capacity))
    alone = [min(capacity[r] / demands[n][r] for r in resources if demands[n][r]) for n in users]
    tasks, free, active = [Fraction(0)] * len(demands), list(capacity), set(users)
    while active:
        speed = {n: weights[n] * alone[n] for n in active}
        draw = [sum(speed[n] * demands[n][r] for n in active) for r in resources]
        step = min(
            [free[r] / draw[r] for r in resources if draw[r]]
            + [(limits[n] - tasks[n]) / speed[n] for n in active]
        )
        for n in active:
            tasks[n] += step * speed[n]
        free = [free[r] - step * draw[r] for r in resources]
        full = {r for r in resources if free[r] == 0}
        active = {
            n for n in active if tasks[n] < limits[n] and not any(demands[n][r] for r in full)
        }
    return tasks
