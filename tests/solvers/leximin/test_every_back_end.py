"""Every back end for linear programs runs every max-min mechanism, also one that gives no duals."""

from __future__ import annotations

import warnings

import pytest

import fairlp
from fairlp import examples
from fairlp.mechanisms.table import TABLE
from fairlp.models.programs.backends import find_backend
from fairlp.models.programs.solution import Capability
from fairlp.tolerances import CONFORMANCE
from profiles import PROFILE

TABLE_OF_SOLVERS = fairlp.solvers()
SOLVERS = [name for name in TABLE_OF_SOLVERS.index if TABLE_OF_SOLVERS.available[name]]
SOLVERS = [name for name in SOLVERS if Capability.LP in find_backend(name).capabilities]
MAX_MIN = [name for name, row in TABLE.items() if "lp" in row.method_names and not row.arrivals and not row.whole_tasks]


def test_there_is_something_to_test():
    assert "scip" in SOLVERS and len(SOLVERS) > 10
    assert MAX_MIN == ["drf", "edrf", "asset", "drfh", "c-drfh", "cdrf", "tsf", "naive-drf", "h-drf", "h-drf-collapsed"]


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_back_end_runs_every_max_min_mechanism(solver):
    instances = [examples.load(name) for name in ("ghodsi", "parkes-zero-demands", "khamse-ashari-figure-1")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for mechanism in MAX_MIN:
            defined = [one for one in instances if TABLE[mechanism].undefined(one) is None]
            for instance in defined if PROFILE == "nightly" else defined[-1:]:
                found = fairlp.allocate(instance, mechanism, method="lp", solver=solver)
                expected = fairlp.allocate(instance, mechanism).totals
                assert found.totals.to_numpy() == pytest.approx(expected.to_numpy(), rel=CONFORMANCE), mechanism
                assert bool(found.unproved) == (Capability.DUALS not in find_backend(solver).capabilities)


def test_what_has_no_duals_is_proved_otherwise():
    found = fairlp.allocate(examples.load("wang-figure-1"), "drfh", solver="scip")
    assert found.unproved.startswith("not proved: the solver gives no duals") and found.unproved in found.notes
    assert found.gap is None and found.prices is None
    assert found.certify(exact=True) and found.certify()
