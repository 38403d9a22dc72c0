"""Rounds whose number, order, limits and prices are known by hand, on every back end, and on back ends that lie."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import fairlp
from fairlp import examples
from fairlp.errors import NoSolutionError, SolverError
from fairlp.formulations import max_min, normalisers
from fairlp.mechanisms.table import TABLE
from fairlp.models.programs.backends import find_backend
from fairlp.models.programs.options import Options
from fairlp.models.programs.protocols import Capability
from fairlp.models.programs.status import Point, Status, Termination
from fairlp.solvers.backends.base import ProgramSession
from fairlp.solvers.leximin import by_levels, programs
from fairlp.solvers.leximin.levels import levels_of
from fairlp.solvers.leximin.leximin import leximin
from fairlp.solvers.leximin.of_levels import ordered_outcomes
from fairlp.tolerances import AGREEMENT, CONFORMANCE, FLOOR_RELAXATIONS, VERIFIED
from profiles import PROFILE, by_day


def by_hand(instance, formulation=max_min.drf, gamma=normalisers.dominant, merge=False):
    return leximin(instance, formulation, normalisers.level_1_by(gamma), merge=merge)


def stairs():
    """Five users, each sharing a resource with the next: levels of all sizes, a round each."""
    demands = np.eye(5) + np.eye(5, k=1)
    return fairlp.Instance.from_arrays(demands, [[4, 8, 16, 32, 64]], weights=[1, 9, 2, 7, 1])


def test_without_duals_the_levels_are_the_same(monkeypatch):
    expected = by_hand(stairs())
    assert len(expected.rounds) > 2
    backend = LyingBackend(no_duals, lambda count: True, duals=False)
    monkeypatch.setattr(programs, "find_backend", lambda name: backend)
    proof = by_hand(stairs())
    assert (
        proof.levels == pytest.approx(expected.levels, rel=1e-5)
        and proof.gap is None
        and proof.prices is None
    )
    assert [users.tolist() for _, users in proof.rounds] == [
        users.tolist() for _, users in expected.rounds
    ]


def test_without_duals_a_tree_has_its_levels_and_no_gap(monkeypatch):
    case = fairlp.Instance.from_arrays(
        np.eye(3) + np.eye(3, k=1), [[4, 8, 16]] * 2, queue=["a", "a", "b"]
    )
    expected = fairlp.allocate(case, "h-drf", method="lp")
    assert expected.gap < AGREEMENT
    backend = LyingBackend(no_duals, lambda count: True, duals=False)
    monkeypatch.setattr(programs, "find_backend", lambda name: backend)
    allocation = fairlp.allocate(case, "h-drf", method="lp")
    assert (
        allocation.totals.to_numpy() == pytest.approx(expected.totals.to_numpy(), rel=1e-5)
        and allocation.gap is None
    )


def own_servers(capacities):
    """Users with a server each; a solver's duals are a vertex, and price one of those that tie."""
    count = len(capacities)
    return fairlp.Instance.from_arrays(
        np.ones((count, 1)),
        np.array(capacities, dtype=float)[:, None],
        eligible=np.eye(count, dtype=bool),
    )


@pytest.mark.parametrize("capacity", [1.0, 1 / 3, 0.7])
def test_ties_are_decided_at_once_and_not_one_a_round(capacity):
    proof = by_hand(own_servers([capacity] * 8), max_min.drfh)
    assert proof.levels == pytest.approx([1 / 8] * 8) and proof.programs <= 4


def test_ties_do_not_freeze_whoever_can_be_raised():
    proof = by_hand(own_servers([1, 1, 1, 2, 3]), max_min.drfh)
    assert proof.levels == pytest.approx(np.array([1, 1, 1, 2, 3]) / 8)
    assert sorted(n for _, users in proof.rounds for n in users) == list(range(5))


@pytest.mark.parametrize("demand", [1e-6, 1e-3, 1.0])
def test_a_price_counts_for_what_it_is_worth_to_a_share(demand):
    """Users of large and of small tasks are blocked by the same resource: one round."""
    instance = fairlp.Instance.from_arrays([[1.0, 0.5], [demand, 0.1 * demand]], [[8, 8]])
    assert by_hand(instance).programs == 1
    assert by_hand(instance, max_min.asset, normalisers.asset).programs == 1


@pytest.mark.slow
@pytest.mark.parametrize("merge", [True, False])
def test_limits_are_reached_to_the_last_digit(merge):
    for limit in range(1, 40):
        instance = fairlp.Instance.from_arrays(
            [[0.7, 0.1], [0.3, 0.9]], [[50, 60]], weights=[3, 7], task_limits=[limit, np.inf]
        )
        proof = by_hand(instance, merge=merge)
        if proof.levels[0] < proof.levels[1] - 1e-6:
            assert proof.tasks[0, 0] == limit


def test_limits_are_passed_on_the_way_and_everybody_may_have_all_its_tasks():
    instance = fairlp.Instance.from_arrays([[1.0]] * 4, [[20]], task_limits=[1, 2, 3, np.inf])
    proof = by_hand(instance)
    assert proof.tasks[:, 0] == pytest.approx([1, 2, 3, 14]) and proof.levels == pytest.approx(
        proof.tasks[:, 0] / 20
    )
    plenty = by_hand(fairlp.Instance.from_arrays([[1.0]] * 3, [[20]], task_limits=[1, 2, 3]))
    assert plenty.tasks[:, 0].tolist() == [1, 2, 3] and plenty.prices is None
    assert plenty.levels == pytest.approx(np.array([1, 2, 3]) / 20)


def test_prices_are_those_of_the_first_round_per_unit_of_a_resource():
    """cpu ends first: one more unit of it, at fixed Γ, adds 1/(8·3) to the level of three users."""
    instance = fairlp.Instance.from_arrays([[1, 0.5], [1, 0.5], [1, 0.5], [0, 1]], [[8, 30]])
    gamma = normalisers.dominant(instance)
    expected = [[1 / (gamma[:3] @ instance.demands[:3, 0]), 0.0]]
    for formulation in (max_min.drf, max_min.edrf, max_min.drfh):
        assert by_hand(instance, formulation).prices == pytest.approx(np.array(expected), abs=1e-12)


def test_merged_users_and_servers_get_their_own_part():
    instance = fairlp.Instance.from_arrays(
        [[1, 2], [2, 4], [3, 1]],
        [[12, 12], [12, 12], [6, 30]],
        weights=[1, 2, 3],
        task_limits=[np.inf, 1, np.inf],
    )
    merged, plain = (by_hand(instance, max_min.drfh, merge=merge) for merge in (True, False))
    assert merged.merged == (2, 2) and merged.before == (3, 3) and plain.merged == (3, 3)
    assert (
        merged.tasks.sum(axis=1) == pytest.approx(plain.tasks.sum(axis=1))
        and merged.tasks[1].sum() == 1
    )
    assert (merged.tasks.T @ instance.demands <= instance.capacities * (1 + 1e-12)).all()


TABLE_OF_SOLVERS = fairlp.solvers()
SOLVERS = [name for name in TABLE_OF_SOLVERS.index if TABLE_OF_SOLVERS.available[name]]
SOLVERS = [name for name in SOLVERS if Capability.LP in find_backend(name).capabilities]
MAX_MIN = [
    name
    for name, row in TABLE.items()
    if "lp" in row.method_names and not row.arrivals and not row.whole_tasks
]


@pytest.mark.parametrize("solver", by_day(SOLVERS, 4))
def test_every_back_end_runs_every_max_min_mechanism(solver):
    instances = [
        examples.load(name) for name in ("ghodsi", "parkes-zero-demands", "khamse-ashari-figure-1")
    ]
    for mechanism in MAX_MIN:
        defined = [case for case in instances if TABLE[mechanism].undefined(case) is None]
        for instance in defined if PROFILE == "nightly" else defined[-1:]:
            allocation = fairlp.allocate(instance, mechanism, method="lp", solver=solver)
            expected = fairlp.allocate(instance, mechanism).totals
            assert allocation.totals.to_numpy() == pytest.approx(
                expected.to_numpy(), rel=CONFORMANCE
            ), mechanism
            backend = find_backend(solver)
            if Capability.DUALS not in backend.capabilities:
                assert allocation.unproved
            elif backend.accuracy == VERIFIED:  # a first-order method may leave it open
                assert not allocation.unproved


def test_what_has_no_duals_is_proved_otherwise():
    allocation = fairlp.allocate(examples.load("wang-figure-1"), "drfh", solver="scip")
    assert (
        allocation.unproved.startswith("not proved: the solver gives no duals")
        and allocation.unproved in allocation.notes
    )
    assert allocation.gap is None and allocation.prices is None
    assert allocation.certify(exact=True) and allocation.certify()


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

    def __init__(self, lie, calls, duals=True, **options):
        self.lie, self.calls, self.options = lie, calls, options
        self.capabilities = frozenset({Capability.LP} | ({Capability.DUALS} if duals else set()))
        self.sessions = []

    def session(self, program, options):
        self.sessions.append(Lying(program, options, self.lie, self.calls, **self.options))
        return self.sessions[-1]


def two_levels(limits=None):
    """Levels 1/3, 1/3, 1/3 of cpu, then 1/2 of memory."""
    demands = [[1, 0.5], [1, 0.5], [1, 0.5], [0, 1]]
    return fairlp.Instance.from_arrays(demands, [[8, 8]], task_limits=limits)


LEVELS = [1 / 3, 1 / 3, 1 / 3, 1 / 2]


def run(
    monkeypatch,
    lie,
    calls=lambda count: count == 1,
    instance=None,
    options=None,
    formulation=max_min.drf,
    **how,
):
    backend = LyingBackend(lie, calls, **how)
    monkeypatch.setattr(programs, "find_backend", lambda name: backend)
    gamma = normalisers.level_1_by(normalisers.dominant)
    answer = leximin(instance or two_levels(), formulation, gamma, merge=False, options=options)
    return answer, backend.sessions[0]


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


LIES = (
    suboptimal,
    infeasible,
    slightly_infeasible,
    slightly_suboptimal,
    wrong_duals,
    no_duals,
    no_word,
    failure,
)


def test_an_honest_back_end_needs_no_second_try(monkeypatch):
    answer, session = run(monkeypatch, None, lambda count: False)
    assert (
        answer.levels == pytest.approx(LEVELS, rel=1e-12)
        and session.restarts == []
        and answer.relaxed == 0
    )
    assert answer.programs == session.count == 2


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("call", [1, 2])
def test_one_lie_is_seen_and_the_program_solved_again_by_another_method(monkeypatch, lie, call):
    answer, session = run(monkeypatch, lie, lambda count: count == call)
    assert answer.levels == pytest.approx(LEVELS, rel=1e-12)
    assert session.restarts == [True] and session.count == 3 and answer.gap <= VERIFIED


@pytest.mark.parametrize("lie", LIES)
def test_a_back_end_that_always_lies_gives_no_levels(monkeypatch, lie):
    with pytest.raises(SolverError):
        run(monkeypatch, lie, lambda count: True)


@pytest.mark.parametrize("lie", [infeasible, slightly_infeasible, no_word, failure])
def test_without_duals_an_infeasible_point_is_seen(monkeypatch, lie):
    answer, session = run(monkeypatch, lie, duals=False)
    assert (
        answer.levels == pytest.approx(LEVELS, rel=1e-6)
        and session.restarts == [True]
        and answer.gap is None
    )


def test_floors_give_way_little_by_little_and_the_answer_says_so(monkeypatch):
    """Seven lies in the second round: two tries with all floors, two at each of the smallest relaxations."""
    answer, session = run(monkeypatch, failure, lambda count: 2 <= count <= 6)
    assert session.restarts == [True, False, True, False, True]
    assert answer.relaxed == FLOOR_RELAXATIONS[2] and answer.levels == pytest.approx(
        LEVELS, rel=1e-9
    )
    block = session.program.row_block("fairness")
    floors = np.array(session.floors)[:, block.start]
    assert floors[1] == floors[2] == floors[3] > 0
    assert floors[4] == floors[1] - FLOOR_RELAXATIONS[1] * floors[1]
    assert floors[6] == floors[1] - FLOOR_RELAXATIONS[2] * floors[1] < floors[4]


def test_a_time_limit_that_was_reached_ends_it(monkeypatch):
    def late(solution):
        return dataclasses.replace(
            solution, status=Status(Termination.TIME_LIMIT, Point.FEASIBLE, Point.NONE, "")
        )

    backend = LyingBackend(late, lambda count: True)
    monkeypatch.setattr(programs, "find_backend", lambda name: backend)
    with pytest.raises(NoSolutionError, match="time limit"):
        leximin(
            two_levels(),
            max_min.drf,
            normalisers.level_1_by(normalisers.dominant),
            options={"time_limit": 100.0},
        )
    assert backend.sessions[0].count == 1


def test_the_gap_is_the_largest_of_all_programs(monkeypatch):
    """A point that is optimal to 2e-8 only, within what is called verified."""

    def off(solution):
        return dataclasses.replace(solution, x=solution.x * (1 - 2e-8))

    answer, session = run(monkeypatch, off)
    assert session.restarts == [] and 1e-9 < answer.gap <= 1e-7


def test_the_gap_of_a_program_that_is_no_round_counts_too():
    """Those that decide who is stuck have no level of their own: of them it is what the program says."""

    def off(solution):
        return dataclasses.replace(solution, x=solution.x * (1 - 2e-8))

    program = max_min.drf(two_levels()).compile()
    rows = program.row_block("fairness").slice
    backend = LyingBackend(off, lambda count: count == 1)
    floored = programs.ServersByPrograms((backend, Options()), program, np.r_[rows], 0)
    for _ in range(2):
        floored.solve()
        assert 1e-9 < floored.gap <= 1e-7
    assert floored.n_programs == 2 and floored.certificate.gap < 1e-12


def test_a_round_that_is_open_is_solved_again(monkeypatch):
    answer, session = run(monkeypatch, None, lambda count: False, open_rounds=1)
    assert (
        session.restarts == [False]
        and session.count == 3
        and answer.levels == pytest.approx(LEVELS)
    )


def test_a_round_that_freezes_nobody_is_an_error(monkeypatch):
    """Prices of 0 pass a certificate that is told to believe them."""

    class Believed:
        is_optimal, gap, objective_gap, dual_residual = True, 0.0, None, 0.0

    monkeypatch.setattr("fairlp.models.programs.solution.Solution.verify", lambda self: Believed())
    honest = by_levels.ServersByLevels.stuck
    monkeypatch.setattr(
        by_levels.ServersByLevels,
        "stuck",
        lambda self, level, users: honest(self, level, users) & False,
    )
    with pytest.raises(SolverError, match="stopped no user"):
        run(
            monkeypatch,
            lambda s: dataclasses.replace(s, row_duals=0 * s.row_duals),
            lambda count: count < 50,
        )


def test_a_price_that_is_noise_freezes_nobody(monkeypatch):
    """The last user's row gets a price of 1e-9 beside a third: within what a certificate lets pass."""

    def noisy(solution):
        duals = solution.row_duals.copy()
        duals[solution.program.row_block("fairness").stop - 1] -= 1e-9
        return dataclasses.replace(solution, row_duals=duals)

    answer, session = run(monkeypatch, noisy)
    assert session.restarts == [] and answer.levels == pytest.approx(LEVELS)


class LyingAboutIntegers(fairlp.Backend):
    """HiGHS, whose point is taken back to 0 where the model's own columns are."""

    name = "lying"
    capabilities = frozenset({Capability.LP, Capability.MILP})

    def __init__(self, own_columns):
        self.own_columns, self.calls = own_columns, 0

    def solve(self, program, options):
        self.calls += 1
        solution = find_backend("highs").solve(program, options)
        if self.calls < 2:
            return solution
        x = solution.x.copy()
        x[: self.own_columns] = 0.0
        return dataclasses.replace(solution, x=x)


def test_sums_of_levels_that_a_point_does_not_have():
    i = fairlp.Index("i", ["a", "b"])
    model = fairlp.Model("whole", indices=(i,))
    x = model.variable("x", i, upper=[3, 5], integer=True)
    assert fairlp.leximin(model, x).levels.to_dict() == {"a": 3, "b": 5}
    with pytest.raises(SolverError, match="held by a tolerance only, and no point keeps it"):
        ordered_outcomes(*program_of(model, x), LyingAboutIntegers(3), Options())


def program_of(model, x):
    problem = levels_of(model, x, None)
    return problem.program, problem.places, problem.t


@pytest.mark.parametrize("solver", ["highs", "scipy"])
def test_whole_levels_keep_what_integers_switch(solver):
    """The integers 0 leave 5 beside a big M of 1e7; the implication leaves nothing."""
    n = fairlp.Index("n", ["a", "b", "c"])
    model = fairlp.Model("m")
    x, z = model.variable("x", n, upper=1e7), model.variable("z", n, binary=True)
    y = model.variable("y", n, upper=5)
    model.indicator("off", z, x <= 0, active=0)
    model.constraint("one", z.sum() <= 1)
    model.constraint("tot", y <= x)
    model.constraint("both", y.sum() + x.sum() / 1e7 <= 7)
    try:
        answer = fairlp.leximin(model, y, solver=solver)
    except NoSolutionError as error:
        assert solver == "scipy" and "held by a tolerance only" in str(error)
    else:
        assert sorted(answer.levels) == [0, 0, 5]
        leaking = dataclasses.replace(
            answer, x=np.array([7 / 3 * 1e7 / 1e7] * 3 + [0.0] * 3 + [7 / 3] * 3)
        )
        assert not leaking.certify().holds
