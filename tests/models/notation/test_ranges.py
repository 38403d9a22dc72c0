"""Ranges: one block with both bounds, in text, programs, files, other tools' objects and duals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairlp
from fairlp import Index, Model
from fairlp.errors import ModelError

N, I = Index("n", ["ann", "bob"], "user"), Index("i", ["s1", "s2"], "server")  # noqa: E741


def model(low=1, high=3, mask=None):
    model = Model("ranges", indices=(N, I))
    w = model.parameter("w", N, [2, 1])
    x = model.variable("x", N, I, upper=4)
    named = {"w": w, "w + 1": w + 1}
    low, high = (named[end] if isinstance(end, str) else end for end in (low, high))
    model.constraint("total", (x.sum(I) + 1).between(low, high), where=mask)
    model.constraint("cap", x.sum() <= 7)
    model.maximize((w * x.sum(I)).sum() - 3 * x["bob", "s2"])
    return model


ENDS = {
    "numbers": (1, 3, [0, 0], [2, 2]),
    "parameters": ("w", "w + 1", [1, 0], [2, 1]),
    "arrays": ([1, -np.inf], np.array([2.5, np.inf]), [0, -np.inf], [1.5, np.inf]),
    "labels": (pd.Series({"bob": 1.0, "ann": 2.0}), {"bob": 4, "ann": 3}, [1, 0], [2, 3]),
    "no lower end": (None, 3, [-np.inf] * 2, [2, 2]),
    "no upper end": (1, np.inf, [0, 0], [np.inf] * 2),
    "equal": (2, 2.0, [1, 1], [1, 1]),
}


@pytest.mark.parametrize("name", ENDS)
def test_one_block_has_both_bounds_everywhere(name, tmp_path):
    low, high, lower, upper = ENDS[name]
    ranged_model = model(low, high)
    program = ranged_model.compile()
    assert program.row_lower[:2].tolist() == lower and program.row_upper[:2].tolist() == upper
    assert program.n_rows == 3
    reference = ranged_model.solve()
    assert reference.verify().is_optimal
    for suffix in ("mps", "lp"):
        path = tmp_path / f"range.{suffix}"
        ranged_model.write(path)
        program_read = fairlp.read_program(path)
        bound = np.isfinite(program.row_lower) | np.isfinite(
            program.row_upper
        )  # files have no rows without bounds
        np.testing.assert_array_equal(program_read.row_lower, program.row_lower[bound])
        np.testing.assert_array_equal(program_read.row_upper, program.row_upper[bound])
        np.testing.assert_array_equal(program_read.A.toarray(), program.A.toarray()[bound])
    if name in ("numbers", "arrays"):
        assert "RANGES" in (tmp_path / "range.mps").read_text(encoding="utf-8")


@pytest.mark.parametrize("tool", ["highs", "cvxpy", "pyomo"])
@pytest.mark.parametrize("name", ENDS)
def test_other_tools_solve_it_to_the_same_duals(tool, name):
    ranged_model = model(*ENDS[name][:2])
    reference = ranged_model.solve()
    built = getattr(ranged_model, f"to_{tool}")()
    if tool == "highs":
        built.run()
    elif tool == "cvxpy":
        built.solve(solver="HIGHS")
    else:
        import pyomo.environ as pyo

        built.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
        pyo.SolverFactory("appsi_highs").solve(built)
    read = ranged_model.read_back(built)
    assert read.status.is_optimal and read.objective == pytest.approx(reference.objective)
    assert read.verify().is_optimal
    np.testing.assert_allclose(read.duals["total"], reference.duals["total"], atol=1e-7)


def test_a_dual_belongs_to_the_end_that_binds():
    up, down = model(0, 2), model(3, 9)
    assert up.solve().duals["total"].tolist() == pytest.approx([2, 1])
    down.minimize(down["x"].sum())
    assert down.solve().duals["total"].tolist() == pytest.approx([1, 1])


def test_a_range_follows_its_parameters():
    ranged_model = model("w", "w + 1")
    ranged_model.compile()
    ranged_model["w"].set([5, 0])
    assert ranged_model.compile().row_lower[:2].tolist() == [
        4,
        -1,
    ] and ranged_model.compile().row_upper[:2].tolist() == [5, 0]
    ends = Model("ends", indices=(N,))
    low, x = ends.parameter("low", N, [1, 2]), ends.variable("x", N)
    ends.constraint("band", x.between(low, 3))
    ends.maximize(x.sum())
    ends.compile()
    low.set([1, 4])
    with pytest.raises(
        ModelError, match=r"constraint band\[bob\]: the lower end 4 is above the upper end 3"
    ):
        ends.compile()


def test_ends_of_rows_that_do_not_exist_do_not_matter():
    ranged_model = model([1, 9], [3, 4], mask=[True, False])
    assert ranged_model["total"].rows == ["total[ann]"] and ranged_model.compile().row_upper[0] == 2
