"""Parts of the interior-point method that may fail: each is made to, and the levels are those of linear programs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fairlp
from fairlp.errors import NotConvergedError
from fairlp.models.programs.backends import find_backend
from fairlp.models.programs.solution import Options
from fairlp.solvers.backends.highs import Highs, HighsSession
from fairlp.solvers.interior_point import backend, blocks, face, method, pricing
from fairlp.solvers.interior_point.pricing import PricingSession
from fairlp.solvers.interior_point.structure import Structure


def instance(users=12, servers=6, seed=0, few=False):
    rng = np.random.default_rng(seed)
    eligible = None
    if few:
        eligible = rng.random((users, servers)) < 0.02
        eligible[np.arange(users), rng.integers(servers, size=users)] = True
    demands, capacities = rng.lognormal(size=(users, 3)), rng.lognormal(3, 1, (servers, 3))
    return fairlp.Instance.from_arrays(demands, capacities, eligible=eligible)


def rounds(users=30, servers=30, seed=1):
    """Everybody needs two of five resources, which takes several rounds."""
    rng = np.random.default_rng(seed)
    wanted = rng.random((users, 5)).argsort(axis=1) < 2
    return fairlp.Instance.from_arrays(
        np.where(wanted, rng.lognormal(size=(users, 5)), 0.0), rng.lognormal(size=(servers, 5))
    )


def levels(given, how="interior-point"):
    return fairlp.allocate(given, "drfh", method=how).levels.to_numpy()


def not_converged(*_, **__):
    raise NotConvergedError("planted")


FAULTS = {
    "no floors": (face, "_one_floor_each", lambda *_: False),
    "no duals": (face, "_whole", lambda *_: None),
    "no duals later": (face, "lifted", lambda *_: None),
    "another face": (backend, "on_face", lambda *_: None),
    "other units": (backend.Near, "of", lambda *_: None),
    "near is not near": (method, "NEARLY", 0.0),
    "nothing converges": (method, "solve", not_converged),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_levels_are_right_whatever_fails(monkeypatch, fault):
    given = rounds()
    wanted = levels(given, "lp")
    assert len(np.unique(wanted.round(9))) >= 3
    assert levels(given) == pytest.approx(wanted, rel=1e-9)
    monkeypatch.setattr(*FAULTS[fault])
    assert levels(given) == pytest.approx(wanted, rel=1e-7)


def test_servers_of_few_users_are_added_group_by_group(monkeypatch):
    given = instance(users=40, servers=60, few=True)
    wanted = levels(given, "lp")
    monkeypatch.setattr(blocks, "_dense_pays", lambda region: False)
    assert levels(given) == pytest.approx(wanted, rel=1e-7)


def test_blocks_that_rounding_left_indefinite_are_shifted():
    off = 1.0 + 1e-13
    root = blocks._inverse_roots(np.array([[[1.0, off], [off, 1.0]]]))
    inverse = root[0] @ np.array([[1.0, off], [off, 1.0]]) @ root[0].T
    assert np.isfinite(root).all() and abs(inverse - np.diag(np.diag(inverse))).max() < 10


def program(formulation="drfh"):
    return fairlp.formulate(instance(), formulation).compile()


def test_a_point_of_another_program_is_not_near():
    structure = Structure.of(program())
    point = method.solve(structure.problem)
    near = backend.Near(point, structure.level_unit)
    assert near.of(structure).at.t == pytest.approx(point.at.t)
    other = Structure.of(fairlp.formulate(instance(users=11), "drfh").compile())
    assert near.of(other) is None


def test_without_duals_all_prices_count_as_clear():
    solution = find_backend("highs").solve(program(), Options())
    assert backend._prices_all(replace(solution, row_duals=None), 1.0)
    assert not backend._prices_all(solution, 1.0)


# --- programs of another kind --------------------------------------------------------------------------------------


def changed(**how):
    one = program()
    users = one.row_block("fairness").slice
    first = one.column_block("x").start if "x" in {block.name for block in one.columns} else 0
    matrix = one.A.tolil(copy=True)
    lower, upper = one.col_lower.copy(), one.col_upper.copy()
    rows = one.row_upper.copy()
    if how.get("coefficient"):
        row = users.start
        column = next(j for j in matrix.rows[row] if j != one.column_block("t").start)
        matrix[row, column] *= -1.0
    if how.get("least"):
        lower[first] = 1e-3
    if how.get("most"):
        upper[one.columns[0].slice] = 50.0
    if how.get("between"):
        rows[users.start] = 100.0
    return one.replace(A=matrix.tocsc(), col_lower=lower, col_upper=upper, row_upper=rows)


@pytest.mark.parametrize("what", ["coefficient", "least", "most", "between"])
def test_programs_of_another_kind_are_solved_otherwise(what):
    assert Structure.of(changed()) is not None
    other = changed(**{what: True})
    assert Structure.of(other) is None
    wanted = find_backend("highs").solve(other, Options())
    found = find_backend("interior-point").solve(other, Options())
    assert found.status.termination is wanted.status.termination
    if wanted.status.is_optimal:
        assert found.objective == pytest.approx(wanted.objective, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("what", ["constant", "weights"])
def test_logarithms_of_another_kind_have_no_structure(what):
    one = program("ceei")
    assert Structure.of(one) is not None
    logs = one.logs
    value = {"constant": np.full_like(logs.constant, 0.5), "weights": -logs.weights}[what]
    assert Structure.of(one.replace(logs=replace(logs, **{what: value}))) is None


# --- vertices ------------------------------------------------------------------------------------------------------


def priced():
    model = fairlp.formulate(instance(users=30, servers=20), "drfh")
    start = model.solve("interior-point")
    return PricingSession(Highs(), model.compile(), Options().tightened(Highs()), start)


def test_columns_without_end_and_without_a_basis_lead_to_the_optimum(monkeypatch):
    wanted = priced().solve().objective
    for owner, name, value in ((pricing, "_ROUNDS", 1), (HighsSession, "basic", lambda self: None)):
        session = priced()
        few = np.arange(session.program.n_columns) % 3 == 0
        few[session.program.column_block("t").start] = True
        monkeypatch.setattr(owner, name, value)
        session._see(few)
        assert session.solve().objective == pytest.approx(wanted, rel=1e-8)
        monkeypatch.undo()


def test_an_answer_without_duals_has_no_reduced_costs():
    session = priced()
    part = session.master.solve()
    whole = session._whole(replace(part, row_duals=None), 0.0)
    assert whole.column_duals is None and whole.x.sum() == pytest.approx(part.x.sum())
    assert session._whole(part, 0.0).column_duals is not None
