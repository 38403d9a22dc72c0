"""HiGHS objects show the names of columns and rows in every way, though they get them late."""

from __future__ import annotations

from pathlib import Path

import highspy
import numpy as np
import pytest

from fairlp import Index, Model
from profiles import chequered


def blend():
    """Return a model whose answer is not at its start, with names of one and of two labels."""
    food = Index("f", ["oats", "milk"], "food")
    need = Index("k", ["energy", "protein"], "nutrient")
    model = Model("blend", indices=(food, need))
    x = model.variable("x", food, upper=9)
    y = model.variable("y", food, need, upper=4)
    content = model.parameter("a", (food, need), [[3.0, 1.0], [2.0, 5.0]])
    model.constraint("needs", (content * y).sum(food) >= [4.0, 6.0])
    model.constraint("bought", y.sum(need) <= x)
    model.minimize((model.parameter("c", food, [1.0, 2.0]) * x).sum())
    return model


def with_names_at_once(model):
    """Return HiGHS with the model and its names in one call."""
    highs = model.to_highs(names=False)
    program = model.compile()
    lp = highs.getLp()
    lp.col_names_ = program.column_names
    lp.row_names_ = program.row_names
    highs.passModel(lp)
    return highs


def has_names(highs):
    """Whether HiGHS itself has names: the question goes past the object's own class."""
    return bool(super(highspy.Highs, highs).getLp().col_names_)


def written(highs, method, ending, *arguments):
    """Return what a method writes to a file."""
    path = Path(f"written{ending}")
    getattr(highs, method)(str(path), *arguments)
    return path.read_text(encoding="utf-8")


def written_by_run(highs, option, switch):
    """Return what ``run`` writes to the file of an option."""
    if switch:
        highs.setOptionValue(switch, True)
    highs.setOptionValue(option, "run.txt")
    highs.run()
    return Path("run.txt").read_text(encoding="utf-8")


def with_row(highs):
    highs.addRow(0.0, 1.0, 1, np.array([0], dtype=np.int32), np.array([1.0]))
    highs.addConstr(highs.getVariables()[0] <= 5, name="last")


def names_of(highs):
    lp = highs.getLp()
    return lp.col_names_, lp.row_names_


SHOWN = {
    "getColName": lambda highs: [highs.getColName(k) for k in range(6)],
    "getRowName": lambda highs: [highs.getRowName(k) for k in range(4)],
    "getColByName": lambda highs: highs.getColByName("y[milk,energy]"),
    "getRowByName": lambda highs: highs.getRowByName("bought[milk]"),
    "getLp": names_of,
    "getModel": lambda highs: (highs.getModel().lp_.col_names_, highs.getModel().lp_.row_names_),
    "variableName": lambda highs: highs.variableName(3),
    "variableNames": lambda highs: highs.variableNames([0, 5]),
    "allVariableNames": lambda highs: highs.allVariableNames(),
    "name of a variable": lambda highs: [variable.name for variable in highs.getVariables()],
    "name of a row": lambda highs: [row.name for row in highs.getConstrs()],
    "writeModel, MPS": lambda highs: written(highs, "writeModel", ".mps"),
    "writeModel, LP": lambda highs: written(highs, "writeModel", ".lp"),
    "writeSolution": lambda highs: written(highs, "writeSolution", ".sol", 0),
    "writeSolution, pretty": lambda highs: written(highs, "writeSolution", ".sol", 1),
    "writeBasis": lambda highs: written(highs, "writeBasis", ".bas"),
    "writePresolvedModel": lambda highs: (
        highs.presolve(),
        written(highs, "writePresolvedModel", ".lp"),
    )[1],
    "getPresolvedLp": lambda highs: (highs.presolve(), highs.getPresolvedLp().col_names_)[1],
    "option solution_file": lambda highs: written_by_run(
        highs, "solution_file", "write_solution_to_file"
    ),
    "addCol": lambda highs: (
        highs.addCol(1.0, 0.0, 1.0, 0, np.array([], dtype=np.int32), np.array([])),
        names_of(highs),
    ),
    "addVariable": lambda highs: (highs.addVariable(name="new").index, names_of(highs)),
    "addRow": lambda highs: (with_row(highs), names_of(highs)),
    "deleteCols": lambda highs: (
        highs.deleteCols(2, np.array([0, 3], dtype=np.int32)),
        names_of(highs),
    ),
    "deleteVariable": lambda highs: (highs.deleteVariable(1), names_of(highs)),
    "deleteRows": lambda highs: (
        highs.deleteRows(1, np.array([1], dtype=np.int32)),
        names_of(highs),
    ),
    "removeConstr": lambda highs: (highs.removeConstr(2), names_of(highs)),
    "passColName": lambda highs: (highs.passColName(1, "own"), names_of(highs)),
    "passRowName": lambda highs: (highs.passRowName(1, "own"), names_of(highs)),
    "clearSolver": lambda highs: (highs.clearSolver(), names_of(highs)),
    "clearModel": lambda highs: (highs.clearModel(), names_of(highs)),
    "clear": lambda highs: (highs.clear(), names_of(highs)),
    "changed numbers": lambda highs: (
        highs.changeColBounds(0, 0.5, 2.0),
        highs.changeCoeff(0, 2, 7.0),
        written(highs, "writeModel", ".mps"),
    ),
}
STATES = {
    "fresh": lambda highs: None,
    "solved": lambda highs: highs.run(),
    "solved by solve()": lambda highs: highs.solve(),
    "with a basis": lambda highs: (highs.run(), highs.setBasis(highs.getBasis())),
    "with a point": lambda highs: highs.setSolution(highspy.HighsSolution()),
    "changed": lambda highs: (highs.run(), highs.changeColCost(0, 3.0)),
}


@pytest.mark.parametrize(("state", "call"), chequered(list(STATES), list(SHOWN)))
def test_late_names_are_shown_like_names_passed_at_once(call, state, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    late, at_once = blend().to_highs(), with_names_at_once(blend())
    for highs in (late, at_once):
        STATES[state](highs)
    assert not has_names(late)
    assert repr(SHOWN[call](late)) == repr(SHOWN[call](at_once))
    assert late.getModelStatus() == at_once.getModelStatus()
    assert late.getSolution().col_value == at_once.getSolution().col_value
    assert late.getBasis().valid == at_once.getBasis().valid


def test_solving_and_reading_the_answer_takes_no_names():
    model = blend()
    highs = model.to_highs()
    highs.changeObjectiveOffset(0.0)
    highs.run()
    solution = model.read_back(highs)
    assert solution.verify().is_optimal
    assert solution.objective == pytest.approx(model.solve().objective, rel=1e-9)
    assert not has_names(highs)


def test_a_solved_object_keeps_its_answer_and_its_basis_when_names_come():
    highs = blend().to_highs()
    highs.run()
    before = (highs.getSolution().col_value, highs.getSolution().row_dual, highs.getBasis())
    assert highs.variableName(0) == "x[oats]"
    after = (highs.getSolution().col_value, highs.getSolution().row_dual, highs.getBasis())
    assert before[:2] == after[:2]
    assert before[2].col_status == after[2].col_status and after[2].valid


def test_names_are_those_of_the_model_when_the_object_was_made():
    model = blend()
    highs = model.to_highs()
    model.variable("z")
    assert highs.allVariableNames() == blend().compile().column_names
