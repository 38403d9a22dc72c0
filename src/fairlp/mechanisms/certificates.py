"""Is an allocation what its mechanism says? Proved without the method that made it."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from ..errors import NotDefinedError
from ..tolerances import AGREEMENT, VERIFIED
from .allocation import Allocation
from .mechanism import load
from .table import TABLE

_LEXIMIN = "fairlp.mechanisms.max_min.methods:leximin_lp"


@dataclass(frozen=True)
class Verdict:
    """The answer of :meth:`Allocation.certify`.

    Attributes
    ----------
    proved : bool
    message : str
        "optimal, proved …", or what fails.
    difference : float
        Largest difference of a user's level from the proved one, relative.
    levels : tuple of (Fraction or None)
        Exact levels by user, where they were computed.
    """

    proved: bool
    message: str
    difference: float = np.nan
    levels: tuple[Fraction | None, ...] = field(default=(), repr=False)

    def __bool__(self) -> bool:
        return self.proved

    def __str__(self) -> str:
        return self.message


def certify(allocation: Allocation, exact: bool = False) -> Verdict:
    """Return the verdict on an allocation; see :meth:`Allocation.certify`."""
    row = TABLE.get(allocation.mechanism)
    if row is None or not any(algorithm.runner == _LEXIMIN for algorithm in row.algorithms):
        if allocation.certificate is not None and not exact:
            return Verdict(bool(allocation.certificate), str(allocation.certificate))
        kind = "exact certificate" if exact else "certificate"
        raise NotDefinedError(
            f"{allocation.mechanism!r} has no {kind} of optimality; fairlp.validate compares its methods, and "
            "fairlp.audit checks its properties"
        )
    if allocation.residual > VERIFIED:
        return Verdict(False, f"infeasible: a capacity, limit or placement is violated by {allocation.residual:.3g}")
    if exact:
        from ..solvers.leximin.exact import exact_levels

        found = exact_levels(allocation.instance, load(row.formulation))
        if not found.proved:
            return Verdict(False, f"not proved: {found.message}", levels=tuple(found.levels))
        expected = np.array([0.0 if level is None else float(level) for level in found.levels])
        how = f"in rationals, {found.rounds} rounds"
        levels = tuple(found.levels)
    else:
        from ..api import run

        reference = run(allocation.instance, allocation.instance, (), row, "lp", "highs", True, {})
        expected, how, levels = reference.levels.to_numpy(), f"by linear programs, gap {reference.gap or 0:.1e}", ()
    own = allocation.levels.to_numpy()
    larger = np.maximum(abs(own), abs(expected))
    difference = abs(own - expected) / np.where(larger > 0, larger, 1.0)
    worst = int(difference.argmax())
    if difference[worst] > AGREEMENT:
        user = allocation.instance.users[worst]
        return Verdict(
            False,
            f"not optimal: user {user!r} has the level {own[worst]:.12g}, and {expected[worst]:.12g} is right ({how})",
            float(difference[worst]),
            levels,
        )
    return Verdict(
        True, f"optimal, proved ({how}); levels agree to {difference[worst]:.1e}", float(difference[worst]), levels
    )
