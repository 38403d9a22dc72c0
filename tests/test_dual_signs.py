"""Which sign a dual has here and in other tools is what docs/coming-from.md says: each tool is asked.

The objective is one of 3·x and −3·x, the row bounds x by 2. So it is known without any tool by how much
the objective changes when the right-hand side grows by 1.
"""

from __future__ import annotations

import operator
import re

import pytest

from fairlp import Model
from paths import DOCS

SENSES = ("minimize", "maximize")
RELATIONS = {"<=": operator.le, ">=": operator.ge, "==": operator.eq}
#: ∂objective/∂(right-hand side) by sense and relation: the row holds x back, so x = 2 is the optimum.
DERIVATIVES = {
    ("minimize", "<="): -3, ("minimize", ">="): 3, ("minimize", "=="): 3,
    ("maximize", "<="): 3, ("maximize", ">="): -3, ("maximize", "=="): 3,
}  # fmt: skip


def table():
    """Return the signs that the page gives, by tool, sense and relation."""
    text = (DOCS / "coming-from.md").read_text(encoding="utf-8")
    header, _, *rows = re.search(r"^\| dual of a row .*?\n\n", text, re.M | re.S)[0].split("\n")
    columns = [cell.strip() for cell in header.strip("| ").split(" | ")][1:]
    signs = {}
    for line in filter(None, rows):
        row, *cells = line.strip("| ").split(" | ")
        sense, relation = re.fullmatch(r"(\w+), `(.+)`", row).groups()
        for names, cell in zip(columns, cells, strict=True):
            for name in names.split(", "):
                signs[name, sense, relation] = {"δ": 1, "−δ": -1}[cell]
    return signs


def fairlp_dual(sense, relation, slope):
    model = Model("one row")
    x = model.variable("x")
    model.constraint("row", RELATIONS[relation](x, 2))
    getattr(model, sense)(slope * x)
    return float(model.solve().duals["row"])


def linopy_dual(sense, relation, slope):
    linopy = pytest.importorskip("linopy")
    model = linopy.Model()
    x = model.add_variables(0, 9, name="x")
    model.add_constraints(RELATIONS[relation](1 * x, 2), name="row")
    model.add_objective(slope * x, sense=sense[:3])
    model.solve("highs", output_flag=False)
    return float(model.dual["row"])


def pyomo_dual(sense, relation, slope):
    pyo = pytest.importorskip("pyomo.environ")
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 9))
    model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    model.row = pyo.Constraint(expr=RELATIONS[relation](model.x, 2))
    model.objective = pyo.Objective(expr=slope * model.x, sense=getattr(pyo, sense))
    pyo.SolverFactory("appsi_highs").solve(model)
    return model.dual[model.row]


def pulp_dual(sense, relation, slope, solver):
    pulp = pytest.importorskip("pulp")
    back_end = {"CBC": pulp.PULP_CBC_CMD, "HiGHS": pulp.HiGHS}[solver](msg=False)
    if not back_end.available():
        pytest.skip(f"PuLP finds no {solver} here")
    model = pulp.LpProblem("row", pulp.LpMinimize if sense == "minimize" else pulp.LpMaximize)
    x = pulp.LpVariable("x", 0, 9)
    model += slope * x
    model += RELATIONS[relation](x, 2), "row"
    model.solve(back_end)
    return model.constraints["row"].pi


def cvxpy_dual(sense, relation, slope):
    cp = pytest.importorskip("cvxpy")
    x = cp.Variable(nonneg=True)
    row = RELATIONS[relation](x, 2)
    objective = {"minimize": cp.Minimize, "maximize": cp.Maximize}[sense](slope * x)
    cp.Problem(objective, [row]).solve(solver="HIGHS")
    return float(row.dual_value)


def gurobipy_dual(sense, relation, slope):
    gp = pytest.importorskip("gurobipy")
    model = gp.Model()
    x = model.addVar()
    row = model.addConstr(RELATIONS[relation](1 * x, 2))
    model.setObjective(slope * x, {"minimize": 1, "maximize": -1}[sense])
    model.optimize()
    return row.Pi


DUALS = {
    "fairlp": fairlp_dual,
    "gurobipy": gurobipy_dual,
    "linopy": linopy_dual,
    "Pyomo": pyomo_dual,
    "PuLP with CBC": lambda *row: pulp_dual(*row, "CBC"),
    "PuLP with HiGHS": lambda *row: pulp_dual(*row, "HiGHS"),
    "CVXPY": cvxpy_dual,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("tool", DUALS)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("sense", SENSES)
def test_a_dual_has_the_sign_that_the_page_says(tool, relation, sense):
    derivative = DERIVATIVES[sense, relation]
    dual = DUALS[tool](sense, relation, derivative)  # x is the right-hand side: the slope is δ
    assert dual == pytest.approx(table()[tool, sense, relation] * derivative, abs=1e-6)


def test_every_tool_of_the_table_is_asked_but_for_jump_which_is_no_package_of_python():
    tools = {tool for tool, _, _ in table()}
    assert tools == {*DUALS, "JuMP"}
    assert len(table()) == len(tools) * len(SENSES) * len(RELATIONS)
