"""A status says each thing once."""

import pytest

from fairlp import Model
from fairlp.errors import NoSolutionError
from fairlp.models.programs.status import Point, Status, Termination


@pytest.mark.parametrize(
    ("termination", "primal", "dual", "message", "text"),
    [
        ("optimal", "optimal", "optimal", "Optimal", "optimal"),
        ("optimal", "optimal", "none", "Optimal", "optimal (dual: none)"),
        ("infeasible", "none", "none", "Infeasible; proved", "infeasible (proved)"),
        (
            "time limit",
            "feasible",
            "none",
            "Time limit reached",
            "time limit (primal: feasible, dual: none; Time limit reached)",
        ),
    ],
)
def test_what_goes_without_saying_is_not_repeated(termination, primal, dual, message, text):
    status = Status(Termination(termination), Point(primal), Point(dual), message)
    assert str(status) == text


def test_an_integer_optimum_has_no_duals_and_the_message_says_where_they_are():
    model = Model("whole")
    x = model.variable("x", upper=2.5, integer=True)
    model.constraint("row", x <= 2)
    model.maximize(x + 0)
    solution = model.solve()
    assert str(solution.status) == "optimal (dual: none; as the solver says)"
    with pytest.raises(NoSolutionError, match=r"solve model\.relax_integrality\(\)"):
        solution.duals["row"]
    assert model.relax_integrality().solve().duals["row"] == 1
