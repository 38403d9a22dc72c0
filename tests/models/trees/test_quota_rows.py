"""Quotas as bounds on all tasks together, compared with the definition that proofs are made of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cohort_instances import (
    instance_of,
    lending_cohorts,
    lending_cohorts_and_strays,
    random_cohorts,
)
from fairlp.mechanisms.max_min.quota_levels import Books
from fairlp.models.instances.quotas import Lanes
from fairlp.models.paths.pool import PoolRows
from fairlp.models.trees.quota_rows import QuotaRows
from fairlp.models.trees.quotas import QuotaPath
from profiles import many

#: A relative excess of a quota that is no rounding, and a rise that makes one.
CLEAR = 1e-9
RISE = 1e-6


def rows_and_path(instance):
    """The bounds of the pool and of quotas, and the path of an instance of one lane a user."""
    lanes = Lanes.of(instance)
    path = QuotaPath.first(lanes, instance)
    pool = PoolRows.of(instance.pool, instance.demands, instance.demands, instance.tree)
    return QuotaRows(pool.use, pool.room, path.quotas), path


def excess(books, instance, tasks):
    """The largest relative excess of a quota or of the pool."""
    over_pool = (tasks @ instance.demands / instance.pool - 1).max()
    return max(books.excess(tasks)[0], over_pool)


@pytest.mark.parametrize("seed", range(many(120)))
@pytest.mark.parametrize("draw", [random_cohorts, lending_cohorts, lending_cohorts_and_strays])
def test_a_path_goes_as_far_as_quotas_by_definition_allow(draw, seed):
    instance = instance_of(*draw(seed))
    rows, path = rows_and_path(instance)
    books = Books(instance)
    while path.active.any():
        t = rows.farthest(path)
        assert excess(books, instance, path.tasks_at(t)) <= CLEAR
        blocked = rows.blocked(path, t)
        stops = blocked | path.satisfied_at(t)
        assert stops.any() or t == path.end
        path = path.after(t, stops)


@pytest.mark.parametrize("seed", range(many(120)))
@pytest.mark.parametrize("draw", [random_cohorts, lending_cohorts, lending_cohorts_and_strays])
def test_who_is_blocked_exceeds_a_quota_with_any_more_and_nobody_else_does(draw, seed):
    instance = instance_of(*draw(seed))
    rows, path = rows_and_path(instance)
    books = Books(instance)
    alone = instance.gamma().sum(axis=1)
    while path.active.any():
        t = rows.farthest(path)
        blocked = rows.blocked(path, t)
        tasks = path.tasks_at(t)
        for user in np.flatnonzero(path.active):
            more = tasks.copy()
            more[user] += RISE * alone[user]
            assert blocked[user] == (excess(books, instance, more) > CLEAR)
        path = path.after(t, blocked | path.satisfied_at(t))


def test_a_cut_keeps_the_quotas():
    instance = instance_of(*random_cohorts(3))
    rows, path = rows_and_path(instance)
    use = np.ones(len(path.tasks))
    cut = rows.and_row(use, 0.5 * float(path.tasks_at(rows.farthest(path)).sum()))
    assert isinstance(cut, QuotaRows)
    assert cut.farthest(path) < rows.farthest(path)
    assert cut.with_room(path.tasks, len(cut.room)).farthest(path) == cut.farthest(path)


def test_a_queue_without_borrowing_stops_at_its_own():
    tree = {
        "": (1.0, [0.0], [np.inf], [np.inf]),
        "a": (1.0, [4.0], [0.0], [np.inf]),
        "b": (1.0, [6.0], [np.inf], [np.inf]),
    }
    users = {"a": ([1.0], np.inf), "b": ([1.0], np.inf)}
    rows, path = rows_and_path(instance_of(tree, users, [10.0]))
    full = replace(path, tasks=np.array([4.0, 1.0]))
    assert rows.blocked(full, 0.0).tolist() == [True, False]
