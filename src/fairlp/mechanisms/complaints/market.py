"""The exact Eisenberg–Gale program of one server, by Newton's method on resource prices.

maximise Σ e[n]·log x[n] subject to Σ_n x[n]·r[n,j] ≤ 1 and, for users with a limit, x[n] ≤ 1. At
prices λ ≥ 0 user n takes x[n] = min(1, e[n]/p[n]), p[n] = Σ_j λ[j]·r[n,j], so everything is a
function of R prices:

* **Path.** A smooth version of the dual, with barriers τ for prices and limits, is minimised by
  Newton steps while τ falls. The users' part has a closed form at every τ, so a step costs
  O(NR·min(N, R)) and solves min(N, R) equations; a line search on the smooth dual, which is convex,
  makes every step safe.
* **End.** Once τ shows which resources have a price, those are to be saturated: as many equations
  as prices, solved by Newton to the last digit. A resource whose price turns negative leaves, one
  that is overused joins. What comes out is judged by the optimality conditions; if they do not
  hold, τ falls further and the end is tried again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import NotConvergedError
from ...tolerances import MARKET, VERIFIED

#: τ = 10^-k up to this k; the end is tried from the second on.
_DECADES = 17
_FIRST_END = 4
#: Newton steps at one τ, halvings of one step, sets of priced resources that one end tries, Newton
#: steps of each.
MOST_STEPS = 30
MOST_HALVINGS = 40
MOST_SETS = 40
MOST_END_STEPS = 30
#: Decrease that a step must bring, as a part of what its slope promises; part of the way to the
#: boundary that it goes; decrease at one τ, in τ, at which the next one begins; slope, of the
#: first, at which a step of the end may end.
_ARMIJO = 0.01
_BOUNDARY = 0.99
_CENTRED = 0.1
_FLAT = 0.5


@dataclass
class Market:
    """The optimum of a market: granted fractions x (N,) and prices λ (R,).

    With the largest violation of the conditions, and the number of Newton steps.
    """

    x: np.ndarray
    prices: np.ndarray
    residual: float
    steps: int


def eisenberg_gale(fractions: np.ndarray, entitlements: np.ndarray, limited: np.ndarray) -> Market:
    """Return the optimum of the Eisenberg–Gale program of one server.

    Parameters
    ----------
    fractions : ndarray, shape (N, R)
        r[n,j] >= 0, what n takes of j at x[n] = 1, as a fraction of what there is; not all 0 for a
        user.
    entitlements : ndarray, shape (N,)
        e[n] > 0, in any unit (they are divided by their sum).
    limited : ndarray of bool, shape (N,)
        Who has x[n] ≤ 1.

    Raises
    ------
    NotConvergedError
        When the conditions do not hold to ``VERIFIED`` in the end.
    """
    e = entitlements / entitlements.sum()
    prices = np.zeros(fractions.shape[1])
    total_requests = fractions.sum(axis=0)
    open_ended = fractions[~limited].any(axis=0)
    contended = np.flatnonzero(
        (total_requests > 1) | open_ended
    )  # the others suffice for every user
    if not contended.size:
        return Market(np.ones(len(e)), prices, 0.0, 0)
    problem = MarketProblem(np.ascontiguousarray(fractions[:, contended]), e, limited)
    best, steps = problem.solve()
    prices[contended] = best.prices
    return Market(best.x, prices, best.residual, steps)


@dataclass
class MarketProblem:
    """The Eisenberg–Gale program of one server: requests r (n, R), entitlements e (n,).

    ``limited`` (n,) marks the users with a task limit.
    """

    r: np.ndarray
    e: np.ndarray
    limited: np.ndarray

    def solve(self) -> tuple[Market, int]:
        """Return the best point of the path and its end, and the number of Newton steps."""
        count = self.r.shape[1]
        price = np.full(count, 1.0 / count)
        slack = np.full(count, 1.0)
        best = Market(np.zeros(len(self.e)), price, np.inf, 0)
        steps = 0
        for decade in range(_DECADES):
            price, slack, newton_steps = self._centre(price, slack, 0.1**decade)
            steps += newton_steps
            if decade < _FIRST_END:
                continue
            end = self.end_of_path(price, price > slack)
            steps += end.steps
            if end.residual < best.residual:
                best = end
            if best.residual <= MARKET:
                return best, steps
        if best.residual > VERIFIED:
            raise NotConvergedError(
                f"the Eisenberg–Gale program of {len(self.e)} users and {count} resources: the "
                "optimality "
                f"conditions are off by {best.residual:.1e} after {steps} Newton steps; "
                "method='convex' is another way"
            )
        return best, steps

    def _centre(
        self, price: np.ndarray, slack: np.ndarray, tau: float
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """Minimise the smooth dual at τ from a point near its minimum at a larger τ.

        Slacks scale the steps.
        """
        value, x, curvature = self._smooth(price, tau)
        for step in range(MOST_STEPS):
            slope = 1.0 - x @ self.r - tau / price
            move = -self._solve_hessian(curvature, slack / price, slope)
            promised = float(-slope @ move)
            new_slack = tau / price - slack / price * move  # s + ds of the linearised s·λ = τ

            # The largest step that stays inside and lowers the dual enough.
            largest_fall = float((-move / price).max(initial=_BOUNDARY))
            size = min(1.0, _BOUNDARY / largest_fall)
            rounding = np.finfo(float).eps * abs(value)
            for _ in range(MOST_HALVINGS):
                after = self._smooth(price + size * move, tau)
                if after[0] <= value - _ARMIJO * size * promised + rounding:
                    break
                size /= 2
            price = price + size * move
            value, x, curvature = after
            # Near τ/λ, so that the scaled steps stay those of a descent method.
            moved_slack = slack + size * (new_slack - slack)
            slack = np.clip(moved_slack, 0.1 * tau / price, 10 * tau / price)
            if promised <= _CENTRED * tau and size > _BOUNDARY / 2:
                return price, slack, step + 1
        return price, slack, MOST_STEPS

    def _solve_hessian(
        self, curvature: np.ndarray, diagonal: np.ndarray, rhs: np.ndarray
    ) -> np.ndarray:
        """Return (Σ_n curvature[n]·r[n]r[n]ᵀ + diag(diagonal))⁻¹·rhs.

        The larger of the two groups, users or resources, is eliminated.
        """
        if len(self.r) >= len(diagonal):
            hessian = (self.r * curvature[:, None]).T @ self.r
            hessian[np.diag_indices_from(hessian)] += diagonal
            return np.linalg.solve(hessian, rhs)
        root = self.r * np.sqrt(curvature)[:, None]
        inner = np.eye(len(root)) + (root / diagonal) @ root.T
        return np.asarray(
            (rhs - root.T @ np.linalg.solve(inner, root @ (rhs / diagonal))) / diagonal
        )

    def _smooth(self, price: np.ndarray, tau: float) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the smooth dual at prices > 0, its fractions x, and their curvature.

        The curvature of a user is the rate at which x falls as its cost p rises.

        With q = p/e, a user with a limit takes the root of x·q + τ·x/(1−x) = 1 (without one, x·q =
        1).
        """
        with np.errstate(over="ignore"):  # infinitely dear for whom next to nothing is entitled
            q = (self.r @ price) / self.e
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            turn = tau + 1.0 - q
            root = np.sqrt(turn * turn + 4.0 * tau * q)
            # 1 − x, without cancellation
            free = np.where(turn >= 0, 2.0 * tau / (turn + root), (root - turn) / (2.0 * q))
            x = np.where(self.limited, 2.0 / (q + tau + 1.0 + root), 1.0 / q)
            barrier = np.where(self.limited, tau * np.log(free), 0.0)
            barrier_curvature = np.where(self.limited, 1.0 + tau * (x / free) ** 2, 1.0)
            curvature = x * x / (self.e * barrier_curvature)
            gain = float(self.e @ (np.log(x) + barrier - q * x))
            value = float(price.sum() - tau * np.log(price).sum() + gain)
        return (value if np.isfinite(value) else np.inf), x, curvature

    def end_of_path(self, start: np.ndarray, priced: np.ndarray) -> Market:
        """Return the point that saturates exactly the priced resources.

        On the way, resources enter and leave the priced set.
        """
        price = np.where(priced, start, 0.0)
        priced = priced.copy()
        steps = 0
        best = Market(np.zeros(len(self.e)), price, np.inf, 0)
        for _ in range(MOST_SETS):
            endless = ~self.limited & ~(self.r[:, priced] > 0).any(axis=1)
            if endless.any():  # a user without a limit uses something that has a price
                uses = self.r[endless.argmax()] > 0
                dearest = int(np.where(uses, start, -1.0).argmax())
                priced[dearest] = True
                price = np.where(priced, np.where(price > 0, price, start), 0.0)
                continue
            price, x, newton_steps = self._saturate(price, priced)
            steps += newton_steps
            slack = 1.0 - x @ self.r
            clipped = np.maximum(price, 0.0)
            if (price >= 0).all():
                residual = max(float(-slack.min()), 0.0, float(abs(clipped @ slack)))
                if residual < best.residual:
                    best = Market(x, clipped, residual, 0)
                if residual <= MARKET:
                    break
            if (price < 0).any():
                priced[price.argmin()] = False
            elif (priced & (slack > MARKET)).any():
                priced[np.where(priced, slack, -np.inf).argmax()] = False
            elif (~priced & (slack < -MARKET)).any():
                priced[np.where(priced, np.inf, slack).argmin()] = True
            else:
                break
            price = np.where(priced, np.where(clipped > 0, clipped, start), 0.0)
        best.steps = steps
        return best

    def _saturate(
        self, price: np.ndarray, priced: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """Solve Σ_n x[n]·r[n,j] = 1 for the priced resources by Newton; return prices, x, steps.

        It minimises the dual, convex with kinks where users come to their limits: along each step
        its slope is brought to nearly 0 or below. Of several solutions (prices need not be unique,
        what users take is) the one nearest to the last is taken.
        """
        r = self.r[:, priced]
        prices = price[priced]
        x = self._take(r @ prices)
        excess = 1.0 - x @ r
        steps = 0
        for steps in range(1, MOST_END_STEPS + 1):  # noqa: B007
            if abs(excess).max(initial=0.0) <= np.finfo(float).eps:
                break
            sensitivity = np.where(self.limited & (x >= 1.0), 0.0, x * x / self.e)
            hessian = (r * sensitivity[:, None]).T @ r
            move = -np.linalg.lstsq(hessian, excess, rcond=None)[0]
            next_excess = excess
            if excess @ move < 0:
                p = r @ prices
                change = r @ move
                falling = ~self.limited & (change < 0)
                size = min(
                    1.0, _BOUNDARY / float((-change[falling] / p[falling]).max(initial=_BOUNDARY))
                )
                low = 0.0
                high = size
                for _ in range(MOST_HALVINGS):
                    x = self._take(r @ (prices + size * move))
                    next_excess = 1.0 - x @ r
                    slope = float(next_excess @ move)
                    if abs(slope) <= _FLAT * abs(float(excess @ move)) or (
                        size >= high and slope <= 0
                    ):
                        break
                    low, high = (low, size) if slope > 0 else (size, high)
                    size = (low + high) / 2
            if abs(next_excess).max() < abs(excess).max() or (
                next_excess is not excess and size < 1.0
            ):
                prices = prices + size * move
                excess = next_excess
                continue
            higher = self._past_a_kink(prices, r, excess)
            if higher is None:
                break
            prices = higher
            x = self._take(r @ prices)
            excess = 1.0 - x @ r
        full = np.zeros(len(price))
        full[priced] = prices
        return full, self._take(r @ prices), steps

    def _past_a_kink(
        self, prices: np.ndarray, r: np.ndarray, excess: np.ndarray
    ) -> np.ndarray | None:
        """Return the overused resources' prices, raised to the next kink; None without a kink.

        At a kink one more user falls below its limit.

        Where next to nothing more is asked than there is, every user may have its limit, and Newton
        no slope.
        """
        move = np.maximum(-excess, 0.0)
        p = r @ prices
        change = r @ move
        full = self.limited & (change > 0) & (p <= self.e)
        if not full.any() or move.max() <= MARKET:
            return None
        return np.asarray(
            prices + float((((1 + MARKET) * self.e - p)[full] / change[full]).min()) * move
        )

    def _take(self, p: np.ndarray) -> np.ndarray:
        """Return min(1, e/p), or e/p without a limit."""
        with np.errstate(divide="ignore"):
            safe_prices = np.where(p > 0, p, 1.0)
            x = np.where(p > 0, self.e / safe_prices, np.inf)
        return np.where(self.limited, np.minimum(x, 1.0), x)
