"""Infeasible and unbounded models are explained in their own names: the conflict is real, the relaxation suffices."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

import fairlp
from fairlp import Index, Model, examples
from fairlp.errors import ModelError, NoSolutionError
from fairlp.models.programs import backends
from fairlp.models.programs.rays import proves_infeasible
from fairlp.models.programs.status import Termination
from profiles import many


def impossible():
    """Two users must have 3 and 4 tasks of one CPU each, and there are 5 CPUs; memory is plenty."""
    n, r = Index("n", ["ann", "bob"]), Index("r", ["cpu", "memory"])
    model = Model("promises", indices=(n, r))
    d = model.parameter("d", (n, r), [[1, 1], [1, 2]])
    c = model.parameter("c", r, [5, 100])
    promised = model.parameter("promised", n, [3, 4])
    x = model.variable("x", n)
    model.constraint("capacity", (d * x).sum(n) <= c)
    model.constraint("promise", x >= promised)
    model.maximize(x.sum())
    return model


def test_the_conflict_is_named_and_irreducible():
    model = impossible()
    assert model.solve().status.termination is Termination.INFEASIBLE
    table = model.explain()
    conflict = table.index[table["in_conflict"]].tolist()
    assert sorted(conflict) == ["capacity[cpu]", "promise[ann]", "promise[bob]"]
    assert (
        table.loc["promise[ann]", "requires"] == "≥ 3"
        and table.loc["capacity[cpu]", "requires"] == "≤ 5"
    )
    assert table["relax_by"].sum() == pytest.approx(
        2
    )  # 3 + 4 − 5, on the row where it is relatively cheapest
    program = model.compile()
    names = program.row_names
    for left_out in conflict:  # without any one of them, the rest can hold
        rows = [k for k, name in enumerate(names) if name in conflict and name != left_out]
        remainder = program.replace(
            A=program.A[rows].tocsc(),
            row_lower=program.row_lower[rows],
            row_upper=program.row_upper[rows],
            rows=(),
            c=np.zeros(program.n_columns),
        )
        assert backends.solve(remainder, "highs", fairlp.Options()).status.is_optimal


def test_the_certificate_of_infeasibility_proves_itself():
    solution = impossible().solve()
    proof = solution.infeasibility_certificate
    assert proves_infeasible(solution.program, solution.row_ray)
    assert not proves_infeasible(solution.program, -solution.row_ray)
    assert not proves_infeasible(solution.program, np.array([1.0, 0, 0, 0]))
    assert proof["capacity"]["memory"] == 0 and proof["promise"].ne(0).all()
    with pytest.raises(fairlp.FairlpError, match="gave no proof"):
        _ = fairlp.formulate(examples.ghodsi(), "drf").solve().infeasibility_certificate


def test_the_relaxation_makes_the_model_feasible():
    model = impossible()
    table, program = model.explain(), model.compile()
    lower, upper = program.row_lower.copy(), program.row_upper.copy()
    for k, name in enumerate(program.row_names):
        if name in table.index:
            lower[k] -= table.loc[name, "relax_by"]
            upper[k] += table.loc[name, "relax_by"]
    relaxed = program.replace(row_lower=lower, row_upper=upper)
    assert backends.solve(relaxed, "highs", fairlp.Options()).status.is_optimal


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e9])
def test_bounds_of_variables_take_part(unit):
    model = Model("bounds")
    x, y = model.variable("x", upper=2 * unit), model.variable("y", upper=3 * unit)
    model.constraint("both", x + y >= 6 * unit)
    model.constraint("irrelevant", x - y <= 100 * unit)
    table = model.explain()
    assert sorted(table.index[table["in_conflict"]]) == ["both", "x", "y"]
    assert table.loc["x", "kind"] == "bound" and table.loc["both", "kind"] == "constraint"
    assert table["relax_by"].sum() == pytest.approx(unit)


def test_unbounded_gives_a_direction():
    n = Index("n", ["a", "b", "c"])
    model = Model("unbounded", indices=(n,))
    w = model.parameter("w", n, [1, 2, 3])
    x = model.variable("x", n)
    model.constraint("tie", x.sum() - 2 * model.variable("s") <= 4)
    model.constraint("cap", (w * x).sum() - 3 * x.sum() <= 0)
    model.maximize((w * x).sum())
    table = model.explain()
    assert list(table.columns) == ["direction", "objective"]
    assert table["objective"].sum() > 0
    program = model.compile()
    direction = np.array([table["direction"].get(name, 0.0) for name in program.column_names])
    assert (program.A @ direction <= 1e-9).all() and (direction >= 0).all()


def test_a_model_with_an_optimum_needs_no_explanation():
    assert fairlp.formulate(examples.wang_figure_1(), "drfh").explain().empty


def test_an_infeasible_fair_share_names_user_and_resource():
    """DRFH with a promise that the cluster cannot keep, added by hand to the model."""
    model = fairlp.formulate(examples.khamse_ashari_figure_1(), "tsf")
    n = next(index for index in model.indices if index.symbol == "n")
    i = next(index for index in model.indices if index.symbol == "i")
    promise = model.parameter("promise", n, [5, 5, 1])
    model.constraint("promised", model.variables["x"].sum(i) >= promise)
    conflict = model.explain().query("in_conflict").index
    assert {"promised[user1]", "promised[user2]", "capacity[server1,memory]"} <= set(conflict) or {
        "promised[user1]",
        "promised[user2]",
        "capacity[server1,cpu]",
    } <= set(conflict)


@pytest.mark.slow
def test_no_proof_is_looked_for_for_ever():
    """HiGHS's interior points, asked for a ray of a program with an empty row and free columns, came to no end."""
    code = """
import fairlp
from fairlp import Index, Model
v = Index("v", range(3))
model = Model("nothing equals 1", indices=(v,))
x = model.variable("x", v, lower=None)
for k, row in enumerate([[2, 1, 1], [-1, 1, -2], [2, -1, -2]]):
    model.constraint(f"row{k}", (model.parameter(f"a{k}", (v,), row) * x).sum(v) <= 4.0)
model.constraint("empty", (model.parameter("zero", (v,), [0, 0, 0]) * x).sum(v) == 1.0)
t = model.variable("t", lower=None)
for k, row in enumerate([[1, 1, -1], [3, 1, 2], [3, 1, 1], [0, 3, -1], [1, 0, 0]]):
    model.constraint(f"level{k}", (model.parameter(f"b{k}", (v,), row) * x).sum(v) - t >= 1.0 - k)
model.maximize(t)
for solver in ("highs-ipm", "highs-hipo", "highs-pdlp", "highs-simplex"):
    solution = model.solve(solver)
    assert solution.status.termination.value == "infeasible", (solver, solution.status)
    print(solver, solution.row_ray is not None)
"""
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout.count("True") == 4


def fits(program, mask):
    """Whether a point satisfies these rows, bounds and integers of a program, by SciPy; None where time is up."""
    m, n = program.n_rows, program.n_columns
    rows, bounds, whole = mask[:m], mask[m : m + n], mask[m + n :]
    answer = milp(
        np.zeros(n),
        integrality=program.integrality * whole,
        bounds=Bounds(
            np.where(bounds, program.col_lower, -np.inf),
            np.where(bounds, program.col_upper, np.inf),
        ),
        constraints=LinearConstraint(
            program.A[rows], program.row_lower[rows], program.row_upper[rows]
        )
        if rows.any()
        else None,
        options={"time_limit": 0.2},
    )
    return {0: True, 2: False}.get(answer.status)


@pytest.mark.slow
@settings(max_examples=many(15), deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["highs", "scip", "glpk", "scipy", "cvxpy:CLARABEL"]),
    st.booleans(),
)
def test_conflicts_are_irreducible_on_any_back_end(seed, solver, integer):
    rng = np.random.default_rng(seed)
    n, m = Index("n", range(rng.integers(1, 5))), Index("m", range(rng.integers(1, 6)))
    model = Model("random", indices=(m, n))
    x = model.variable("x", n, lower=-1, upper=rng.choice([1.5, 3.0], len(n)), integer=integer)
    y = model.variable("y", upper=2)
    a = model.parameter("a", (m, n), rng.integers(-3, 4, (len(m), len(n))))
    low = rng.integers(-2, 4, len(m)) + 0.5
    model.constraint(
        "rows", ((a * x).sum(n) + y).between(low, low + rng.choice([0.2, 2.0], len(m)))
    )
    program, table = model.compile(), model.explain(solver)
    everything = np.ones(program.n_rows + 2 * program.n_columns, dtype=bool)
    assert table.empty == fits(program, everything)
    if table.empty:
        return
    names = {
        "constraint": program.row_names,
        "bound": program.column_names,
        "integer": program.column_names,
    }
    rows_named = set(
        zip(table.index[table["in_conflict"]], table["kind"][table["in_conflict"]], strict=True)
    )
    conflict = np.array(
        [
            (name, kind) in rows_named
            for kind, names_of_kind in names.items()
            for name in names_of_kind
        ]
    )
    assert fits(program, conflict) is not True
    for place in np.flatnonzero(conflict):
        assert fits(program, conflict & (np.arange(len(conflict)) != place)) is not False
    relief = table["relax_by"].groupby(level=0).sum()
    rows, columns = (
        np.array([relief.get(name, 0.0) for name in names_of_kind]) + 1e-7
        for names_of_kind in (names["constraint"], names["bound"])
    )
    relaxed = program.replace(
        row_lower=program.row_lower - rows,
        row_upper=program.row_upper + rows,
        col_lower=program.col_lower - columns,
        col_upper=program.col_upper + columns,
    )
    assert fits(relaxed, everything)


def test_a_direction_keeps_the_bounds_of_columns_that_only_cost():
    model = Model("unbounded")
    x, y, z = model.variable("x"), model.variable("y"), model.variable("z", lower=-np.inf, upper=0)
    model.constraint("row", x + y + z >= 0)
    model.maximize(y - x + z)
    assert model.explain()["direction"].to_dict() == {"y": 1.0}


def test_switched_rows_and_weights_below_nothing():
    n = fairlp.Index("n", ["a", "b"])
    model = fairlp.Model("m")
    x = model.variable("x", n, lower=1, upper=3)
    model.sos1("s", x, n)
    assert {"s", "s_off[a]", "s_off[b]"} <= set(model.explain().query("in_conflict").index)
    for weight in (-1, float("nan")):
        with pytest.raises(ModelError, match="the weight of 's' is"):
            model.explain(weights={"s": weight})


def test_bounds_of_every_conflict_may_give_way_where_rows_may_not():
    n = fairlp.Index("n", ["ann", "bob"])
    model = fairlp.Model("m")
    x = model.variable("x", n, upper=2)
    model.constraint("c", x >= 3)
    explanation = model.explain(weights={"c": np.inf})
    assert explanation["relax_by"].drop(["c[ann]", "c[bob]"], errors="ignore").to_dict() == {
        "x[ann]": 1,
        "x[bob]": 1,
    }
    assert explanation.loc[explanation["kind"] == "constraint", "relax_by"].eq(0).all()
    with pytest.raises(NoSolutionError, match="contradicts itself"):
        model.explain(weights={"c": np.inf, "x": np.inf})
