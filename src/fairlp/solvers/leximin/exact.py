"""The leximin in rationals: round by round, each linear program proved exactly optimal from its basis.

A second opinion on any max-min allocation, whatever made it: HiGHS only proposes bases, and no float decides anything.
Levels that a round settles enter the next one as the rationals that they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ...errors import SolverError
from ...models.instances.instance import Instance
from ...models.instances.merging import merge_servers
from ...models.notation.model import Model
from ...models.programs.certificate import Basis, Proof, ProofRound, ProvedLevel, Verdict
from ...models.programs.exact_certificate import BASIC, LOWER, ExactCertificate, optimal_from
from ...models.programs.program import Program
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
    block, t = program.leximin()
    users = (np.arange(len(block)) if block.positions is None else block.positions).tolist()
    rounds = ExactRounds(program, range(block.start, block.stop), t)
    if rates is not None and kept is not None:
        rounds.along_tree(users, rates, kept, count)
    verdict = rounds.run()
    reached = dict(zip(users, zip(rounds.rows, verdict.levels, strict=True), strict=True))
    proved = tuple(ProvedLevel(str(user), *reached.get(n, (None, None))) for n, user in enumerate(instance.users))
    verdict = replace(verdict, levels=tuple(one.level for one in proved))
    if isinstance(verdict.proof, Proof):
        merged = len(instance.servers) - len(small.servers)
        notes = (f"identical servers are one: {merged} of {len(instance.servers)} are merged",) if merged else ()
        verdict = replace(verdict, proof=replace(verdict.proof, levels=proved, notes=notes))
    if not verdict.proved:
        return verdict, np.zeros((len(instance.users), len(instance.servers)))
    tasks = model.evaluate("tasks", np.array(rounds.x, dtype=float)).reshape(len(small.users), -1)
    return verdict, tasks[:, servers.of] * servers.factor


class ExactRounds:
    """The rounds of a program in rationals: rows that are blocked have floors, those of the others rise with t.

    ``has`` is what the row of each has, ``base`` what its rate is added to, and ``zero`` what a level counts from.

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
        column = program.A[:, [t]].toarray()[self.rows, 0]
        self.rates: ExactRates | None = None
        self.first = {k: -Fraction(value) for k, value in enumerate(column.tolist())}
        self.zero = self.base = [Fraction(value) for value in program.row_lower[self.rows].tolist()]
        self.has, self.kept = list(self.zero), self.zero
        self.active = set(range(len(self.rows)))
        self.lower: list[Fraction | None] = [None] * program.n_rows
        self.entries: dict[tuple[int, int], Fraction] = {}
        self.x: list[Fraction] = [Fraction(0)] * program.n_columns
        self.last: Basis | None = None

    def along_tree(self, users: list[int], rates: ExactRates, kept: np.ndarray, count: str) -> None:
        """Let rates be those of the users who are active, and begin with guarantees."""

        def of_rows(active: Set[int]) -> dict[int, Fraction]:
            rate = rates({users[k] for k in active})
            return {k: rate[users[k]] for k in active}

        self.rates = of_rows
        way = 1 - Fraction(ROUNDING)  # guarantees in tasks are rounded, and the last digit may not fit
        self.kept = [Fraction(value) for value in kept[users].tolist()]
        self.zero, self.has = [Fraction(0)] * len(users), [value * way for value in self.kept]
        self.base = list(self.has) if count == "borrowed" else self.zero
        self.first = self.rates(self.active)
        for block in self.program.rows:
            if block.name == "guarantee":  # the rows of levels keep them
                self.lower[block.slice] = [Fraction(0)] * len(block)

    def run(self) -> Verdict:
        """Run rounds until everybody is blocked, or one cannot be proved."""
        done: list[ProofRound] = []
        levels: list[Fraction | None] = [None] * len(self.rows)
        while self.active:
            count = len(done) + 1
            proof = self.highest()
            if not proof.proved:
                return Verdict(False, f"round {count}: {proof.message}", levels=tuple(levels))
            self.last, self.x = proof.basis, proof.x
            blocked = {k for k in self.active if proof.row_duals[self.rows[k]] != 0}
            wrong, stuck = self.stuck(self.active - blocked)
            stopped = sorted(blocked | stuck)
            if wrong or not stopped:
                return Verdict(False, f"round {count}{wrong or ': nobody is blocked'}", levels=tuple(levels))
            for k in stopped:
                levels[k] = (self.has[k] - self.zero[k]) / self.first[k]
            self.active.difference_update(stopped)
            floors = [(self.rows[k], self.has[k]) for k in stopped]
            done.append(ProofRound(proof.basis, proof.x, proof.row_duals, floors))
        return Verdict(
            True, f"in rationals, {len(done)} rounds", levels=tuple(levels), proof=self.written(done, levels)
        )

    def highest(self) -> ExactCertificate:
        """Raise t as far as it goes, and give everybody what it has there."""
        rising, rate = set(self.active), self.first if self.rates is None else self.rates(self.active)
        while True:
            for k, has in enumerate(self.has):
                self.put(k, *((self.base[k], rate[k]) if k in rising else (has, Fraction(0))))
            proof = self.solve(self.program.c)
            if not proof.proved:
                return proof
            at = {k: self.base[k] + rate[k] * proof.x[self.t] for k in rising}
            with_more = {k for k in rising if self.rates is not None and at[k] < self.has[k]}
            if not with_more:
                break
            rising -= with_more
        for k in rising:
            self.has[k] = at[k]
        return proof

    def stuck(self, candidates: set[int]) -> tuple[str, set[int]]:
        """Return what could not be proved, and the candidates that cannot be raised while nobody falls.

        With constant rates a later round finds them; else they would change the rates of the others.
        """
        if self.rates is None:
            return "", set()
        for k, has in enumerate(self.has):
            self.put(k, has, Fraction(0))
        waiting, by_row = set(candidates), self.program.A.tocsr()
        while waiting:
            cost = np.asarray(by_row[[self.rows[k] for k in waiting]].sum(axis=0)).ravel()
            cost[self.t] = 0.0
            proof = self.solve(cost)
            if not proof.proved:
                return f", who is stuck: {proof.message}", set()
            raised = set()
            for k in waiting:
                row = by_row[[self.rows[k]]]
                terms = zip(row.indices.tolist(), row.data.tolist(), strict=True)
                tasks = sum((Fraction(value) * proof.x[j] for j, value in terms if j != self.t), Fraction(0))
                # back to what is guaranteed, from which everybody was lowered by a rounding, is no raise
                if tasks > max(self.has[k], self.kept[k]):
                    raised.add(k)
            if not raised:
                break
            waiting -= raised
        return "", waiting

    def written(self, done: list[ProofRound], levels: list[Fraction | None]) -> Proof | str:
        """Return the proof that others can check, or why there is none."""
        if self.rates is not None:
            return NO_PROOF_ALONG_A_TREE
        names = self.program.row_names
        proved = tuple(ProvedLevel(names[i], i, level) for i, level in zip(self.rows, levels, strict=True))
        return Proof(self.program, tuple(done), self.t, proved)

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
