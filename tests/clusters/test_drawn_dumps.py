"""The verdict about drawn clusters, beside one that is made by hand: dues in fractions, all placements tried."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import fairlp_clusters
from drawn_scenes import SCHEDULERS, drawn
from profiles import PROFILE
from verdict_oracle import Job, Scene, Task

#: Drawn clusters of each scheduler; ten times as many at night.
CLUSTERS = 3000 if PROFILE == "nightly" else 300
#: What the verdict and the program by hand may differ by: the digits of a linear program.
DIGITS = 1e-6


def all_beyond(scenes):
    """The tenants that hold more than is due, with their trees."""
    return {u: root for scene in scenes for u, root in scene.beyond().items()}


def differences(scenes, verdict):
    """What the verdict says otherwise than the clusters do, as lines, and the number of edges."""
    table = verdict.table
    beyond = all_beyond(scenes)
    lines = []
    conditions = {}
    for scene in scenes:
        for tenant in scene.tenants:
            has = scene.share(scene.held(tenant))
            jobs = [job for job in scene.waiting if job.tenant == tenant]
            if not jobs and not has:
                continue
            conditions[tenant] = scene.condition(tenant, beyond)
            row = table.loc[tenant]
            most = scene.most_with_room(tenant)
            facts = {
                "has": abs(row["has"] - float(has * scene.part)) < DIGITS,
                "due": abs(row["due"] - float(scene.dues[tenant] * scene.part)) < DIGITS,
                "jobs that wait": row["waiting_jobs"] == len(jobs),
                "room": min(1, most) <= row["room_jobs"] <= most,
                "holders": set(row["holders"]) <= set(beyond) - {tenant},
            }
            lines += [f"{tenant}: {name} differs" for name, holds in facts.items() if not holds]
    if len(conditions) == 1:  # a tenant alone is short of nothing
        conditions = dict.fromkeys(conditions, "has its due in whole jobs")
    if sorted(table.index) != sorted(conditions):
        return [f"tenants {list(table.index)}, by hand {list(conditions)}"], 0
    lines += [
        f"{tenant}: {table.loc[tenant, 'condition']}, by hand {condition}"
        for tenant, condition in conditions.items()
        if condition not in ("edge", table.loc[tenant, "condition"])
    ]
    words = list(conditions.values())
    if "edge" not in words and verdict.is_fair != ("short" not in words):
        lines.append(f"is_fair is {verdict.is_fair}")
    return lines, words.count("edge")


#: Whether tenants have tasks of several sizes.
CASES = [
    ("kubernetes", False),
    ("kubernetes", True),
    ("kueue", True),
    ("kueue, two resources", False),
    ("slurm", False),
    ("slurm", True),
    ("volcano", False),
    ("volcano", True),
    ("yarn", False),
    ("yarn", True),
]


@pytest.mark.parametrize(("scheduler", "several"), CASES)
def test_the_verdict_about_drawn_clusters_is_that_by_hand(scheduler, several, tmp_path):
    _, document, write, count = SCHEDULERS[scheduler]
    all_lines = []
    all_edges = 0
    for seed in range(CLUSTERS // count // 2):
        scenes = drawn(np.random.default_rng([76, seed]), scheduler, several)
        verdict = fairlp_clusters.verdict(write(tmp_path / "dump", document(scenes)))
        lines, edges = differences(scenes, verdict)
        all_lines += [f"seed {seed}: {line}" for line in lines]
        all_edges += edges
    assert not all_lines, "\n".join(all_lines)
    assert all_edges <= CLUSTERS // 100


@pytest.mark.parametrize("scheduler", ["kueue", "slurm", "yarn"])
def test_tables_by_user_tenant_and_queue_say_the_same(scheduler, tmp_path):
    _, document, write, _ = SCHEDULERS[scheduler]
    scenes = drawn(np.random.default_rng([76, 1]), scheduler, several=True)
    dump = write(tmp_path / "dump", document(scenes))
    by_tenant = fairlp_clusters.verdict(dump).table
    by_user, by_queue = (fairlp_clusters.fair_shares(dump, by=by) for by in ("user", "queue"))
    columns = ["tasks", "fair_tasks", "waiting", "owed"]
    sums = by_user.groupby("tenant")[columns].sum()
    assert set(sums.index) == set(by_tenant.index)
    whole = by_queue.loc["", columns].astype(float)
    np.testing.assert_allclose(sums.sum(), whole, atol=DIGITS)
    queues = [name for name in by_tenant.index if name in by_queue.index]
    assert queues or scheduler == "yarn"
    of_queues = by_queue.loc[queues].astype(float)
    np.testing.assert_allclose(of_queues[columns], sums.loc[queues], atol=DIGITS)
    shares = of_queues[["share", "fair_share"]]
    np.testing.assert_allclose(shares, by_tenant.loc[queues, ["has", "due"]], atol=DIGITS)
    has_stopped = by_tenant["stopped_by"] != ""
    assert has_stopped.equals(by_tenant["room_jobs"] < by_tenant["waiting_jobs"])
    assert (by_tenant["short_jobs"] <= by_tenant["waiting_jobs"]).all()


# The smallest clusters in which the two differ


def condition_of(folder, scheduler, tenant, *scenes):
    """The row of a tenant in the verdict about clusters, which by hand is short."""
    _, document, write, _ = SCHEDULERS[scheduler]
    beyond = all_beyond(scenes)
    (scene,) = [scene for scene in scenes if tenant in scene.tenants]
    assert scene.condition(tenant, beyond) == "short"
    verdict = fairlp_clusters.verdict(write(folder / "dump", document(scenes)))
    return verdict.table.loc[tenant, "condition"]


def of_accounts(nodes, running, waiting, users):
    """A cluster of Slurm whose users have equal shares of one account, each of them as much as another."""
    tenants = {f"x/{user}": Fraction(1) for user in users}
    scene = Scene(nodes, tenants, running, waiting)
    scene.weights = {"x": Fraction(1)} | tenants
    scene.dues = {tenant: Fraction(1, len(tenants)) for tenant in tenants}
    return scene


def test_a_job_counts_though_equal_ones_of_its_tenant_run(tmp_path):
    """Of 10 CPUs bob has 3 and half are due: its job of 2 more is within that. ann has 7."""
    running = [Task("x/ann", (1,), 0)] * 7 + [Task("x/bob", (1,), 0), Task("x/bob", (2,), 0)]
    waiting = [Job("x/bob", (2,)), Job("x/bob", (3,))]
    scene = of_accounts([(10,)], running, waiting, ["ann", "bob"])
    assert condition_of(tmp_path, "slurm", "x/bob", scene) == "short"


def test_the_order_of_jobs_in_the_dump_decides_nothing(tmp_path):
    """bob has two nodes of three, and cid its due on the third.

    ann's job of three nodes could not start on what bob has beyond its due, and that of one node could.
    """
    running = [Task("x/bob", (3,), 0)] * 2 + [Task("x/cid", (3,), 1)] * 2
    running += [Task("x/bob", (3,), 2)] * 2
    waiting = [Job("x/ann", (3,)), Job("x/ann", (2,), 3, spread=True)]
    conditions = [
        condition_of(
            tmp_path,
            "slurm",
            "x/ann",
            of_accounts([(6,)] * 3, running, jobs, ["ann", "bob", "cid"]),
        )
        for jobs in (waiting, waiting[::-1])
    ]
    assert conditions == ["short", "short"]


def test_a_resource_of_which_a_tenant_has_its_due_exactly_limits_nothing(tmp_path):
    """Half is due to b, who has 4 of 6 CPUs and 12 of 24 GiB; a waits for 2 CPUs and 6 GiB.

    Beside it are clusters of other sizes, so that floats round one way or the other.
    """
    running = [*[Task("b0", (2, 6), 0)] * 2, Task("a0", (1, 4), 0)]
    waiting = [Job("a0", (2, 6)), Job("b0", (2, 6))]
    dues = dict.fromkeys(["a0", "b0"], Fraction(1, 2))
    scene = Scene([(6, 24)], dues, running, waiting, dues)
    conditions = set()
    for size in (14, 31):
        all_of_it = {"c1": Fraction(1)}
        beside = Scene([(2 * size, 8 * size)], all_of_it, [Task("c1", (1, 4), 0)], [], all_of_it)
        conditions.add(condition_of(tmp_path, "kubernetes", "a0", scene, beside))
    assert conditions == {"short"}


def test_a_job_that_has_room_now_is_at_nobodys_expense(tmp_path):
    """Of 12 CPUs a third is due to each: cid has 6, ann and bob have 2, and 2 are free, where bob's job fits.

    ann's job of 3 is more than its due.
    """
    running = [Task("x/cid", (2,), 0)] * 3 + [Task("x/ann", (2,), 0), Task("x/bob", (2,), 0)]
    waiting = [Job("x/ann", (3,)), Job("x/bob", (2,))]
    scene = of_accounts([(12,)], running, waiting, ["ann", "bob", "cid"])
    _, document, write, _ = SCHEDULERS["slurm"]
    verdict = fairlp_clusters.verdict(write(tmp_path / "dump", document([scene])))
    assert verdict.table.loc["x/bob", "room_jobs"] == 1
    assert verdict.is_fair or verdict.table.loc["x/bob", "holders"]
