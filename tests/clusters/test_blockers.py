"""Who blocks whom."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
import fairlp_clusters
from fairlp import Instance, examples

INF = np.inf


def test_what_blocks_is_what_is_scarcest_and_having_all():
    instance = Instance.from_arrays([[1.0, 1.0], [1.0, 0.0]], [[10.0, 4.0]], task_limits=[INF, 3])
    blockers = fairlp_clusters.blockers(instance, np.array([[4.0], [3.0]])).set_index("user")
    assert blockers.loc["user1", "resource"] == "resource2" and blockers.loc["user1", "blocked"]
    assert blockers.loc["user2", "resource"] == "its tasks" and blockers.loc["user2", "blocked"]
    # on the second server [7.5, 2] is left: seven tasks by the one, half a task by the other
    one_user = Instance.from_arrays([[1.0, 4.0]], [[10.0, 4.0], [8.0, 4.0]], task_limits=[INF])
    blockers = fairlp_clusters.blockers(one_user, np.array([[1.0, 0.5]])).set_index("server")
    assert blockers["resource"].tolist() == ["resource2"] * 2 and blockers["free"].tolist() == [
        0,
        0.5,
    ]
    table = fairlp_clusters.blockers(instance, np.array([[3.9], [2.9]]))
    assert not table["blocked"].any()


def test_who_blocks_whom():
    instance = examples.load("khamse-ashari-figure-1")
    blockers = fairlp_clusters.blockers(instance, fairlp.allocate(instance, "psdsf-rdm")).set_index(
        ["user", "server"]
    )
    assert blockers.blocked.all()
    first = blockers.loc[("user1", "server1")]
    assert first.resource == "memory" and list(first.held_by) == ["user1", "user2"]
    assert sum(first.held_by.values()) == pytest.approx(12)
    priced = fairlp_clusters.blockers(instance, fairlp.allocate(instance, "drfh", method="lp"))
    assert priced.price.notna().all() and priced.price.max() > 0


def test_a_server_on_which_nobody_may_run_blocks_nobody():
    instance = Instance.from_arrays(
        [[1.0], [1.0]],
        [[4.0], [6.0]],
        servers=["used", "left"],
        eligible=np.array([[True, False], [True, False]]),
    )
    blockers = fairlp_clusters.blockers(instance, np.array([[1.0, 0.0], [3.0, 0.0]]))
    assert "left" not in blockers.to_string()
