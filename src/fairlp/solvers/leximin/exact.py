"""The leximin in rationals: round by round, each linear program proved exactly optimal from its basis.

A second opinion on any max-min allocation, whatever made it: HiGHS only proposes bases. Levels that a round settles
enter the next one as the rationals that they are.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from ...models.instances.instance import Instance
from ...models.instances.merging import merge_servers
from ...models.notation.model import Model
from ...models.programs.certificate import Verdict
from ...models.programs.exact_simplex import optimal_from


def exact_levels(instance: Instance, formulation: Callable[[Instance], Model]) -> Verdict:
    """Return the exact levels of a max-min formulation's leximin, or what could not be proved.

    A round maximises t; whoever has a positive exact dual on its fairness row is blocked in every optimum and keeps its
    level. What is proved is the program with its coefficients as floats. One LP a level, O(k³) exact work each.

    Parameters
    ----------
    instance : Instance
    formulation : callable
        Instance → Model, as for the leximin.
    """
    small, _ = merge_servers(instance)
    model = formulation(small)
    program = model.compile()
    fairness = program.row_block("fairness")
    positions = np.arange(len(fairness)) if fairness.positions is None else fairness.positions
    who = [int(n) for n in positions]
    rows = list(range(fairness.start, fairness.start + len(who)))
    column = program.column_block("t").start
    A = program.A.tolil(copy=True)
    due = [-Fraction(float(A[i, column])) for i in rows]
    levels: list[Fraction | None] = [None] * len(instance.users)
    lower: list[Fraction | None] = [None] * program.n_rows
    active = set(range(len(rows)))
    count = 0
    while active:
        count += 1
        floors = program.row_lower.copy()
        for i, bound in enumerate(lower):
            if bound is not None:
                floors[i] = float(bound)
        current = program.replace(A=sp.csc_array(A), row_lower=floors)
        solution = current.solve("highs", method="simplex")
        if solution.basis is None:
            return Verdict(False, f"round {count}: the solver kept no basis ({solution.status})")
        basis = solution.basis
        statuses = [int(s) for s in basis.col_status], [int(s) for s in basis.row_status]
        proof, _ = optimal_from(current, *statuses, lower)
        if not proof.proved:
            return Verdict(False, f"round {count}: {proof.message}", levels=tuple(levels))
        level = proof.x[column]
        blocked = [k for k in active if proof.row_duals[rows[k]] != 0]
        if not blocked:
            return Verdict(False, f"round {count}: nobody is blocked", levels=tuple(levels))
        for k in blocked:
            levels[who[k]] = level
            lower[rows[k]] = level * due[k]
            A[rows[k], column] = 0.0
            active.discard(k)
    return Verdict(True, f"in rationals, {count} rounds", levels=tuple(levels))
