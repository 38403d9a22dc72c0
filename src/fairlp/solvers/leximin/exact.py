"""The leximin in rationals: round by round, each linear program proved exactly optimal from its basis.

A second opinion on any max-min allocation, whatever made it: HiGHS only proposes bases. Levels that a round settles
enter the next one as the rationals that they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from ...errors import SolverError
from ...models.instances.instance import Instance
from ...models.instances.merging import merge_servers
from ...models.notation.model import Model
from ...models.programs.certificate import Basis, Proof, ProofRound, ProvedLevel, Verdict
from ...models.programs.exact_certificate import BASIC, LOWER, ExactCertificate
from ...models.programs.exact_simplex import optimal_from
from ...models.programs.program import Program


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
    return exact_leximin(instance, formulation)[0]


def exact_leximin(instance: Instance, formulation: Callable[[Instance], Model]) -> tuple[Verdict, np.ndarray]:
    """Return the verdict with the exact levels, and tasks (N×K) of a point that has them, exact but for one rounding.

    The point may give a user more than its level asks for; see :func:`exact_levels` for the parameters.
    """
    small, servers = merge_servers(instance)
    model = formulation(small)
    program = model.compile()
    fairness, t = program.leximin()
    who = np.arange(len(fairness)) if fairness.positions is None else fairness.positions
    rounds = ExactRounds(program, range(fairness.start, fairness.stop), t)
    verdict = rounds.run()
    by_user: list[Fraction | None] = [None] * len(instance.users)
    by_row: list[int | None] = [None] * len(instance.users)
    for n, row, level in zip(who, rounds.rows, verdict.levels, strict=True):
        by_user[int(n)], by_row[int(n)] = level, row
    verdict = replace(verdict, levels=tuple(by_user))
    if isinstance(verdict.proof, Proof):
        named = zip(map(str, instance.users), by_row, by_user, strict=True)
        merged = len(instance.servers) - len(small.servers)
        notes = (f"identical servers are one: {merged} of {len(instance.servers)} are merged",) if merged else ()
        proof = replace(verdict.proof, levels=tuple(ProvedLevel(*one) for one in named), notes=notes)
        verdict = replace(verdict, proof=proof)
    if not verdict.proved:
        return verdict, np.zeros((len(instance.users), len(instance.servers)))
    tasks = model.evaluate("tasks", rounds.point).reshape(len(small.users), -1)
    return verdict, tasks[:, servers.of] * servers.factor


class ExactRounds:
    """The rounds of a program in rationals: rows that are blocked have floors, those of the others rise with t.

    Parameters
    ----------
    program : Program
        Maximises the column ``t``.
    rows : sequence of int
        Rows (what somebody has) − (what is due)·t ≥ a constant.
    t : int
    """

    def __init__(self, program: Program, rows: Iterable[int], t: int) -> None:
        self.program, self.rows, self.t = program, [int(row) for row in rows], t
        self.A = program.A.tolil(copy=True)
        self.due = [-Fraction(float(self.A[i, t])) for i in self.rows]
        self.base = [Fraction(float(program.row_lower[i])) for i in self.rows]
        self.levels: list[Fraction | None] = [None] * len(self.rows)
        self.lower: list[Fraction | None] = [None] * program.n_rows
        self.x: list[Fraction] = [Fraction(0)] * program.n_columns

    @property
    def point(self) -> np.ndarray:
        """A point that has the levels, rounded once."""
        return np.array([float(value) for value in self.x])

    def run(self) -> Verdict:
        """Run rounds until everybody is blocked, or one cannot be proved."""
        active = set(range(len(self.rows)))
        done: list[ProofRound] = []
        last = None
        while active:
            count = len(done) + 1
            proof = self._solve(last)
            if not proof.proved:
                return Verdict(False, f"round {count}: {proof.message}", levels=tuple(self.levels))
            last, self.x = proof.basis, proof.x
            blocked = [k for k in sorted(active) if proof.row_duals[self.rows[k]] != 0]
            if not blocked:
                return Verdict(False, f"round {count}: nobody is blocked", levels=tuple(self.levels))
            for k in blocked:
                level = proof.x[self.t]
                self.levels[k] = level
                self.lower[self.rows[k]] = self.base[k] + level * self.due[k]
                self.A[self.rows[k], self.t] = 0.0
                active.discard(k)
            done.append(ProofRound(proof.basis, proof.x, proof.row_duals, [self._floor(k) for k in blocked]))
        names = self.program.row_names
        levels = [ProvedLevel(names[i], i, level) for i, level in zip(self.rows, self.levels, strict=True)]
        proof_of_all = Proof(self.program, tuple(done), self.t, tuple(levels))
        return Verdict(True, f"in rationals, {len(done)} rounds", levels=tuple(self.levels), proof=proof_of_all)

    def _floor(self, k: int) -> tuple[int, Fraction]:
        """Return the row of somebody who is blocked, and its lower bound from then on."""
        floor = self.lower[self.rows[k]]
        assert floor is not None
        return self.rows[k], floor

    def _solve(self, last: Basis | None) -> ExactCertificate:
        """Return the proof of this round's program, from the first basis that leads to one."""
        floors = self.program.row_lower.copy()
        for i, bound in enumerate(self.lower):
            if bound is not None:
                floors[i] = float(bound)
        program = self.program.replace(A=sp.csc_array(self.A), row_lower=floors)
        proof = ExactCertificate(False, "no basis to begin with")
        for columns, rows in bases(program, last):
            proof, _ = optimal_from(program, columns, rows, self.lower)
            if proof.proved:
                break
        return proof


def bases(program: Program, last: Basis | None) -> Iterator[Basis]:
    """Yield bases to begin with: what a solver proposes, the last round's, and nothing at all."""
    try:
        found = program.solve("highs", method="simplex").basis
    except SolverError:
        found = None
    if found is not None:
        yield [int(status) for status in found.col_status], [int(status) for status in found.row_status]
    if last is not None:
        yield last
    yield [LOWER] * program.n_columns, [BASIC] * program.n_rows
