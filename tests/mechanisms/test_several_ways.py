"""Tasks that can be done in several ways, as docs/several-ways.md builds them, and limits in one line each."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

import fairlp
from fairlp import Instance
from fairlp.formulations.region import queue_limits, task_limits
from pages import blocks


@pytest.fixture
def either_gpu():
    """The mechanism of the page: what its first two blocks declare."""
    names = {"__name__": "__main__"}
    for block in [block for block in blocks("several-ways.md") if block.kind == "python"][:2]:
        exec(compile(block.code, block.page, "exec"), names)
    return names["either_gpu"]


def draw(rng):
    """Return users with one way or two, on one to three servers with GPUs of two types."""
    cpu = rng.integers(1, 9, (3, 2)).astype(float)
    ways_of_user = rng.integers(0, 3, 3)  # both ways, A only, B only
    cpu[ways_of_user == 1, 1] = np.nan
    cpu[ways_of_user == 2, 0] = np.nan
    needs = pd.DataFrame(cpu, columns=["cpu with A", "cpu with B"], index=["ann", "bob", "cat"])
    capacities = rng.integers(4, 40, (int(rng.integers(1, 4)), 3))
    demands = np.column_stack([needs.min(axis=1), ways_of_user == 1, ways_of_user == 2])
    return Instance.from_arrays(
        demands, capacities, users=list(needs.index), user_attributes=needs, weights=[1, 2, 1]
    )


def smallest_level(instance):
    """Return the best smallest level by SciPy: columns are the tasks by user, way and server, and the level."""
    cpu = instance.user_attributes.to_numpy()
    users, servers = len(instance.users), len(instance.servers)
    keys = [
        (n, w, i) for n in range(users) for w in range(2) for i in range(servers) if cpu[n, w] > 0
    ]
    rows = np.zeros((servers * 3, len(keys)))
    for column, (n, w, i) in enumerate(keys):
        rows[3 * i, column] = cpu[n, w]
        rows[3 * i + 1 + w, column] = 1
    room = instance.capacities.ravel()

    def best(user):
        objective = [-float(n == user) for n, _, _ in keys]
        return -linprog(objective, rows, room).fun

    levels = np.zeros((users, len(keys) + 1))
    for column, (n, _, _) in enumerate(keys):
        levels[n, column] = -1
    levels[:, -1] = [best(n) * instance.weights[n] for n in range(users)]
    program = np.vstack([np.column_stack([rows, np.zeros(len(rows))]), levels])
    objective = [0.0] * len(keys) + [-1.0]
    return -linprog(objective, program, [*room, *[0.0] * users]).fun


@pytest.mark.parametrize("seed", range(8))
def test_levels_are_those_of_another_program(either_gpu, seed):
    instance = draw(np.random.default_rng(seed))
    allocation = fairlp.allocate(instance, either_gpu)
    assert allocation.levels.min() == pytest.approx(smallest_level(instance))
    assert allocation.certify(exact=True).holds
    findings = fairlp.audit(instance, allocation, ["feasible", "non-wasteful", "Pareto-optimal"])
    assert findings["holds"].all()


@pytest.mark.slow
def test_it_is_a_mechanism_everywhere(either_gpu, tmp_path):
    table = fairlp.promises(audits=5, mechanisms=[either_gpu], generator=draw)
    assert table[["audited", "broken"]].to_numpy().tolist() == [[5, 0]]
    instance = draw(np.random.default_rng(3))
    fairlp.formulate(instance, either_gpu).write(tmp_path / "either.mps")
    program = fairlp.read_program(tmp_path / "either.mps")
    assert program.solve("scipy").objective == pytest.approx(smallest_level(instance))
    assert fairlp.validate(instance, either_gpu)["agrees"].all()


def own_drf(instance) -> fairlp.Model:
    """DRF on one server, with task limits and limits of queues."""
    n, i, r = instance.users, instance.servers, instance.resources
    model = fairlp.Model("Own DRF", indices=(n, i, r))
    d = model.parameter("d", (n, r), instance.demands)
    c = model.parameter("c", (i, r), instance.total_capacities)
    s = model.parameter("s", n, (instance.demands / instance.pool).max(axis=1), "dominant share")
    x = model.variable("x", n, i)
    model.constraint("capacity", (d * x).sum(n) <= c)
    task_limits(model, instance, x.sum(i))
    queue_limits(model, instance, x.sum(i))
    model.leximin(s * x.sum(i))
    model.define("tasks", x)
    return model


@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"task_limits": [1, np.inf, 2]},
        {"queue": ["a", "a", "b"], "queues": {"a": {"cap": {"resource1": 3}}}},
        {
            "task_limits": [4, np.inf, np.inf],
            "queue": ["a", "b", "b"],
            "queues": {"a": {"guarantee": {"resource1": 6, "resource2": 6}}},
        },
    ],
)
def test_limits_take_one_line_each(limits):
    """With all users in queues of the root, the levels of users are those of DRF with limits."""
    instance = Instance.from_arrays([[1, 2], [2, 1], [1, 1]], [[12, 12]], **limits)
    own_row = fairlp.mechanism("own-drf-with-limits")(own_drf)
    allocation = fairlp.allocate(instance, own_row)
    assert allocation.certify().holds
    totals = allocation.totals.to_numpy()
    rows, room = [[1, 2, 1], [2, 1, 1]], [12, 12]
    cap = {1: [[1, 2, 0]]} if "cap" in str(limits) else {}
    rows += cap.get(1, [])
    room += [3.0] if cap else []
    least = [3.0 if "guarantee" in str(limits) else 0.0, 0.0, 0.0]
    limits_above = limits.get("task_limits", [np.inf] * 3)
    share = np.array([2, 2, 1]) / 12
    # the smallest level, with limits as bounds, by SciPy
    program = [[*row, 0.0] for row in rows] + [
        [*(-share[n] * (np.arange(3) == n)), 1.0] for n in range(3)
    ]
    bounds = [*zip(least, limits_above, strict=True), (0, None)]
    best = -linprog([0, 0, 0, -1], program, [*room, 0, 0, 0], bounds=bounds).fun
    assert (share * totals).min() == pytest.approx(best)
    assert (totals <= np.array(limits_above) + 1e-9).all() and (
        totals >= np.array(least) - 1e-9
    ).all()
    if cap:
        assert totals @ [1, 2, 0] <= 3 + 1e-9
