"""The equations of the matrix-free method where a factor fails: iterations lead to the same levels."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from fairlp.errors import NotConvergedError
from fairlp.solvers.matrix_free import equations
from fairlp.solvers.matrix_free.servers import inverse_roots
from pair_instances import both

AIM = 1e-4
pytestmark = pytest.mark.filterwarnings("ignore::fairlp.errors.OversizedTaskWarning")


def fails(*_, **__):
    raise np.linalg.LinAlgError("planted")


def singular(*_, **__):
    raise RuntimeError("planted")


def once(real, fault):
    """A function that fails on every second call."""
    calls = []

    def sometimes(*given, **how):
        calls.append(given)
        return real(*given, **how) if len(calls) % 2 == 0 else fault(*given)

    return sometimes


SPARSE = {"DENSE": 0, "_SLOW": -1}
#: Seeds 1 and 4 have more rows of servers than users, seed 10 fewer.
FAULTS = {
    "no factor": {"cho_factor": fails},
    "a factor at the second try": {"cho_factor": once(equations.cho_factor, fails)},
    "strong pairs": SPARSE,
    "strong pairs, singular": SPARSE | {"splu": singular},
    "strong pairs, as many as now": SPARSE | {"_FILL": 4.0},
    "strong pairs, fewer": SPARSE | {"_FILL": 0.1},
}


@pytest.mark.parametrize(
    ("fault", "seed"), [*((fault, seed) for fault in FAULTS for seed in (1, 4)), ("no factor", 10)]
)
def test_levels_are_the_same_whatever_fails(monkeypatch, fault, seed):
    _, pairs = both(seed)
    wanted = fairlp.allocate(pairs, "c-drfh", aim=AIM)
    assert wanted.bounds[0].gap <= AIM
    for name, value in FAULTS[fault].items():
        monkeypatch.setattr(equations, name, value)
    found = fairlp.allocate(pairs, "c-drfh", aim=AIM)
    assert found.gap <= AIM and found.residual <= 1e-12
    assert found.levels.to_numpy() == pytest.approx(wanted.levels.to_numpy(), rel=10 * AIM)


def test_a_direction_that_rounding_turned_is_not_gone_along(monkeypatch):
    _, pairs = both(1)
    wanted = fairlp.allocate(pairs, "c-drfh", aim=AIM).levels.to_numpy()
    monkeypatch.setattr(equations, "DENSE", 0)
    owner = next(one for one in vars(equations).values() if isinstance(one, type) and "_apply" in vars(one))
    real, calls = owner._apply, []

    def turned(self, values):
        calls.append(len(calls))
        return -values if len(calls) % 7 == 0 else real(self, values)

    monkeypatch.setattr(owner, "_apply", turned)
    found = fairlp.allocate(pairs, "c-drfh", aim=AIM)
    assert found.levels.to_numpy() == pytest.approx(wanted, rel=10 * AIM) and len(calls) > 7


def test_blocks_are_shifted_by_as_little_as_it_takes_and_no_more():
    off = 1.0 + 1e-13
    assert np.isfinite(inverse_roots(np.array([[[1.0, off], [off, 1.0]]]))).all()
    with pytest.raises(NotConvergedError, match="a server's equations lost their definiteness"):
        inverse_roots(np.array([[[1.0, 2.0], [2.0, 1.0]]]))
