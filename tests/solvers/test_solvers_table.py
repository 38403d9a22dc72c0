"""The table of solvers says what is still to be installed, and not what is there."""

from __future__ import annotations

import pytest

import fairlp
from fairlp.solvers.backends import cvxpy_backend, pyomo_backend


@pytest.mark.parametrize(
    ("name", "packages", "command"),
    [
        ("pyomo:gurobi", {"pyomo"}, "pip install gurobipy"),
        ("pyomo:gurobi", set(), "pip install pyomo"),
        ("pyomo:cbc", {"pyomo"}, ""),
        ("pyomo:highs", {"pyomo", "highspy"}, "pip install pyomo"),
        ("cvxpy:GUROBI", {"cvxpy"}, "pip install gurobipy"),
        ("cvxpy:GUROBI", set(), "pip install cvxpy"),
        ("cvxpy:GLPK", {"cvxpy"}, 'pip install "fairlp[cvxopt]"'),
    ],
)
def test_the_command_is_of_what_is_missing(name, packages, command, monkeypatch):
    for module in (pyomo_backend, cvxpy_backend):
        monkeypatch.setattr(module, "installed", lambda package: package in packages)
    monkeypatch.setattr(pyomo_backend.shutil, "which", lambda executable: None)
    assert fairlp.solvers().loc[name, "install"] == command
