"""A period of dumps: integrals against fractions, the verdict, half-lives, and the page."""

from __future__ import annotations

import json
import random
import re
from datetime import datetime, timedelta
from fractions import Fraction

import numpy as np
import pytest

import fairlp_clusters
import period_dumps
import period_oracle
import slurm_dumps
from fairlp.errors import InstanceError, UnknownNameError
from fairlp_clusters.periods.period import longest_stretch
from fairlp_clusters.periods.picture import MOST_TIMES, over_time
from period_dumps import hourly, items, write
from profiles import by_day, many

A_FIRST = ({"A": 10}, {"B": 10})
B_FIRST = ({"B": 10}, {"A": 10})


def test_the_golden_case_is_unfair_at_each_hour_and_fair_over_both(tmp_path):
    period = fairlp_clusters.period(hourly(tmp_path, A_FIRST, B_FIRST, A_FIRST))
    assert period.is_fair and period.short == []
    assert period.dumps["verdict"].tolist() == ["not fair"] * 3
    for name in ("A", "B"):
        row = period.tenants.loc[name]
        assert (row["used"], row["due"], row["lacking"], row["short"]) == (1, 1, 0, 0.5)
        assert (row["hours_short"], row["longest_wait"], row["task_hours"]) == (1, 1, 10)
    assert period.verdict[0].startswith("Fair over 2 hours: no namespace lacks more")


def test_the_same_hour_twice_is_unfair_over_both(tmp_path):
    period = fairlp_clusters.period(hourly(tmp_path, A_FIRST, A_FIRST, B_FIRST))
    assert period.short == ["B"] and not period.is_fair
    row = period.tenants.loc["B"]
    assert (row["used"], row["due"], row["lacking_task_hours"]) == (0, 1, 10)
    assert (row["hours_short"], row["longest_wait"]) == (2, 2)
    text = period.verdict[0]
    assert text.startswith("Not fair over 2 hours: B lacks 10 task-hours of what was due to it.")
    assert "It had 0.0 % of the cluster, and 50.0 % was due." in text


def drawn(seed):
    """Dumps of one node, the hours between them, and the sizes of tenants' tasks."""
    chance = random.Random(seed)
    tenants = ["a", "b", "c", "d"][: chance.randint(2, 4)]
    sizes = {tenant: chance.choice([1, 1, 2, 3]) for tenant in tenants}
    dumps = []
    for _ in range(chance.randint(3, 7)):
        cores = chance.choice([8, 10, 12])
        free = cores
        running, waiting = {}, {}
        for tenant in chance.sample(tenants, chance.randint(1, len(tenants))):
            running[tenant] = chance.randint(0, free // sizes[tenant])
            free -= running[tenant] * sizes[tenant]
            waiting[tenant] = chance.choice([0, 0, 1, 2, 12])
        if not any(running.values()) and not any(waiting.values()):
            waiting[tenants[0]] = 1
        dumps.append((running, waiting, cores))
    hours = [Fraction(chance.randint(1, 300), 60) for _ in dumps[1:]]
    return dumps, hours, sizes


def times_after(hours):
    """Times of dumps that are so many hours apart."""
    times = [datetime(2026, 11, 28)]
    for length in hours:
        times.append(times[-1] + timedelta(minutes=int(60 * length)))
    return times


@pytest.mark.parametrize("seed", range(many(100)))
def test_integrals_are_those_of_the_definition(tmp_path, seed):
    dumps, hours, sizes = drawn(seed)
    paths = [
        write(tmp_path / f"{k}.json", items(running, waiting, cores, sizes))
        for k, (running, waiting, cores) in enumerate(dumps)
    ]
    period = fairlp_clusters.period(paths, times=times_after(hours))
    oracle = period_oracle.integrals(dumps, hours, sizes)
    assert set(period.tenants.index) == {
        tenant
        for running, waiting, _ in dumps
        for tenant in {**running, **waiting}
        if any(d[0].get(tenant) or d[1].get(tenant) for d in dumps)
    }
    for tenant, row in period.tenants.iterrows():
        for figure, value in oracle[tenant].items():
            if figure == "verdict":
                assert row[figure] == value, tenant
            else:
                assert row[figure] == pytest.approx(float(value), abs=1e-9), (tenant, figure)
    total_hours = float(sum(hours))
    assert np.allclose(period.tenants["share"] * total_hours, period.tenants["used"], atol=1e-12)
    assert period.hours == pytest.approx(total_hours)


@pytest.mark.parametrize("half_life", ["2h", 0.5, "30d"])
def test_with_a_half_life_what_was_used_decays_as_history_does(tmp_path, half_life):
    hours = [1.0, 2.5, 0.5, 4.0]
    states = [A_FIRST, B_FIRST, A_FIRST, ({"A": 5, "B": 5}, {}), B_FIRST]
    paths = [write(tmp_path / f"{k}.json", items(*state)) for k, state in enumerate(states)]
    period = fairlp_clusters.period(paths, times=times_after(hours), half_life=half_life)
    length = {"2h": 2.0, 0.5: 0.5, "30d": 720.0}[half_life]
    for tenant, shares in (("A", [1, 0, 1, 0.5]), ("B", [0, 1, 0, 0.5])):
        history = 0.0
        for share, between in zip(shares, hours, strict=True):
            history = 2 ** (-between / length) * history + between * share
        assert period.tenants.loc[tenant, "used"] == pytest.approx(history, rel=1e-12)
    weights = [2 ** (-age / length) * b for age, b in zip((7, 4.5, 4, 0), hours, strict=True)]
    assert period.tenants["due"].to_numpy() == pytest.approx(0.5 * sum(weights), rel=1e-12)


def test_a_tenant_that_comes_late_has_nothing_before(tmp_path):
    folder = hourly(tmp_path, ({"A": 10}, {}), ({"A": 9}, {"late": 9}), ({"A": 10}, {}))
    period = fairlp_clusters.period(folder)
    first, last = period.dumps.index[[0, 1]]
    absent = period.times.loc[(first, "late")]
    assert (absent == 0).all() and period.times.loc[(last, "late"), "waiting"] == 9
    assert period.tenants.loc["late", "due"] == pytest.approx(0.5)
    assert period.tenants.loc["late", "hours_waiting"] == 1
    assert len(period.times) == 6


def test_a_tenant_alone_is_short_of_nothing(tmp_path):
    folder = hourly(tmp_path, ({"A": 2}, {"A": 5}), ({"A": 2}, {"A": 5}))
    row = fairlp_clusters.period(folder).tenants.loc["A"]
    assert (row["lacking"], row["short"], row["hours_waiting"]) == (0, 0, 1)


def test_parts_of_tasks_add_up(tmp_path):
    state = ({"A": 6, "B": 3}, {"A": 6, "B": 3})
    folder = hourly(tmp_path, *[state] * 9, cores=11, sizes={"A": 1, "B": 1.5})
    period = fairlp_clusters.period(folder)
    assert (period.dumps["short"] == 0).all()
    assert period.short == ["B"]
    assert period.tenants.loc["B", "lacking_task_hours"] == pytest.approx(8 * (5.5 - 4.5) / 1.5)
    assert "At no dump was B short of a whole task" in period.verdict[1]


def test_an_idle_cluster_is_a_part_of_a_period(tmp_path):
    period = fairlp_clusters.period(hourly(tmp_path, A_FIRST, ({}, {}), A_FIRST, ({}, {})))
    assert period.dumps["tenants"].tolist() == [2, 0, 2, 0]
    assert period.tenants.loc["A", "used"] == 2 and period.tenants.loc["B", "longest_wait"] == 1


def test_the_longest_wait_of_a_job_is_since_it_was_submitted(tmp_path):
    for hour, since in ((10, "2026-11-28T07:30:00Z"), (12, "2026-11-28T11:00:00Z")):
        objects = items({"A": 10}, {"B": 1}, since=since)
        write(tmp_path / f"2026-11-28T{hour}-00-00Z.json", objects)
    waits = fairlp_clusters.period(tmp_path).tenants["longest_job_wait"]
    assert waits["B"] == 2.5 and np.isnan(waits["A"])


def test_servers_come_and_go_and_shares_are_of_the_pool_at_that_time(tmp_path):
    one = items({"A": 5}, {"B": 5})
    two = [*one, period_dumps.node("n2", allocatable={"cpu": "10"})]
    for hour, objects in enumerate((one, two, one)):
        write(tmp_path / f"2026-11-28T1{hour}.json", objects)
    shares = fairlp_clusters.period(tmp_path).by_time("share")["A"]
    assert shares.tolist() == [0.5, 0.25, 0.5]


# What dumps have in common is read and computed once; the figures are the same.


@pytest.mark.parametrize("seed", by_day(range(6), 2))
def test_dumps_that_share_pods_give_what_each_gives_alone(tmp_path, seed):
    chance = random.Random(seed)
    paths = []
    running = {"a": 3, "b": 2, "c": 1}
    for hour in range(6):
        running = {t: max(0, min(3, n + chance.choice([-1, 0, 0, 1]))) for t, n in running.items()}
        waiting = {t: chance.choice([0, 1, 1, 2]) for t in running}
        objects = items(running, waiting)
        if chance.random() < 0.3:
            chance.shuffle(objects)
        unread = chance.choice(objects[1:])  # a note, which belongs to each dump
        unread["spec"] |= {"unheard": 1}
        paths.append(write(tmp_path / f"2026-11-28T1{hour}.json", objects))
    together = fairlp_clusters.period(paths)
    alone = fairlp_clusters.period(
        list(map(fairlp_clusters.snapshot, paths)), times=list(together.dumps.index)
    )
    assert together.tenants.equals(alone.tenants) and together.times.equals(alone.times)
    assert together.dumps.drop(columns="dump").equals(alone.dumps.drop(columns="dump"))


# Options, and what is refused.


def test_weights_and_exclusions_hold_at_every_dump(tmp_path):
    folder = hourly(tmp_path, A_FIRST, ({"C": 2, "B": 4}, {"A": 10}), B_FIRST)
    heavy = fairlp_clusters.period(folder, weights={"B": 3})
    assert heavy.by_time("fair_share").loc[heavy.dumps.index[0], "B"] == pytest.approx(0.75)
    without = fairlp_clusters.period(folder, exclude=["C"])
    assert "C" not in without.tenants.index
    assert fairlp_clusters.period(folder, exclude=["A", "B"]).dumps["tenants"].tolist() == [0, 1, 0]
    for wrong in ({"weights": {"Z": 2}}, {"exclude": ["Z"]}):
        with pytest.raises(UnknownNameError, match="Z"):
            fairlp_clusters.period(folder, **wrong)


def test_another_rule_may_say_what_is_fair(tmp_path):
    folder = hourly(tmp_path, A_FIRST, B_FIRST)
    assert fairlp_clusters.period(folder, "drfh").mechanism == "drfh"


def test_dumps_of_several_clusters_or_schedulers_are_refused(tmp_path):
    first = write(tmp_path / "2026-11-28.json", items({"a": 1}))
    other = write(tmp_path / "2026-11-29.json", items({"a": 1}, server="m1"))
    with pytest.raises(
        InstanceError, match=r"2026-11-29.json has none of the 1 servers of 2026-11"
    ):
        fairlp_clusters.period([first, other])
    slurm = {"meta": {}, "nodes": [slurm_dumps.node("n1")], "jobs": [slurm_dumps.job(1)]}
    path = tmp_path / "2026-11-30.json"
    path.write_text(json.dumps(slurm), encoding="utf-8")
    with pytest.raises(InstanceError, match=r"2026-11-30.json is of slurm, and .* of kubernetes"):
        fairlp_clusters.period([first, path])


def test_one_dump_is_no_period(tmp_path):
    path = write(tmp_path / "2026-11-28.json", items({"a": 1}))
    for dumps in (path, [path], tmp_path):
        with pytest.raises(InstanceError, match="a period is of two dumps or more, and 1 is here"):
            fairlp_clusters.period(dumps)


def test_snapshots_need_times(tmp_path):
    snapshot = fairlp_clusters.snapshot(
        write(tmp_path / "2026-11-28.json", items({"a": 1}, {"b": 1}))
    )
    with pytest.raises(InstanceError, match="snapshots do not say when they were made"):
        fairlp_clusters.period([snapshot, snapshot])
    with pytest.raises(InstanceError, match="there are 1 times of 2 dumps"):
        fairlp_clusters.period([snapshot, snapshot], times=["2026-11-28"])
    with pytest.raises(InstanceError, match="two dumps have one time"):
        fairlp_clusters.period([snapshot, snapshot], times=["2026-11-28"] * 2)


def test_dumps_may_come_in_any_order(tmp_path):
    hourly(tmp_path, A_FIRST, B_FIRST, A_FIRST)
    paths = sorted(tmp_path.iterdir(), reverse=True)
    period = fairlp_clusters.period(paths)
    assert period.dumps["dump"].tolist() == [path.name for path in reversed(paths)]
    assert period.dumps["hours"].tolist() == [1, 1, 0]


def test_slurm_users_are_tenants(tmp_path):
    for hour, (runs, waits) in enumerate((("ann", "bob"), ("ann", "bob"), ("bob", "ann"))):
        jobs = [
            slurm_dumps.job(1, runs, tres="cpu=16,mem=8G,node=1"),
            slurm_dumps.job(2, waits, tres="cpu=16,mem=8G,node=1", nodes=""),
        ]
        document = {"meta": {}, "nodes": [slurm_dumps.node("n1")], "jobs": jobs}
        path = tmp_path / f"2026-11-28T1{hour}.json"
        path.write_text(json.dumps(document), encoding="utf-8")
    period = fairlp_clusters.period(tmp_path)
    assert period.noun == "user" and set(period.tenants.index) == {"physics/ann", "physics/bob"}
    assert period.tenants.loc["physics/ann", "used"] == 2


# Words and the page.


def test_the_longest_stretch_counts_without_a_break():
    holds = np.array([[1, 1], [0, 1], [1, 1], [1, 0]], dtype=bool)
    assert longest_stretch(holds, np.array([4.0, 1.0, 2.0, 3.0])).tolist() == [5.0, 7.0]


def lines_of(figure, tenant):
    """The shares that a tenant has and is due, as they are drawn from time to time."""
    (axis,) = (axis for axis in figure.axes if axis.get_title() == tenant)
    return [list(line.get_ydata()) for line in axis.lines]


def test_the_page_has_the_verdict_the_picture_and_the_tables(tmp_path):
    for package in ("matplotlib", "jinja2"):
        pytest.importorskip(package)
    period = fairlp_clusters.period(hourly(tmp_path, A_FIRST, A_FIRST, B_FIRST), half_life="7d")
    page = period.report(tmp_path / "day.html").read_text(encoding="utf-8")
    assert re.findall(r'<section id="(\w+)"', page) == ["verdict", "times", "dumps"]
    for sentence in period.verdict:
        assert sentence in page
    assert re.findall(r'<table id="([\w-]+)"', page) == [
        "tenant-table",
        "moment-table",
        "look-table",
        "dump-table",
    ]
    picture = page.partition('<figure class="chart"')[2].partition("</figure>")[0]
    assert picture.count(">has<") == picture.count(">due<") == 1
    shares, due = lines_of(over_time(period), "B")
    assert shares == [0, 0, 1] and due[:2] == [0.5, 0.5]
    assert not re.search(r'(?:src|href)="(?!#)', page.partition("<script")[0])


@pytest.mark.slow
def test_the_picture_of_a_long_period_has_means(tmp_path):
    pytest.importorskip("matplotlib")
    snapshots = [
        fairlp_clusters.snapshot(write(tmp_path / f"{k}.json", items(*state)))
        for k, state in enumerate((A_FIRST, B_FIRST))
    ]
    count = 2 * MOST_TIMES
    times = [datetime(2026, 11, 28) + timedelta(hours=k) for k in range(count)]
    period = fairlp_clusters.period(snapshots * (count // 2), times=times)
    shares, _ = lines_of(over_time(period), "A")
    assert len(shares) == MOST_TIMES
    assert shares[:-1] == [0.5] * (MOST_TIMES - 1)


@pytest.mark.parametrize(("large_jobs", "lacking"), [(True, 0), (False, 10)])
def test_a_rest_smaller_than_the_next_job_is_due_to_nobody_over_hours_either(
    tmp_path, large_jobs, lacking
):
    """10 nodes of 1 CPU: ann has 5, and bob waits with one job of 7 nodes, or with 7 jobs of one."""
    nodes = [slurm_dumps.node(f"n{k}", cpus=1) for k in range(10)]
    jobs = [slurm_dumps.job(k, "ann", tres="cpu=1,node=1", nodes=f"n{k}") for k in range(5)]
    jobs += [slurm_dumps.job(50 + k, "ann", tres="cpu=1,node=1", nodes="") for k in range(9)]
    if large_jobs:
        jobs += [slurm_dumps.job(100, "bob", tres="cpu=7,node=7", nodes="", node_count=7)]
    else:
        jobs += [slurm_dumps.job(100 + k, "bob", tres="cpu=1,node=1", nodes="") for k in range(7)]
    for hour in range(3):
        document = {"meta": {}, "nodes": nodes, "jobs": jobs}
        path = tmp_path / f"2026-11-28T1{hour}.json"
        path.write_text(json.dumps(document), encoding="utf-8")
    period = fairlp_clusters.period(tmp_path)
    assert period.is_fair == large_jobs
    assert period.tenants.loc["physics/bob", "lacking_task_hours"] == pytest.approx(lacking)
