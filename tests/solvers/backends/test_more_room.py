"""Integer programs of which HiGHS loses every point at its tightest tolerances."""

import pytest

import fairlp
from fairlp.solvers.backends import highs


@pytest.fixture
def program():
    """One fixed point of PS-DSF, planted: feasible to the last digit."""
    program = fairlp.library.load("psdsf-theorem-2").program()
    if (
        highs.HighsSession(highs.Highs(), program, fairlp.Options(), series=False).solve().x
        is not None
    ):
        pytest.skip("this version of HiGHS finds the point at once")
    return program


def test_it_is_looked_for_again_with_more_room(program):
    answer = program.solve("highs")
    assert answer.require_optimal().objective == pytest.approx(3) and answer.verify().is_feasible


def test_what_is_not_certified_is_not_taken(program, monkeypatch):
    tolerances, session = [], highs.HighsSession

    def listening(back_end, program_given, options, series=True):
        tolerances.append(options.primal_tolerance)
        return session(
            back_end,
            program_given.replace(row_upper=program_given.row_upper + 1.0)
            if len(tolerances) > 1
            else program_given,
            options,
            series,
        )

    real = highs.Solution.verify
    monkeypatch.setattr(highs, "HighsSession", listening)
    monkeypatch.setattr(highs.Solution, "verify", lambda self: program_of(self, program, real))
    assert program.solve("highs").x is None and tolerances[:2] == [None, 1e-6]


def program_of(solution, program, real):
    """The certificate of a point for the program that was asked for."""
    from dataclasses import replace

    return real(replace(solution, program=program))


def test_what_is_infeasible_stays_so():
    model = fairlp.Model("none")
    n = fairlp.Index("n", ["a", "b"], "user")
    x = model.variable("x", n, integer=True)
    model.constraint("half", 2 * x == 1)
    model.maximize(x.sum(n))
    assert not model.solve("highs").status.is_optimal


def test_a_time_limit_is_for_all_of_it(program, monkeypatch):
    answer = highs.HighsSession(highs.Highs(), program, fairlp.Options(), series=False).solve()
    answer_in_time = answer if answer.x is None else None
    assert answer_in_time is not None
    second_answer = highs.Highs()._with_more_room(
        program, fairlp.Options(time_limit=answer_in_time.times["solve"] / 2), answer_in_time
    )
    assert second_answer is answer_in_time


def test_what_presolve_leaves_beyond_the_tolerance_is_solved_again_without_it():
    """HiGHS took both tasks by its presolve, 7e-11 too much, and called that an error of its own."""
    nearly = fairlp.Instance.from_arrays([[2.0000000002], [1.000000000000001]], [[3.0]])
    assert fairlp.allocate(nearly, "drf-milp").totals.tolist() == [1, 0]
