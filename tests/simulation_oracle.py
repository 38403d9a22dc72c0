"""A scheduler event by event in rationals, server by server, sharing no code with fairlp."""

from __future__ import annotations

from fractions import Fraction

from discrete_oracle import exactly


def simulate(jobs, capacities, counts, policy, weights=None, slots=14, eligible=None):
    """Return (job → (start, finish)) of a table of jobs in order of arrival."""
    c = [[exactly(v) for v in row] for row in capacities]
    resources = range(len(c[0]))
    pool = [sum(row[r] * int(count) for row, count in zip(c, counts, strict=True)) for r in resources]
    single = [(i, list(row)) for i, row in enumerate(c) for _ in range(int(counts[i]))]
    largest = [max(row[r] for row in c) for r in resources]
    room = [min(int(c[i][r] * slots / largest[r]) for r in resources if largest[r]) for i, _ in single]
    all_slots, all_room = sum(room), list(room)
    users = list(dict.fromkeys(job["user"] for job in jobs))
    phi = {u: exactly((weights or {}).get(u, 1)) for u in users}
    held = {u: [Fraction(0)] * len(pool) for u in users}
    many = dict.fromkeys(users, 0)
    queue = {u: [] for u in users}
    running, first, last, open_tasks = [], {}, {}, {}
    times = sorted({float(job["arrival"]) for job in jobs})
    while times or running:
        now = min([*times, *(end for end, *_ in running)])
        times = [t for t in times if t > now]
        for entry in [e for e in running if e[0] == now]:
            _, s, k = entry
            running.remove(entry)
            user, need = jobs[k]["user"], [exactly(v) for v in jobs[k]["need"]]
            for r in resources:
                single[s][1][r] += need[r]
                held[user][r] -= need[r]
            room[s] += 1
            many[user] -= 1
            open_tasks[k] -= 1
            if open_tasks[k] == 0:
                last[k] = now
        for k, job in enumerate(jobs):
            fits_empty = any(
                (eligible is None or eligible[k] is None or eligible[k][i])
                and all(c[i][r] >= exactly(job["need"][r]) for r in resources)
                and (policy != "slots" or all_room[s] >= 1)
                for s, (i, _) in enumerate(single)
            )
            if float(job["arrival"]) == now and job["tasks"] and k not in open_tasks and fits_empty:
                queue[job["user"]].append([k, job["tasks"]])
                open_tasks[k] = job["tasks"]
        going = {u for u in users if queue[u]}
        while going:

            def share(u):
                if policy == "slots":
                    return Fraction(many[u], all_slots) / phi[u]
                return max(held[u][r] / pool[r] for r in resources if pool[r]) / phi[u]

            user = min(going, key=lambda u: (share(u), users.index(u)))
            k = queue[user][0][0]
            need = [exactly(v) for v in jobs[k]["need"]]
            best = chosen = None
            for s, (i, free) in enumerate(single):
                allowed = eligible is None or eligible[k] is None or eligible[k][i]
                if not allowed or any(free[r] < need[r] for r in resources) or (policy == "slots" and room[s] < 1):
                    continue
                if policy != "best-fit":
                    chosen = s
                    break
                one = next(r for r in resources if need[r])
                distance = sum((abs(free[r] / free[one] - need[r] / need[one]) for r in resources), Fraction(0))
                if best is None or distance < best:
                    best, chosen = distance, s
            if chosen is None:
                going.discard(user)
                continue
            for r in resources:
                single[chosen][1][r] -= need[r]
                held[user][r] += need[r]
            room[chosen] -= 1
            many[user] += 1
            first.setdefault(k, now)
            running.append((now + float(jobs[k]["duration"]), chosen, k))
            queue[user][0][1] -= 1
            if queue[user][0][1] == 0:
                queue[user].pop(0)
            if not queue[user]:
                going.discard(user)
    return first, last
