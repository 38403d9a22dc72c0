"""The leximin in rationals: round by round, each linear program proved exactly optimal from its basis.

A second opinion on any max-min allocation, whatever made it: HiGHS only proposes bases, and no float decides anything.
Levels that a round settles enter the next one as the rationals that they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ...errors import SolverError
from ...models.instances.instance import Instance
from ...models.instances.merging import merge_servers
from ...models.notation.model import Model
from ...models.programs.certificate import Verdict
from ...models.programs.exact_certificate import BASIC, LOWER, ExactCertificate
from ...models.programs.exact_simplex import optimal_from
from ...models.programs.program import Program
from ...models.programs.proof import Basis, Proof, ProofRound, ProvedLevel
from ...models.trees.rates import ExactRates
from ...tolerances import ROUNDING

#: Why rounds along a tree are not written.
NO_PROOF_ALONG_A_TREE = (
    "with queues (a tree, guarantees or caps) the rounds are no sequence of programs of which each follows from the "
    "duals of the last: rates change whenever somebody stops, who rises is found by trying, and who is stuck by "
    "programs of other objectives. Max-min mechanisms on instances without queues write theirs"
)


def exact_leximin(
    instance: Instance,
    formulation: Callable[[Instance], Model],
    rates: ExactRates | None = None,
    kept: np.ndarray | None = None,
    count: str = "total",
) -> tuple[Verdict, np.ndarray]:
    """Return the verdict with the exact levels, and tasks (N×K) of a point that has them, exact but for one rounding.

    What is proved is the program with its coefficients as floats. The point may give a user more than its level asks
    for. One LP a level (a few with rates that change), O(k³) exact work each.

    Parameters
    ----------
    instance : Instance
    formulation : callable
        Instance → Model that says its levels, by user, as for the leximin; in tasks, where rates are given.
    rates : callable, optional
        Active users → tasks of each at level 1, where they depend on who is active or users begin with guarantees.
        Levels are then tasks over the first rates.
    kept : ndarray, shape (N,), optional
        Guaranteed tasks, with rates.
    count : {"total", "borrowed"}
        Whether the level counts what is guaranteed.
    """
    small, servers = merge_servers(instance)
    model = formulation(small)
    program = model.compile()
    fairness, t = program.leximin()
    who = np.arange(len(fairness)) if fairness.positions is None else fairness.positions
    places = range(fairness.start, fairness.stop)
    if rates is None or kept is None:
        rounds = ExactRounds(program, places, t)
    else:
        rounds = ExactTreeRounds(program, places, t, who, rates, kept, count)
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
    point = np.array([float(value) for value in rounds.x])
    tasks = model.evaluate("tasks", point).reshape(len(small.users), -1)
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

    def __init__(self, program: Program, rows: Sequence[int] | np.ndarray, t: int) -> None:
        self.program, self.rows, self.t = program, [int(row) for row in rows], t
        column = program.A[:, [t]].toarray()[self.rows, 0]
        self.rate = {k: -Fraction(value) for k, value in enumerate(column.tolist())}
        self.base = [Fraction(float(program.row_lower[i])) for i in self.rows]
        self.levels: list[Fraction | None] = [None] * len(self.rows)
        self.lower: list[Fraction | None] = [None] * program.n_rows
        self.entries: dict[tuple[int, int], Fraction] = {}
        self.active = set(range(len(self.rows)))
        self.x: list[Fraction] = [Fraction(0)] * program.n_columns
        self.last: Basis | None = None

    def run(self) -> Verdict:
        """Run rounds until everybody is blocked, or one cannot be proved."""
        done: list[ProofRound] = []
        while self.active:
            count = len(done) + 1
            proof = self.highest()
            if not proof.proved:
                return Verdict(False, f"round {count}: {proof.message}", levels=tuple(self.levels))
            self.last, self.x = proof.basis, proof.x
            blocked = {k for k in self.active if proof.row_duals[self.rows[k]] != 0}
            why, stuck = self.stuck(self.active - blocked)
            if why or not blocked | stuck:
                return Verdict(False, f"round {count}{why or ': nobody is blocked'}", levels=tuple(self.levels))
            self.active -= blocked | stuck
            floors = self.stop(sorted(blocked | stuck), proof)
            done.append(ProofRound(proof.basis, proof.x, proof.row_duals, floors))
        message = f"in rationals, {len(done)} rounds"
        return Verdict(True, message, levels=tuple(self.levels), proof=self.written(done))

    def highest(self) -> ExactCertificate:
        """Return the proof of the program that raises t as far as it goes."""
        return self.solve(self.program.c)

    def stuck(self, candidates: set[int]) -> tuple[str, set[int]]:
        """Return what could not be proved, and who cannot be raised though it has no price: found in later rounds."""
        return "", set()

    def stop(self, blocked: list[int], proof: ExactCertificate) -> list[tuple[int, Fraction]]:
        """Let rows keep their level from now on; return each row and its lower bound."""
        floors = []
        for k in blocked:
            level = self.levels[k] = proof.x[self.t]
            floors.append((self.rows[k], self.base[k] + level * self.rate[k]))
            self.put(k, floors[-1][1], Fraction(0))
        return floors

    def written(self, done: list[ProofRound]) -> Proof | str:
        """Return the proof that others can check."""
        names = self.program.row_names
        levels = [ProvedLevel(names[i], i, level) for i, level in zip(self.rows, self.levels, strict=True)]
        return Proof(self.program, tuple(done), self.t, tuple(levels))

    def put(self, k: int, floor: Fraction, rate: Fraction) -> None:
        """Make a row ≥ floor + rate·t."""
        self.lower[self.rows[k]] = floor
        self.entries[self.rows[k], self.t] = -rate

    def solve(self, cost: np.ndarray) -> ExactCertificate:
        """Return the proof of what is put into the program, from the first basis that leads to one."""
        A, floors = self.program.A.tocsc(copy=True), self.program.row_lower.copy()
        for k in range(A.indptr[self.t], A.indptr[self.t + 1]):
            A.data[k] = float(self.entries.get((int(A.indices[k]), self.t), A.data[k]))
        for i, bound in enumerate(self.lower):
            floors[i] = floors[i] if bound is None else float(bound)
        program = self.program.replace(A=A, row_lower=floors, c=cost)
        proof = ExactCertificate(False, "no basis to begin with")
        for columns, rows in bases(program, self.last):
            proof, _ = optimal_from(program, columns, rows, self.lower, self.entries)
            if proof.proved:
                break
        return proof


class ExactTreeRounds(ExactRounds):
    """Rounds in rationals at rates that depend on who is active, from guarantees on.

    Those who cannot be raised are found by a program of their own, since they would change the rates of the others.
    ``has`` is what everybody has.
    """

    def __init__(
        self,
        program: Program,
        rows: Sequence[int],
        t: int,
        users: np.ndarray,
        rates: ExactRates,
        kept: np.ndarray,
        count: str,
    ) -> None:
        super().__init__(program, rows, t)
        self.users, self.rates, self.by_row = users.tolist(), rates, program.A.tocsr()
        way = 1 - Fraction(ROUNDING)  # guarantees in tasks are rounded, and the last digit may not fit
        self.kept = [Fraction(value) for value in kept[users].tolist()]
        self.has = [value * way for value in self.kept]
        self.base = list(self.has) if count == "borrowed" else [Fraction(0)] * len(self.has)
        self.first = self._rates_of(self.active)
        if any(block.name == "guarantee" for block in program.rows):  # the rows ``fairness`` keep them
            for i in range(program.n_rows)[program.row_block("guarantee").slice]:
                self.lower[i] = Fraction(0)

    def highest(self) -> ExactCertificate:
        """Raise t as far as it goes, and give everybody what it has there."""
        rising, rate = set(self.active), self._rates_of(self.active)
        while True:
            for k, has in enumerate(self.has):
                self.put(k, *((self.base[k], rate[k]) if k in rising else (has, Fraction(0))))
            proof = self.solve(self.program.c)
            if not proof.proved:
                return proof
            at = {k: self.base[k] + rate[k] * proof.x[self.t] for k in rising}
            with_more = {k for k in rising if at[k] < self.has[k]}
            if not with_more:
                break
            rising -= with_more
        for k in rising:
            self.has[k] = at[k]
        return proof

    def stuck(self, candidates: set[int]) -> tuple[str, set[int]]:
        """Return the candidates that cannot be raised while nobody falls below what it has."""
        for k, has in enumerate(self.has):
            self.put(k, has, Fraction(0))
        waiting = set(candidates)
        while waiting:
            cost = np.asarray(self.by_row[[self.rows[k] for k in waiting]].sum(axis=0)).ravel()
            cost[self.t] = 0.0
            proof = self.solve(cost)
            if not proof.proved:
                return f", who is stuck: {proof.message}", set()
            # back to what is guaranteed, from which everybody was lowered by a rounding, is no raise
            raised = {k for k in waiting if self._activity(k, proof.x) > max(self.has[k], self.kept[k])}
            if not raised:
                break
            waiting -= raised
        return "", waiting

    def stop(self, blocked: list[int], proof: ExactCertificate) -> list[tuple[int, Fraction]]:
        """Put down the levels of those who stop: tasks over the first rates."""
        for k in blocked:
            self.levels[k] = self.has[k] / self.first[k]
        return []

    def written(self, done: list[ProofRound]) -> Proof | str:
        """Return why these rounds cannot be written."""
        return NO_PROOF_ALONG_A_TREE

    def _rates_of(self, active: set[int]) -> dict[int, Fraction]:
        """Return the rates of active rows."""
        rate = self.rates({self.users[k] for k in active})
        return {k: rate[self.users[k]] for k in active}

    def _activity(self, k: int, x: list[Fraction]) -> Fraction:
        """Return what a row's user has at a point."""
        entries = self.by_row[[self.rows[k]]]
        pairs = zip(entries.indices.tolist(), entries.data.tolist(), strict=True)
        return sum((Fraction(value) * x[j] for j, value in pairs if j != self.t), Fraction(0))


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
