"""Vertices on the columns that matter: the same as on the whole program, through any series of changes."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from fairlp.errors import SolverError
from fairlp.models.programs.options import Options
from fairlp.models.programs.program import Program
from fairlp.models.programs.status import Termination
from fairlp.solvers.backends.highs import Highs
from fairlp.solvers.interior_point.pricing import PricingSession

EQUAL = 1e-8


def whole(session):
    """The answer of HiGHS to the whole program that is loaded, from scratch."""
    return Highs().solve(session.program, Options(method="simplex").tightened(Highs()))


def assert_vertex_of_whole_program(session):
    """The session's answer is one of the whole program, and a vertex of it."""
    solution, expected = session.solve(), whole(session)
    assert solution.status.is_optimal and solution.program is session.program
    assert solution.objective == pytest.approx(expected.objective, rel=EQUAL)
    assert solution.verify().is_optimal
    assert np.count_nonzero(solution.x) <= session.program.n_rows
    return solution


def pricing(users=30, servers=20, seed=0):
    """A session on a log-normal instance, begun from an interior optimum."""
    rng = np.random.default_rng(seed)
    instance = fairlp.Instance.from_arrays(
        rng.lognormal(0, 1, (users, 3)), rng.lognormal(3, 1, (servers, 3))
    )
    model = fairlp.formulate(instance, "drfh")
    program = model.compile()
    start = model.solve("interior-point")
    assert start.method == "interior point"
    return PricingSession(Highs(), program, Options().tightened(Highs()), start)


@pytest.mark.parametrize("seed", range(5))
def test_vertices_of_many_programs_in_turn(seed):
    rng = np.random.default_rng(seed)
    session = pricing(seed=seed)
    program: Program = session.program
    capacity, fairness, level = (
        program.row_block("capacity"),
        program.row_block("fairness"),
        program.column_block("t"),
    )
    first_size = len(session.columns)
    assert first_size < 0.7 * program.n_columns  # a part of the program is all that HiGHS sees
    t = float(assert_vertex_of_whole_program(session).x[level.start])
    free = np.full(len(fairness), np.inf)
    rows = np.arange(fairness.start, fairness.stop)
    for _ in range(3):  # floors for some, and slopes of others
        session.change(
            rows=(
                rows,
                np.where(rng.random(len(rows)) < 0.5, 0.5 * t * rng.random(len(rows)), 0.0),
                free,
            )
        )
        session.change(coefficients=(rows, level.start, -rng.uniform(0.2, 3, len(rows))))
        assert_vertex_of_whole_program(session)
    which = np.arange(capacity.start, capacity.stop)
    upper = program.row_upper[which] * rng.uniform(0.5, 3, len(which))
    session.change(rows=(which, np.full(len(which), -np.inf), upper))
    assert_vertex_of_whole_program(session)
    # fix the level; let the tasks of some users be what counts
    half = float(session.solve().x[level.start]) / 2
    session.change(columns=(np.array([level.start]), np.array([half]), np.array([half])))
    costs = np.where(rng.random(program.n_columns) < 0.3, rng.random(program.n_columns), 0.0)
    costs[level.start] = 0.0
    session.change(costs=costs)
    assert_vertex_of_whole_program(session)
    columns = np.flatnonzero(session.solve().x > 0)
    columns = columns[columns != level.start][::2]
    session.change(columns=(columns, np.zeros(len(columns)), np.zeros(len(columns))))
    assert (assert_vertex_of_whole_program(session).x[columns] == 0).all()
    session.restart()
    assert_vertex_of_whole_program(session)
    assert len(session.columns) > first_size


def test_a_change_of_a_column_that_is_left_out_is_not_lost():
    session = pricing(seed=7)
    program = session.program
    out = int(np.flatnonzero(~session.active)[0])
    rows, values = (
        array[slice(*program.A.indptr[out : out + 2])]
        for array in (program.A.indices, program.A.data)
    )
    before = assert_vertex_of_whole_program(session).objective
    assert not session.active[out]
    values = np.where(rows < program.row_block("capacity").stop, values / 1e3, values)
    session.change(coefficients=(rows, out, values))
    objective = assert_vertex_of_whole_program(session).objective
    assert objective > before * (1 + 1e-3)  # its tasks need next to nothing now
    assert session.active[out]


def test_a_program_that_became_infeasible_is_told_so():
    session = pricing(seed=8)
    fairness = session.program.row_block("fairness")
    rows = np.arange(fairness.start, fairness.stop)
    session.change(rows=(rows, np.full(len(rows), 10.0), np.full(len(rows), np.inf)))
    assert (
        session.solve().status.termination
        is whole(session).status.termination
        is Termination.INFEASIBLE
    )


def test_entries_that_are_not_in_the_matrix_cannot_be_changed():
    session = pricing(seed=8)
    level = session.program.column_block("t").start
    with pytest.raises(SolverError, match="not in the matrix"):
        session.change(
            coefficients=(
                np.array([session.program.row_block("capacity").start]),
                level,
                np.ones(1),
            )
        )
