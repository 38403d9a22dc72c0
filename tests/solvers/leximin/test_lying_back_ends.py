"""The leximin on a back end that lies: points, duals, statuses and errors planted into honest answers."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import fairlp
from fairlp.errors import NoSolutionError, SolverError
from fairlp.formulations import max_min, normalisers
from fairlp.models.programs.backends import find_backend
from fairlp.models.programs.solution import Capability, Options, Point, Status, Termination
from fairlp.solvers.backends.base import ProgramSession
from fairlp.solvers.leximin import rounds
from fairlp.solvers.leximin.leximin import leximin
from fairlp.solvers.leximin.of_model import levels_of, ordered_outcomes
from fairlp.tolerances import FLOOR_RELAXATIONS, VERIFIED


class Lying(ProgramSession):
    """A session that solves by HiGHS and then lies about the answers of some calls."""

    def __init__(self, program, options, lie, calls, open_rounds=0):
        super().__init__(find_backend("highs-simplex"), program, options)
        self.lie, self.calls, self.open_rounds = lie, calls, open_rounds
        self.count, self.restarts, self.floors = 0, [], []

    def solve(self):
        self.count += 1
        self.floors.append(self.program.row_lower.copy())
        solution = super().solve()
        return self.lie(solution) if self.calls(self.count) else solution

    def restart(self, other_method=False):
        self.restarts.append(other_method)

    def leaves_open(self, solution, gap):
        self.open_rounds -= 1
        return self.open_rounds >= 0


class LyingBackend:
    name = "lying"

    def __init__(self, lie, calls, duals=True, **more):
        self.lie, self.calls, self.more = lie, calls, more
        self.capabilities = frozenset({Capability.LP} | ({Capability.DUALS} if duals else set()))
        self.sessions = []

    def session(self, program, options):
        self.sessions.append(Lying(program, options, self.lie, self.calls, **self.more))
        return self.sessions[-1]


def instance(limits=None):
    """Levels 1/3, 1/3, 1/3 of cpu, then 1/2 of memory."""
    demands = [[1, 0.5], [1, 0.5], [1, 0.5], [0, 1]]
    return fairlp.Instance.from_arrays(demands, [[8, 8]], task_limits=limits)


LEVELS = [1 / 3, 1 / 3, 1 / 3, 1 / 2]


def run(monkeypatch, lie, calls=lambda count: count == 1, one=None, options=None, formulation=max_min.drf, **how):
    backend = LyingBackend(lie, calls, **how)
    monkeypatch.setattr(rounds, "find_backend", lambda name: backend)
    gamma = normalisers.entitled_by(normalisers.dominant)
    found = leximin(one or instance(), formulation, gamma, merge=False, options=options)
    return found, backend.sessions[0]


def suboptimal(solution):
    """Half of everything: feasible in the first round, and far from optimal."""
    return dataclasses.replace(solution, x=solution.x / 2)


def infeasible(solution):
    return dataclasses.replace(solution, x=solution.x * 2)


def slightly_infeasible(solution):
    return dataclasses.replace(solution, x=solution.x * (1 + 5 * VERIFIED))


def slightly_suboptimal(solution):
    return dataclasses.replace(solution, x=solution.x * (1 - 5 * VERIFIED))


def wrong_duals(solution):
    """The price of the first user moved to the last: who is blocked would be another one."""
    duals = solution.row_duals.copy()
    block = solution.program.row_block("fairness").slice
    duals[block] = duals[block][::-1]
    return dataclasses.replace(solution, row_duals=duals)


def no_duals(solution):
    return dataclasses.replace(solution, row_duals=None, column_duals=None)


def no_word(solution):
    status = Status(Termination.UNKNOWN, Point.FEASIBLE, Point.FEASIBLE, "planted")
    return dataclasses.replace(solution, status=status)


def failure(solution):
    raise SolverError("planted")


LIES = (suboptimal, infeasible, slightly_infeasible, slightly_suboptimal, wrong_duals, no_duals, no_word, failure)


def test_an_honest_back_end_needs_no_second_try(monkeypatch):
    found, session = run(monkeypatch, None, lambda count: False)
    assert found.levels == pytest.approx(LEVELS, rel=1e-12) and session.restarts == [] and found.relaxed == 0
    assert found.programs == session.count == 2


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("call", [1, 2])
def test_one_lie_is_seen_and_the_program_solved_again_by_another_method(monkeypatch, lie, call):
    found, session = run(monkeypatch, lie, lambda count: count == call)
    assert found.levels == pytest.approx(LEVELS, rel=1e-12)
    assert session.restarts == [True] and session.count == 3 and found.gap <= VERIFIED


@pytest.mark.parametrize("lie", LIES)
def test_a_back_end_that_always_lies_gives_no_levels(monkeypatch, lie):
    with pytest.raises(SolverError):
        run(monkeypatch, lie, lambda count: True)


@pytest.mark.parametrize("lie", [infeasible, slightly_infeasible, no_word, failure])
def test_without_duals_an_infeasible_point_is_seen(monkeypatch, lie):
    found, session = run(monkeypatch, lie, duals=False)
    assert found.levels == pytest.approx(LEVELS, rel=1e-6) and session.restarts == [True] and found.gap is None


def test_floors_give_way_little_by_little_and_the_answer_says_so(monkeypatch):
    """Seven lies in the second round: two tries with all floors, two at each of the smallest relaxations."""
    found, session = run(monkeypatch, failure, lambda count: 2 <= count <= 6)
    assert session.restarts == [True, False, True, False, True]
    assert found.relaxed == FLOOR_RELAXATIONS[2] and found.levels == pytest.approx(LEVELS, rel=1e-9)
    block = session.program.row_block("fairness")
    floors = np.array(session.floors)[:, block.start]
    assert floors[1] == floors[2] == floors[3] > 0
    assert floors[4] == floors[1] - FLOOR_RELAXATIONS[1] * floors[1]
    assert floors[6] == floors[1] - FLOOR_RELAXATIONS[2] * floors[1] < floors[4]


def test_a_time_limit_that_was_reached_ends_it(monkeypatch):
    def late(solution):
        return dataclasses.replace(solution, status=Status(Termination.TIME_LIMIT, Point.FEASIBLE, Point.NONE, ""))

    backend = LyingBackend(late, lambda count: True)
    monkeypatch.setattr(rounds, "find_backend", lambda name: backend)
    with pytest.raises(NoSolutionError, match="time limit"):
        leximin(instance(), max_min.drf, normalisers.entitled_by(normalisers.dominant), options={"time_limit": 100.0})
    assert backend.sessions[0].count == 1


def test_the_gap_is_the_largest_of_all_programs(monkeypatch):
    """A point that is optimal to 2e-8 only, within what is called verified."""

    def off(solution):
        return dataclasses.replace(solution, x=solution.x * (1 - 2e-8))

    found, session = run(monkeypatch, off)
    assert session.restarts == [] and 1e-9 < found.gap <= 1e-7


def test_the_gap_of_a_program_that_is_no_round_counts_too():
    """Those that decide who is stuck have no level of their own: of them it is what the program says."""

    def off(solution):
        return dataclasses.replace(solution, x=solution.x * (1 - 2e-8))

    program = max_min.drf(instance()).compile()
    rows = program.row_block("fairness").slice
    backend = LyingBackend(off, lambda count: count == 1)
    floored = rounds.Rounds((backend, Options()), program, np.r_[rows], 0)
    for _ in range(2):
        floored.solve()
        assert 1e-9 < floored.gap <= 1e-7
    assert floored.programs == 2 and floored.certificate.gap < 1e-12


def test_a_round_that_is_open_is_solved_again(monkeypatch):
    found, session = run(monkeypatch, None, lambda count: False, open_rounds=1)
    assert session.restarts == [False] and session.count == 3 and found.levels == pytest.approx(LEVELS)


def test_a_round_that_freezes_nobody_is_an_error(monkeypatch):
    """Prices of 0 pass a certificate that is told to believe them."""

    class Believed:
        is_optimal, gap, objective_gap = True, 0.0, None

    monkeypatch.setattr("fairlp.models.programs.solution.Solution.verify", lambda self: Believed())
    honest = rounds.LevelRounds._stuck
    monkeypatch.setattr(rounds.LevelRounds, "_stuck", lambda self, level, who: honest(self, level, who) & False)
    with pytest.raises(SolverError, match="stopped nobody"):
        run(monkeypatch, lambda s: dataclasses.replace(s, row_duals=0 * s.row_duals), lambda count: count < 50)


def test_a_price_that_is_noise_freezes_nobody(monkeypatch):
    """The last user's row gets a price of 1e-9 beside a third: within what a certificate lets pass."""

    def noisy(solution):
        duals = solution.row_duals.copy()
        duals[solution.program.row_block("fairness").stop - 1] -= 1e-9
        return dataclasses.replace(solution, row_duals=duals)

    found, session = run(monkeypatch, noisy)
    assert session.restarts == [] and found.levels == pytest.approx(LEVELS)


class LyingAboutIntegers:
    """HiGHS, whose point is taken back to 0 where the model's own columns are."""

    name = "lying"
    capabilities = frozenset({Capability.LP, Capability.MILP})

    def __init__(self, own):
        self.own, self.calls = own, 0

    def solve(self, program, options):
        self.calls += 1
        solution = find_backend("highs").solve(program, options)
        if self.calls < 2:
            return solution
        x = solution.x.copy()
        x[: self.own] = 0.0
        return dataclasses.replace(solution, x=x)


def test_sums_of_levels_that_a_point_does_not_have():
    i = fairlp.Index("i", ["a", "b"])
    model = fairlp.Model("whole", indices=(i,))
    x = model.variable("x", i, upper=[3, 5], integer=True)
    assert fairlp.leximin(model, x).levels.to_dict() == {"a": 3, "b": 5}
    with pytest.raises(SolverError, match="whose 2 lowest levels add up to 0, not to 8 as it says"):
        ordered_outcomes(*program_of(model, x), LyingAboutIntegers(3), Options())


def program_of(model, x):
    problem = levels_of(model, x, None)
    return problem.program, problem.places, problem.t
