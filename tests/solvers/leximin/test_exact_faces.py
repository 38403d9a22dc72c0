"""Rounds on exact faces: levels beside rationals and SciPy's rounds, and where they are used."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog
from scipy.sparse.linalg import splu

import fairlp
import leximin_oracle
from fairlp import Instance
from fairlp.mechanisms.max_min import methods
from fairlp.mechanisms.table import find
from fairlp.models.programs.proof import Proof
from fairlp.solvers.leximin.exact_faces import leximin_on_faces
from fairlp.solvers.leximin.leximin import suits_faces
from fairlp.solvers.leximin.whole_numbers import PLACES, ExactMatrix, solved
from fairlp_research.library.numerics import shaped
from profiles import many

DRFH = find("drfh")


@st.composite
def small_clusters(draw):
    """Users who may run on some servers, of whole numbers or not, with zeros, ties and identical servers."""
    users, servers = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    demands, capacities = rng.lognormal(0, 1, (users, 2)), rng.lognormal(1, 1, (servers, 2))
    if draw(st.booleans()):
        demands, capacities = np.ceil(demands), np.ceil(capacities)
    demands[rng.random(demands.shape) < 0.3] = 0
    demands[~demands.any(axis=1), 0] = 1
    eligible = rng.random((users, servers)) < 0.7
    eligible[~eligible.any(axis=1), 0] = True
    weights = rng.choice([1.0, 2.0, 3.0], users)
    counts = rng.integers(1, 3, servers)
    return Instance.from_arrays(
        demands, capacities, eligible=eligible, weights=weights, counts=counts
    )


def on_faces(instance, start=None):
    """Levels and tasks, proved."""
    verdict, tasks = leximin_on_faces(instance, DRFH.tasks_per_level(instance), start)
    assert verdict, str(verdict)
    return np.array([float(level or 0) for level in verdict.levels]), tasks


def is_on_faces(allocation):
    return any("on exact faces" in note for note in allocation.notes)


def rounds_by_scipy(instance):
    """The levels by linprog: raise t; who cannot be raised alone stops."""
    users, servers = instance.shape
    due = DRFH.tasks_per_level(instance)
    fits = np.kron(np.eye(servers), instance.demands.T)  # by server: what its tasks use
    room = instance.total_capacities.ravel()
    totals = np.tile(np.eye(users), servers)
    bounds = [(0, None if runs else 0) for runs in instance.runnable().T.ravel()]
    level = np.full(users, np.nan)
    while np.isnan(level).any():
        rises = np.isnan(level)
        floors = np.where(rises, 0.0, level * due * (1 - 1e-12))
        rows = np.block(
            [
                [fits, np.zeros((len(fits), 1))],
                [-totals, np.where(rises, due, 0.0)[:, None]],
            ]
        )
        cost = np.append(np.zeros(users * servers), -1.0)
        optimum = linprog(
            cost, rows, np.append(room, -floors), bounds=[*bounds, (0, None)], method="highs"
        )
        t = -optimum.fun
        floors = np.where(rises, t * due, level * due) * (1 - 1e-10)
        most = np.full(users, np.inf)
        for n in np.flatnonzero(rises):
            alone = linprog(
                -totals[n],
                np.vstack([fits, -totals]),
                np.append(room, -floors),
                bounds=bounds,
                method="highs",
            )
            most[n] = -alone.fun / due[n]
        level[most <= max(t * (1 + 1e-7), most.min() * (1 + 1e-9))] = t
    return level


@settings(max_examples=many(150), deadline=None)
@given(small_clusters())
def test_levels_equal_those_of_rationals(instance):
    levels, tasks = on_faces(instance)
    rates = DRFH.tasks_per_level(instance)
    exact = leximin_oracle.leximin(
        instance.demands, instance.capacities, instance.counts, rates, eligible=instance.runnable()
    )
    np.testing.assert_allclose(levels, [float(level) for level in exact], rtol=1e-14)
    np.testing.assert_allclose(tasks.sum(axis=1), levels * rates, rtol=1e-13)
    assert (tasks >= 0).all() and not tasks[~instance.runnable()].any()
    assert (tasks.T @ instance.demands <= instance.total_capacities * (1 + 1e-13)).all()


#: Ties in which a vertex lies outside by 1e-17, which no solver in floats sees.
OUTSIDE_BY_ROUNDING = (1081337380, 136958459)


@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        *product(["windows", "few-servers", "racks", "ties"], range(many(20))),
        *product(["ties"], OUTSIDE_BY_ROUNDING),
    ],
)
def test_levels_equal_those_of_linear_programs_by_scipy(kind, seed):
    size = 6 + seed % 15
    instance = shaped("windows" if kind == "ties" else kind, size, size, seed)
    if kind == "ties":
        demands, capacities = np.ceil(instance.demands), np.ceil(instance.capacities)
        instance = Instance.from_arrays(demands, capacities, eligible=instance.runnable())
    levels, _ = on_faces(instance)
    np.testing.assert_allclose(levels, rounds_by_scipy(instance), rtol=1e-6)


@pytest.mark.parametrize("seed", range(many(6)))
def test_levels_do_not_depend_on_where_the_rounds_begin(seed):
    """At an optimum inside, at a point that is none with prices that mean nothing, or at nothing."""
    instance = shaped("windows", 60, seed=seed)
    expected, tasks = on_faces(instance)
    noise = np.random.default_rng(seed)
    for point in (tasks, noise.random(tasks.shape)):
        prices = noise.random(instance.capacities.shape)
        levels, _ = on_faces(instance, (point, prices))
        np.testing.assert_allclose(levels, expected, rtol=1e-15)


@pytest.mark.parametrize("seed", [5, 44])
def test_windows_are_left_to_exact_faces_and_proved(seed):
    """Floats leave these open: prices of the last rounds are millions of times the first."""
    instance = shaped("windows", 100, seed=seed)
    allocation = fairlp.allocate(instance, "drfh", method="interior-point")
    assert is_on_faces(allocation) and not allocation.unproved
    assert allocation.prices is not None and len(allocation.rounds) > 5
    verdict = allocation.certify()
    assert verdict and verdict.gap <= 1e-12

    # of one user a little less: it can have more, which is seen
    tasks = allocation.tasks_array.copy()
    tasks[3] *= 1 - 1e-6
    refused = replace(allocation, tasks_array=tasks).certify()
    assert not refused and "not optimal" in str(refused)


def test_users_and_servers_that_are_alike_are_proved():
    """Proportional users and identical servers, whose shares of a sum are no powers of two."""
    demands = [[0.1, 0.3], [0.2, 0.6], [0.7, 0.1], [0.3, 0.9]]
    capacities = [[1.1, 2.3], [1.1, 2.3], [1.1, 2.3], [0.7, 0.9]]
    eligible = [[1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 0], [0, 0, 0, 1]]
    instance = Instance.from_arrays(demands, capacities, eligible=eligible, counts=[1, 2, 3, 1])
    levels, _ = on_faces(instance)
    exact = fairlp.allocate(instance, "drfh").certify(exact=True)
    np.testing.assert_allclose(levels, [float(level) for level in exact.levels], rtol=1e-14)


def test_a_user_who_can_run_nothing_has_nothing():
    demands = [[1.0, 1.0], [1.0, 0.0], [2.0, 0.0]]
    levels, tasks = on_faces(Instance.from_arrays(demands, [[3.0, 0.0], [0.0, 5.0]]))
    assert levels[0] == 0 and tasks[0].sum() == 0 and (levels[1:] > 0).all()


def test_numbers_that_are_too_far_apart_are_not_proved():
    instance = Instance.from_arrays([[1e-200, 1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 2.0]])
    verdict, _ = leximin_on_faces(instance, DRFH.tasks_per_level(instance))
    assert not verdict and "too far apart" in str(verdict)


def test_where_exact_faces_fail_rounds_go_on_as_before(monkeypatch):
    instance = shaped("windows", 60, seed=3)
    expected = fairlp.allocate(instance, "drfh", method="interior-point")
    monkeypatch.setattr(
        methods, "leximin_on_faces", lambda *_: (Proof(False, "no basis"), np.zeros((0, 0)))
    )
    allocation = fairlp.allocate(instance, "drfh", method="interior-point")
    assert is_on_faces(expected) and allocation.round_prices is not None
    np.testing.assert_allclose(allocation.levels, expected.levels, rtol=1e-6)


def test_a_time_limit_and_task_limits_leave_rounds_to_floats():
    instance = shaped("windows", 60, seed=3)
    limited = instance.derived(task_limits=np.full(60, 1e9))
    assert suits_faces(instance) and not suits_faces(limited)
    for case, options in ((instance, {"time_limit": 60.0}), (limited, {})):
        allocation = fairlp.allocate(case, "drfh", method="interior-point", **options)
        assert allocation.round_prices is not None and not is_on_faces(allocation)


@pytest.mark.parametrize("transposed", [False, True])
def test_systems_are_solved_to_the_last_places(transposed):
    """A matrix that floats hardly tell from a singular one, beside fractions."""
    rows = [[1.0, 1.0, 0.1], [1.0, 1.0 + 2.0**-30, 0.0], [0.3, 0.0, 0.7]]
    matrix = sp.csc_array(rows)
    side = np.array([1, 2, 3], dtype=object) << PLACES
    exact = ExactMatrix.of(matrix.T if transposed else matrix)
    x = solved(splu(matrix), exact, side, transposed)
    table = np.array(rows).T if transposed else np.array(rows)
    for row, right in zip(table.tolist(), (1, 2, 3), strict=True):
        total = sum(
            Fraction(a) * Fraction(int(b), 1 << PLACES) for a, b in zip(row, x, strict=True)
        )
        assert abs(total - right) < Fraction(1, 1 << PLACES - 40)
