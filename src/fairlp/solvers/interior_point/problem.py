"""The problems of the interior-point method, and their variables.

    maximise t       subject to  Σ_n d[n]·x[i,n] + s[i] = c[i]             price p[i] ≥ 0
                                 u[j] = σ[j]·(b[j] + a[j]·t − X[n[j]])     price v[j] ≥ 0
    at the optimum   z[i,n] = d[n]·p[i] − ρ[i,n]·q[n] ≥ 0,   q[n] = −Σ_j σ[j]·v[j],
                     Σ_j a[j]·v[j] = 1,   x·z = s·p = u·v = 0

A row j of user n[j] is a lower bound on X (σ = −1) or an upper one (σ = 1; then a = 0). With
logarithms, maximise Σ e[j]·log X[n[j]] over the rows that have a weight e: there u is X itself, and
u·v = e takes the place of u·v = 0. With powers, of slope e·X^(−α), it is u^α·v = e, solved in
logarithms: α·log u + log v = log e.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .region import PlacedRegion

#: x of a pair that does not exist: nothing, and yet something to divide by.
ABSENT = 2.0**-600


@dataclass(frozen=True)
class UserRows:
    """Rows on X[n]; all arrays of shape (J,).

    Attributes
    ----------
    user : ndarray of int
    sign : ndarray
        −1: a lower bound, 1: an upper one.
    slope, bound : ndarray
        a and b of the bound a·t + b.
    weight : ndarray
        e of the logarithm, 0 where the row is a bound.
    alpha : ndarray
        α of the power, 1 for a logarithm and where the row is a bound.
    """

    user: np.ndarray
    sign: np.ndarray
    slope: np.ndarray
    bound: np.ndarray
    weight: np.ndarray
    alpha: np.ndarray


@dataclass(frozen=True)
class Face:
    """Equalities on the optimal face of an earlier round: their slacks are 0, their prices free.

    Attributes
    ----------
    tight_capacities : ndarray of bool, shape (K, R)
        Capacities that are used up.
    tight_rows : ndarray of bool, shape (J,)
        Rows of users who keep what they have.
    x, s : ndarray
        A point of the face, positive but for its equalities.
    """

    tight_capacities: np.ndarray
    tight_rows: np.ndarray
    x: np.ndarray
    s: np.ndarray


@dataclass(frozen=True)
class Problem:
    """Maximise t, or the logarithms or powers, over a region and rows on its users.

    Every user has a row at least. With a face, over the points on it only.
    """

    region: PlacedRegion
    rows: UserRows
    face: Face | None = None

    @cached_property
    def has_level(self) -> bool:
        """Whether t is maximised."""
        return bool(self.rows.slope.any())

    def sum_by_user(self, row_values: np.ndarray) -> np.ndarray:
        """Return the sums of the rows' values by user; shape (N,)."""
        return np.bincount(self.rows.user, weights=row_values, minlength=self.region.shape[1])

    def min_by_user(self, row_values: np.ndarray) -> np.ndarray:
        """Return the smallest value of each user's rows; shape (N,)."""
        smallest = np.full(self.region.shape[1], np.inf)
        np.minimum.at(smallest, self.rows.user, row_values)
        return smallest

    def to_rows(self, user_values: np.ndarray) -> np.ndarray:
        """Return users' values as their rows'; shape (J,)."""
        return np.asarray(user_values[self.rows.user])

    def user_values(self, v: np.ndarray) -> np.ndarray:
        """Return q, the worth of one more X[n] at prices of the rows; shape (N,)."""
        return self.sum_by_user(-self.rows.sign * v)


@dataclass
class Variables:
    """A number for every variable, a point or a direction: x, z by pair; s, p (K, R); u, v (J,)."""

    x: np.ndarray
    s: np.ndarray
    u: np.ndarray
    z: np.ndarray
    p: np.ndarray
    v: np.ndarray
    t: float = 0.0

    def moved(self, direction: Variables, primal_length: float, dual_length: float) -> Variables:
        """Return this + length · direction, with one length for x, s, u, t and one for z, p, v."""
        return Variables(
            x=self.x + primal_length * direction.x,
            s=self.s + primal_length * direction.s,
            u=self.u + primal_length * direction.u,
            z=self.z + dual_length * direction.z,
            p=self.p + dual_length * direction.p,
            v=self.v + dual_length * direction.v,
            t=self.t + primal_length * direction.t,
        )
