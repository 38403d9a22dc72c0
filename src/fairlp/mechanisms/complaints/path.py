"""The trajectory of Dolev et al., §5.4, from zero to a fair allocation.

It is integrated, or followed by Newton's method.

At the parameter c the point x(c) has x[n]·∂f/∂x[n] = c·e[n], where f(x) = −Σ_j log(1 − Σ_n
x[n]·r[n,j]) over the resources and the dummy resource of every user with a limit. It is the central
path of the Eisenberg–Gale program with barrier 1/c. Slacks s[j] = 1 − Σ_n x[n]·r[n,j] are variables
beside x: they shrink like 1/c, and a difference from 1 would lose their digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import NotConvergedError
from ...tolerances import AGREEMENT, NOISE

#: Where the path begins (x is c·e/Σr there, up to a part c of it) and ends; all of it is followed
#: in log c.
BEGIN = 10.0**-6
END = 10.0**13
#: Factor of c from one Newton point to the next; corrections at one point; part of the way to the
#: boundary.
_FACTOR = 2.0
MOST_CORRECTIONS = 30
_BOUNDARY = 0.9


def end_near_limit(e: np.ndarray) -> float:
    """Return the c where granted fractions are within a third of `NOISE` of where the path ends.

    Most are within 1/c there. But where a limit is met exactly by what the price gives, 1 − x and
    its price 1/(c·(1 − x)) vanish alike: 1 − x = 1/√(c·e[n]). The same holds for a resource given
    out in full without a price.
    """
    return max(END, 10.0 / (NOISE**2 * float(e.min())))


@dataclass
class MarketPath:
    """Points of the path: c (K,), fractions x (K, N), slacks s (K, R) and prices 1/(c·s) (K, R)."""

    c: np.ndarray
    x: np.ndarray
    slack: np.ndarray
    steps: int

    @property
    def prices(self) -> np.ndarray:
        """1/(c·s), which tend to the prices of the Eisenberg–Gale program. Shape (K, R)."""
        return np.asarray(1.0 / (self.c[:, None] * self.slack))


@dataclass
class _Field:
    """The equations of the path, for users with an entitlement and a request."""

    r: np.ndarray
    e: np.ndarray
    limited: np.ndarray

    def start(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return x, s and 1 − x at the beginning, to first order in c."""
        x = BEGIN * self.e / (self.r.sum(axis=1) + self.limited)
        return x, 1.0 - x @ self.r, 1.0 - x

    def solve(
        self, x: np.ndarray, s: np.ndarray, y: np.ndarray, right: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return dx and ds with J·dx = right, where J is the Jacobian of x[n]·∂f/∂x[n]; O(NR²).

        J = D + diag(x)·r·S⁻²·rᵀ with a diagonal D, so R equations for w = S⁻²·rᵀ·dx are all there
        is to solve.
        """
        of_limits = np.where(self.limited, 1.0 / (y * y), 0.0)
        diagonal = self.r @ (1.0 / s) + of_limits
        inner = (self.r * (x / diagonal)[:, None]).T @ self.r
        inner[np.diag_indices_from(inner)] += s * s
        w = np.linalg.solve(inner, (right / diagonal) @ self.r)
        return (right - x * (self.r @ w)) / diagonal, -s * s * w

    def gradient(self, x: np.ndarray, s: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return x[n]·∂f/∂x[n]."""
        of_limits = np.where(self.limited, 1.0 / y, 0.0)
        return np.asarray(x * (self.r @ (1.0 / s) + of_limits))


def by_integration(
    r: np.ndarray, e: np.ndarray, limited: np.ndarray, end: float = END, points: int = 200
) -> MarketPath:
    """Integrate the differential equation with SciPy, in log c.

    The unknowns are the logarithms of x, s and 1 − x.

    Parameters
    ----------
    r : ndarray, shape (N, R)
        Requests as fractions of capacity.
    e : ndarray, shape (N,)
        Entitlements > 0, summing to 1.
    limited : ndarray of bool, shape (N,)
        Who has a dummy resource.
    end : float
        Last c.
    points : int
        Number of points to keep, evenly in log c.
    """
    from scipy.integrate import solve_ivp

    field = _Field(r, e, limited)
    count, resources = r.shape

    def slope(logarithm: float, state: np.ndarray) -> np.ndarray:
        x = np.exp(state[:count])
        s = np.exp(state[count : count + resources])
        y = np.exp(state[count + resources :])
        dx, ds = field.solve(x, s, y, np.exp(logarithm) * e)
        dy_over_y = np.where(limited, -dx / y, 0.0)
        return np.concatenate([dx / x, ds / s, dy_over_y])

    initial_state = np.log(np.concatenate(field.start()))
    span = (np.log(BEGIN), np.log(end))
    absolute_tolerance = np.full(len(initial_state), NOISE)
    absolute_tolerance[:count] = AGREEMENT
    trajectory = solve_ivp(
        slope,
        span,
        initial_state,
        method="DOP853",
        t_eval=np.linspace(*span, points),
        rtol=AGREEMENT,
        atol=absolute_tolerance,
    )
    if not trajectory.success:
        raise NotConvergedError(
            f"the trajectory could not be followed to c = {end:.1e}: {trajectory.message}"
        )
    states = np.exp(trajectory.y.T)
    return MarketPath(
        np.exp(trajectory.t),
        states[:, :count],
        states[:, count : count + resources],
        int(trajectory.nfev),
    )


def by_newton(r: np.ndarray, e: np.ndarray, limited: np.ndarray, end: float = END) -> MarketPath:
    """Follow the path by Newton's method.

    Each step along the tangent doubles c; corrections follow it.

    Parameters are those of :func:`by_integration`.
    """
    field = _Field(r, e, limited)
    x, s, y = field.start()
    c = BEGIN
    steps = 0
    points = []
    while True:
        for _ in range(MOST_CORRECTIONS):
            missing = c * e - field.gradient(x, s, y)
            if float((abs(missing) / (c * e)).max()) <= AGREEMENT:
                break
            steps += 1
            x, s, y = _moved(x, s, y, *field.solve(x, s, y, missing))
        points.append((c, x, s))
        if c >= end:
            break
        further = min(_FACTOR * c, end)
        dx, ds = field.solve(x, s, y, (further - c) * e)
        x, s, y = _moved(x, s, y, dx, ds)
        c = further
    parameters, granted, slacks = zip(*points, strict=True)
    return MarketPath(np.array(parameters), np.array(granted), np.array(slacks), steps)


def _moved(
    x: np.ndarray, s: np.ndarray, y: np.ndarray, dx: np.ndarray, ds: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the point after a step that stays inside: x, s and 1 − x positive."""
    falls = (-dx / x, -ds / s, dx / y)  # of x, s and 1 − x, as parts of each
    worst = max(*(float(fall.max()) for fall in falls), _BOUNDARY)
    size = _BOUNDARY / worst
    return x + size * dx, s + size * ds, y - size * dx
