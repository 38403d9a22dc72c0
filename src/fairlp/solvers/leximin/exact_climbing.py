"""Rounds along a tree in rationals: rates, levels and who is blocked, each program proved exactly optimal.

A second opinion on :mod:`.climbing`, with which it shares the Program and nothing else: no float decides anything, no
stretch is skipped, and whoever cannot be raised is found by a program of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from ...models.instances.instance import Instance
from ...models.instances.merging import merge_servers
from ...models.notation.model import Model
from ...models.programs.certificate import Verdict
from ...models.programs.exact_certificate import ExactCertificate
from ...models.programs.exact_simplex import optimal_from
from ...models.programs.program import Program
from ...models.trees.exact import ExactRates
from ...tolerances import ROUNDING
from .exact import bases

#: Why rounds along a tree are not written.
NO_PROOF_OF_A_CLIMB = (
    "with queues (a tree, guarantees or caps) the rounds are no sequence of programs of which each follows from the "
    "duals of the last: rates change whenever somebody stops, who rises is found by trying, and who is stuck by "
    "programs of other objectives. Max-min mechanisms on instances without queues write theirs"
)


def exact_climb(
    instance: Instance, formulation: Callable[[Instance], Model], rates: ExactRates, kept: np.ndarray, base: np.ndarray
) -> tuple[Verdict, np.ndarray]:
    """Return the verdict with the exact levels (tasks over the first rates), and tasks (N×K) of a point that has them.

    Parameters
    ----------
    instance : Instance
    formulation : callable
        Instance → Model in tasks that says its levels, by user.
    rates : callable
        Active users → tasks of each at level 1.
    kept, base : ndarray, shape (N,)
        What everybody has from the beginning, and what counts from there.
    """
    small, servers = merge_servers(instance)
    model = formulation(small)
    program = model.compile()
    fairness, t = program.leximin()
    who = range(len(fairness)) if fairness.positions is None else [int(n) for n in fairness.positions]
    row = {n: fairness.start + k for k, n in enumerate(who)}
    climb = ExactClimb(program, row, t, rates, kept, base)
    levels: list[Fraction | None] = [None] * len(instance.users)
    nothing = np.zeros((len(instance.users), len(instance.servers)))
    if not row:
        nobody = "in rationals: nobody can run anything"
        return Verdict(True, nobody, levels=tuple(levels), proof=NO_PROOF_OF_A_CLIMB), nothing
    problem = climb.run()
    if problem:
        return Verdict(False, problem, levels=tuple(levels)), nothing
    due = rates(set(row))
    for n in row:
        levels[n] = climb.has[n] / due[n]
    point = np.array([float(value) for value in climb.x])
    tasks = model.evaluate("tasks", point).reshape(len(small.users), -1)
    verdict = Verdict(True, f"in rationals, {climb.rounds} rounds", levels=tuple(levels), proof=NO_PROOF_OF_A_CLIMB)
    return verdict, tasks[:, servers.of] * servers.factor


class ExactClimb:
    """The rounds: ``has`` is what everybody has at the end, ``x`` a point of the program that gives it."""

    def __init__(
        self, program: Program, row: dict[int, int], t: int, rates: ExactRates, kept: np.ndarray, base: np.ndarray
    ) -> None:
        self.program, self.row, self.t, self.rates = program, row, t, rates
        self.by_row = program.A.tocsr()
        way = 1 - Fraction(ROUNDING)  # guarantees in tasks are rounded, and the last digit may not fit
        self.kept = {n: Fraction(float(kept[n])) for n in row}
        self.has = {n: self.kept[n] * way for n in row}
        self.base = {n: Fraction(float(base[n])) * way for n in row}
        self.lower: list[Fraction | None] = [None] * program.n_rows
        if any(block.name == "guarantee" for block in program.rows):  # the rows ``fairness`` keep them
            for i in range(program.n_rows)[program.row_block("guarantee").slice]:
                self.lower[i] = Fraction(0)
        self.entries: dict[tuple[int, int], Fraction] = {}
        self.x: list[Fraction] = []
        self.rounds = 0

    def run(self) -> str:
        """Run rounds until nobody can be raised; return what could not be proved, if anything."""
        active = set(self.row)
        while active:
            self.rounds += 1
            proof = self._highest(active, self.rates(active))
            if not proof.proved:
                return f"round {self.rounds}: {proof.message}"
            # somebody is: the prices of rows that rise pay for t, which has no upper bound
            blocked = {n for n in active if proof.row_duals[self.row[n]] != 0}
            proof, stuck = self._stuck(active - blocked)
            if not proof.proved:
                return f"round {self.rounds}, who is stuck: {proof.message}"
            active -= blocked | stuck
        return ""

    def _highest(self, active: set[int], rate: dict[int, Fraction]) -> ExactCertificate:
        """Raise t as far as it goes, and give everybody what it has there."""
        rising = set(active)
        while True:
            for n in self.row:
                rises = n in rising
                self._put(n, self.base[n] if rises else self.has[n], rate[n] if rises else Fraction(0))
            proof = self._solve(self.program.c)
            if not proof.proved:
                return proof
            level = proof.x[self.t]
            with_more = {n for n in rising if self.base[n] + rate[n] * level < self.has[n]}
            if not with_more:
                break
            rising -= with_more
        for n in rising:
            self.has[n] = self.base[n] + rate[n] * level
        self.x = proof.x
        return proof

    def _stuck(self, candidates: set[int]) -> tuple[ExactCertificate, set[int]]:
        """Return the candidates that cannot be raised while nobody falls below what it has."""
        for n in self.row:
            self._put(n, self.has[n], Fraction(0))
        waiting, proof = set(candidates), ExactCertificate(True, "nobody waits")
        while waiting:
            cost = np.zeros(self.program.n_columns)
            for n in waiting:
                entries = self.by_row[[self.row[n]]]
                cost[entries.indices] += entries.data
            cost[self.t] = 0.0
            proof = self._solve(cost)
            if not proof.proved:
                break
            # back to what is guaranteed, from which everybody was lowered by a rounding, is no raise
            raised = {n for n in waiting if self._activity(n, proof.x) > max(self.has[n], self.kept[n])}
            if not raised:
                break
            waiting -= raised
        return proof, waiting

    def _activity(self, n: int, x: list[Fraction]) -> Fraction:
        """Return what n has at a point."""
        entries = self.by_row[[self.row[n]]]
        pairs = zip(entries.indices.tolist(), entries.data.tolist(), strict=True)
        return sum((Fraction(value) * x[j] for j, value in pairs if j != self.t), Fraction(0))

    def _put(self, n: int, floor: Fraction, rate: Fraction) -> None:
        self.lower[self.row[n]] = floor
        self.entries[self.row[n], self.t] = -rate

    def _solve(self, cost: np.ndarray) -> ExactCertificate:
        """Return the proof of what is put into the program, from the first basis that leads to one."""
        A, floors = self.program.A.tocsc(copy=True), self.program.row_lower.copy()
        begin, end = A.indptr[self.t], A.indptr[self.t + 1]
        for k in range(begin, end):
            A.data[k] = float(self.entries.get((int(A.indices[k]), self.t), A.data[k]))
        for i, bound in enumerate(self.lower):
            floors[i] = floors[i] if bound is None else float(bound)
        program = self.program.replace(A=A, row_lower=floors, c=cost)
        proof = ExactCertificate(False, "no basis to begin with")
        for columns, rows in bases(program, None):
            proof, _ = optimal_from(program, columns, rows, self.lower, self.entries)
            if proof.proved:
                break
        return proof
