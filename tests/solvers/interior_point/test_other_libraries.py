"""PyTorch and CuPy where neither is: stand-ins with their conventions, and systems of equations that must be solved."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.linalg

from fairlp.solvers.interior_point import region

MATRIX = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 2.0]])
RIGHT = np.array([1.0, -2.0, 3.0])


def type_of(library):
    """Return a type of arrays that is of a module of this name, and of which little is known."""

    class Tensor:
        def __init__(self, held):
            self.held = held

        def __getitem__(self, places):
            return type(self)(self.held[places])

    Tensor.__module__ = f"{library}.core"
    return Tensor


@pytest.fixture
def torch(monkeypatch):
    """PyTorch: a factor that fails raises; the right-hand side comes first, and a factor is a lower one."""
    tensor = type_of("torch")

    def cholesky_solve(right, lower, upper=False):
        return tensor(scipy.linalg.cho_solve((lower.held, not upper), right.held))

    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cholesky_solve=cholesky_solve))
    known = SimpleNamespace(
        linalg=SimpleNamespace(cholesky=lambda one: tensor(np.linalg.cholesky(one.held)))
    )
    monkeypatch.setitem(region._NAMESPACES, "torch.core", known)
    return tensor


@pytest.fixture
def cupy(monkeypatch):
    """CuPy: a factor that fails is of NaN, unless errors are asked for; a triangle is solved by its own function."""
    tensor, raising = type_of("cupy"), []

    @contextmanager
    def errstate(*, linalg):
        raising.append(linalg == "raise")
        yield
        raising.pop()

    def cholesky(one):
        try:
            return tensor(np.linalg.cholesky(one.held))
        except np.linalg.LinAlgError:
            if raising and raising[-1]:
                raise
            return tensor(np.full_like(one.held, np.nan))

    def solve_triangular(a, b, trans=0, lower=False):
        return tensor(scipy.linalg.solve_triangular(a.held, b.held, trans=trans, lower=lower))

    solvers = SimpleNamespace(solve_triangular=solve_triangular)
    scipys = SimpleNamespace(linalg=solvers)
    for name, module in (
        ("", SimpleNamespace(errstate=errstate)),
        (".scipy", scipys),
        (".scipy.linalg", solvers),
    ):
        monkeypatch.setitem(sys.modules, f"cupyx{name}", module)
    monkeypatch.setitem(
        region._NAMESPACES, "cupy.core", SimpleNamespace(linalg=SimpleNamespace(cholesky=cholesky))
    )
    return tensor


@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_a_factor_of_another_library_solves_and_none_is_none(library, request):
    tensor = request.getfixturevalue(library)
    solve = region.factored(tensor(MATRIX))
    np.testing.assert_allclose(MATRIX @ solve(tensor(RIGHT)).held, RIGHT, rtol=1e-12)
    assert region.factored(tensor(-MATRIX)) is None
