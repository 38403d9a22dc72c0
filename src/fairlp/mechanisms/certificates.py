"""Is an allocation what its mechanism says? Proved without the method that made it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ..formulations.max_min import in_tasks
from ..models.programs.certificate import Verdict
from ..tolerances import AGREEMENT, VERIFIED
from .allocation import Allocation
from .mechanism import run
from .table import find
from .validation import differences


def by_rounds(allocation: Allocation, exact: bool = False) -> Verdict:
    """Return whether a max-min allocation has the levels of the leximin, by linear programs or in rationals."""
    if allocation.residual > VERIFIED:
        return Verdict(False, f"infeasible: a capacity, limit or placement is violated by {allocation.residual:.3g}")
    mechanism = find(allocation.mechanism)
    if exact:
        from ..solvers.leximin.exact import exact_levels

        found = exact_levels(allocation.instance, in_tasks(mechanism.gamma))
        if not found.proved:
            return Verdict(False, f"not proved: {found.message}", levels=found.levels)
        expected = np.array([0.0 if level is None else float(level) for level in found.levels])
        return _agreement(allocation, expected, found.message, found.levels)
    reference = run(mechanism, allocation.instance, method="lp")
    if reference.unproved:
        return Verdict(False, reference.unproved)
    return _agreement(allocation, reference.levels.to_numpy(), f"by linear programs, gap {reference.gap or 0:.1e}")


def _agreement(
    allocation: Allocation, expected: np.ndarray, how: str, levels: tuple[Fraction | None, ...] = ()
) -> Verdict:
    """Return the verdict on levels that ought to be the expected ones."""
    own = allocation.levels.to_numpy()
    difference = differences(own, expected)
    worst = int(difference.argmax())
    most = float(difference[worst])
    if most > AGREEMENT:
        user = allocation.instance.users[worst]
        wrong = f"user {user!r} has the level {own[worst]:.12g}, and {expected[worst]:.12g} is right"
        return Verdict(False, f"not optimal: {wrong} ({how})", most, levels)
    return Verdict(True, f"optimal, proved ({how}); levels agree to {most:.1e}", most, levels)
