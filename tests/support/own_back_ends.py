"""Back ends that somebody else wrote: a good one around SciPy, and ones that lie, break or lack something."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

import fairlp

CAN = fairlp.Capability


class Dual(fairlp.Backend):
    """``linprog`` with duals: every finite side of a row is a row of its own."""

    capabilities = frozenset({CAN.LP, CAN.DUALS})

    def run(self, program, options):
        A = program.A.toarray()
        above, below = np.isfinite(program.row_upper), np.isfinite(program.row_lower)
        answer = linprog(
            program.c,
            A_ub=np.vstack([A[above], -A[below]]),
            b_ub=np.concatenate([program.row_upper[above], -program.row_lower[below]]),
            bounds=np.column_stack([program.col_lower, program.col_upper]),
        )
        status = {0: "OPTIMAL", 2: "INFEASIBLE", 3: "UNBOUNDED"}.get(answer.status, "UNKNOWN")
        if answer.x is None:
            return fairlp.Raw(fairlp.Termination[status], answer.message)
        duals, prices = np.zeros(program.n_rows), np.asarray(answer.ineqlin.marginals)
        duals[above] += prices[: above.sum()]
        duals[below] -= prices[above.sum() :]
        return fairlp.Raw(fairlp.Termination[status], answer.message, answer.x, duals)


class Whole(fairlp.Backend):
    """``milp``: no duals, whole numbers too; asked for things when it was made."""

    name = "whole"
    capabilities = frozenset({CAN.LP, CAN.MILP})

    def __init__(self, gap, *, licence):
        self.gap, self.licence = gap, licence

    def run(self, program, options):
        rows = (
            LinearConstraint(program.A, program.row_lower, program.row_upper)
            if program.n_rows
            else None
        )
        answer = milp(
            program.c,
            integrality=program.integrality,
            bounds=Bounds(program.col_lower, program.col_upper),
            constraints=rows,
            options={"mip_rel_gap": self.gap},
        )
        status = {0: "OPTIMAL", 2: "INFEASIBLE", 3: "UNBOUNDED"}.get(answer.status, "UNKNOWN")
        return fairlp.Raw(fairlp.Termination[status], answer.message, answer.x)


def liar(lie, name="liar"):
    """A back end that is `Dual` with one lie about its answers."""

    class Liar(Dual):
        def run(self, program, options):
            return lie(super().run(program, options))

    Liar.name = name
    return Liar


LIES = {
    "too much": lambda raw: replace(raw, x=raw.x * 1.01),
    "too little": lambda raw: replace(raw, x=raw.x * 0.5),
    "no price": lambda raw: replace(raw, row_duals=0 * raw.row_duals),
    "other sign": lambda raw: replace(raw, row_duals=-raw.row_duals),
}


def without_duals(lie, name="mute"):
    """A back end that is `Dual`, gives no duals, and does something to every point: nothing proves its answers."""

    class Mute(Dual):
        capabilities = frozenset({CAN.LP})

        def run(self, program, options):
            raw = super().run(program, options)
            return replace(raw, x=None if raw.x is None else lie(raw.x), row_duals=None)

    Mute.name = name
    return Mute


class Halves(without_duals(lambda x: x / 2, "halves")):
    """Half of every point, without duals."""


class Truthful(without_duals(lambda x: x, "truthful")):
    """The points as they are, without duals."""


class Nothing(liar(lambda raw: replace(raw, x=0 * raw.x), "nothing")):
    """Zeros, with the right duals."""


class MuteNothing(without_duals(lambda x: 0 * x, "mute-nothing")):
    """Zeros, without duals."""
