"""The linear programs of the steps on a back end that fails or lies: another start, another method, or an error."""

from __future__ import annotations

import dataclasses

import pytest

import fairlp
from fairlp.errors import NoSolutionError, SolverError
from fairlp.models.programs.backends import find_backend
from fairlp.models.programs.status import Termination
from fairlp.solvers.backends.base import ProgramSession
from fairlp.solvers.backends.highs import Highs

INSTANCE = fairlp.Instance.from_arrays([[1, 4], [3, 1], [2, 2]], [[9, 18]])


class Lying(ProgramSession):
    """HiGHS, whose answers to some calls are changed."""

    def __init__(self, program, options, lie, calls):
        super().__init__(find_backend("highs"), program, options)
        self.lie, self.calls, self.count, self.restarts = lie, calls, 0, []

    def solve(self):
        self.count += 1
        solution = super().solve()
        return self.lie(solution) if self.calls(self.count) else solution

    def restart(self, other_method=False):
        self.restarts.append(other_method)


def fails(solution):
    raise SolverError("planted")


def loses_a_dual(solution):
    return dataclasses.replace(solution, row_duals=0.0 * solution.row_duals)


def out_of_time(solution):
    return dataclasses.replace(
        solution, status=dataclasses.replace(solution.status, termination=Termination.TIME_LIMIT)
    )


class LyingBackend(Highs):
    """A back end of which some answers are changed; ``sessions`` are those that it opened."""

    def __init__(self, lie, calls):
        super().__init__()
        self.lie, self.calls, self.sessions = lie, calls, []

    def session(self, program, options):
        self.sessions.append(Lying(program, options, self.lie, self.calls))
        return self.sessions[-1]


def allocate(backend, **options):
    return fairlp.allocate(INSTANCE, "dynamic-drf", method="lp", solver=backend, **options)


@pytest.mark.parametrize("lie", [fails, loses_a_dual, out_of_time])
@pytest.mark.parametrize("bad", [1, 2])
def test_what_is_not_certified_is_solved_afresh_and_then_otherwise(lie, bad):
    expected = fairlp.allocate(INSTANCE, "dynamic-drf").steps
    backend = LyingBackend(lie, lambda call: 2 <= call < 2 + bad)  # at the second step
    result = allocate(backend)
    assert backend.sessions[0].restarts == [False, True][:bad]
    assert result.steps.to_numpy() == pytest.approx(expected.to_numpy(), rel=1e-9, nan_ok=True)


def misses_rows(by):
    """All values larger by this fraction: certified (that is 1e-7), but capacities are missed."""
    sizes = iter(by)
    return lambda solution: dataclasses.replace(solution, x=solution.x * (1 + next(sizes)))


@pytest.mark.parametrize("bad", [1, 2])
def test_what_is_certified_but_misses_rows_is_solved_again(bad):
    expected = fairlp.allocate(INSTANCE, "dynamic-drf").steps
    backend = LyingBackend(misses_rows([1e-8, 2e-8]), lambda call: 2 <= call < 2 + bad)
    result = allocate(backend)
    assert backend.sessions[0].restarts == [False, True][:bad]
    assert result.steps.to_numpy() == pytest.approx(expected.to_numpy(), rel=1e-12, nan_ok=True)


@pytest.mark.parametrize(
    ("lie", "message"), [(fails, "planted"), (loses_a_dual, "did not solve .*step 2: .*gap")]
)
def test_what_is_never_certified_is_an_error(lie, message):
    backend = LyingBackend(lie, lambda call: call >= 2)
    with pytest.raises(SolverError, match=message):
        allocate(backend)
    assert backend.sessions[0].restarts == [False, True]


def test_a_limit_of_time_is_not_tried_again():
    backend = LyingBackend(out_of_time, lambda call: call >= 2)
    with pytest.raises((NoSolutionError, SolverError), match="time limit"):
        allocate(backend, time_limit=60)
    assert backend.sessions[0].restarts == []
