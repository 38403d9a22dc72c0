"""The leximin in rationals: every linear program is proved optimal exactly, from its basis.

A second opinion on any max-min allocation, whatever made it: HiGHS only proposes bases, and no
float decides anything. Levels that a round settles enter the next one as the rationals that they
are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from numbers import Rational

import numpy as np

from ...errors import ModelError, NoProgressError, SolverError, counted
from ...formulations.region import gain
from ...models.instances.arithmetic import quotients
from ...models.instances.instance import Instance
from ...models.instances.merging import Groups, merge_servers
from ...models.instances.rationals import rational
from ...models.notation.model import Model
from ...models.paths.engine import PathEnd, Reached, Region, Stop, rise
from ...models.paths.path import ConstantPath, Path
from ...models.programs.exact_certificate import BASIC, LOWER, BasisProof, optimal_from
from ...models.programs.program import Program
from ...models.programs.proof import Basis, ExactProof, Proof, ProofRound, ProvedLevel
from ...models.trees.guarantees import floors
from ...models.trees.tree_path import FirstPath
from ...tolerances import ROUNDING
from .leximin import RiseOptions, without_rows

__all__ = ["bases"]
#: Why rounds along a tree are not written.
NO_PROOF_ALONG_A_TREE = (
    "with queues (a tree, guarantees or caps), or where the past counts, the rounds are no sequence of "
    "programs of which each follows from the "
    "duals of the last: rates change whenever a user stops, who rises is found by trying, and "
    "who is stuck by "
    "programs of other objectives. Max-min mechanisms on instances without queues write theirs"
)


def exact_leximin(
    instance: Instance,
    formulation: Callable[[Instance], Model],
    first: FirstPath | None = None,
) -> tuple[Proof, np.ndarray]:
    """Return the verdict with the exact levels, and tasks (N×K) that reach them.

    The tasks are exact but for one rounding.

    What is proved is the program with its coefficients as floats. The point may give a user more
    than its level asks for. One LP a level (a few with rates that change), O(k³) exact work each.

    Parameters
    ----------
    instance : Instance
    formulation : callable
        Instance → Model that says its levels, by user, as for the leximin; in tasks, where a path
        is given.
    first : callable, optional
        (guaranteed tasks, task limits, who can run) → the path in rationals, where rates depend on
        who is active or users begin with guarantees. Levels are then tasks over those at level 1.
    """
    small, servers = merge_servers(instance)
    model = formulation(small)
    users, region = _region_of(model)
    if first is not None:
        can_run = np.isin(np.arange(len(instance.users)), users)
        guaranteed = rational(floors(instance))
        # Guarantees in tasks are rounded, and the last digit may not fit.
        lowered = guaranteed * (1 - Fraction(ROUNDING))
        path = first(lowered, rational(instance.task_limits), can_run)
        region.along(users, path, guaranteed)
    verdict = region.run()
    reached = dict(zip(users, zip(region.rows, verdict.levels, strict=True), strict=True))
    proved = tuple(
        ProvedLevel(str(user), *reached.get(n, (None, None)))
        for n, user in enumerate(instance.users)
    )
    verdict = replace(verdict, levels=tuple(level.level for level in proved))
    if isinstance(verdict.exact, ExactProof):
        merged = len(instance.servers) - len(small.servers)
        notes = (
            (f"identical servers are one: {merged} of {len(instance.servers)} are merged",)
            if merged
            else ()
        )
        verdict = replace(verdict, exact=replace(verdict.exact, levels=proved, notes=notes))
    if not verdict.holds:
        return verdict, np.zeros(instance.shape)
    return verdict, _tasks_at(model, region, servers)


def rise_in_rationals(
    instance: Instance,
    formulation: Callable[[Instance], Model],
    path: Path,
    round_ends: list[Reached],
) -> tuple[PathEnd, np.ndarray]:
    """Return the end of a path in rationals, and tasks (N×K) that reach it but for one rounding.

    Raises
    ------
    ModelError
        Where the path gives floats.
    SolverError
        Where no basis proves a program.
    """
    if not path.active.any() and not path.tasks.any():
        return PathEnd(path, []), np.zeros(instance.shape)
    small, servers = merge_servers(instance)
    model = without_rows(formulation, RiseOptions().without, small)
    users, region = _region_of(model)
    region.along(users, path, path.tasks)
    verdict = region.run(round_ends)
    if region.end is None:
        raise SolverError(f"not proved in rationals: {verdict.message}")
    totals = region.end.path.tasks.astype(float)
    tasks = _tasks_at(model, region, servers)
    # The point may give a user more than it asks for.
    return region.end, tasks * quotients(totals, tasks.sum(axis=1))[:, None]


def gain_in_rationals(instance: Instance, tasks: np.ndarray, blocked: np.ndarray) -> Fraction | str:
    """Return what blocked users can gain together, in dominant shares, or why it is not proved."""
    program = gain(instance, tasks.astype(float), blocked).compile()
    lower: list[Fraction | None] = [None] * program.n_rows
    for block in program.rows:
        if block.name == "kept":
            lower[block.slice] = tasks[block.flat].tolist()
    proof = _proved(program, None, lower, {})
    return proof.message if proof.objective is None or not proof.holds else proof.objective


def _region_of(model: Model) -> tuple[list[int], ServersInRationals]:
    """Return the positions of the users with levels, and the region of a model."""
    program = model.compile()
    block, t = program.leximin()
    users = block.flat.tolist()
    return users, ServersInRationals(program, range(block.start, block.stop), t)


def _tasks_at(model: Model, region: ServersInRationals, servers: Groups) -> np.ndarray:
    """Return the tasks of the last point, on the servers before they were merged."""
    tasks = model.evaluate("tasks", np.array(region.x, dtype=float))
    return servers.spread(tasks.reshape(-1, len(servers)))


class RoundNotProvedError(Exception):
    """No basis leads to a proof of a program, or a round blocks nobody; the message says which."""


class ServersInRationals(Region):
    """The servers of a program in rationals: each linear program is proved optimal from its basis.

    Parameters
    ----------
    program : Program
        Maximises the column ``t``.
    rows : sequence of int
        Rows (what a user has) − (what is due)·t ≥ a constant.
    t : int
    entries : mapping, optional
        (row, column) → exact entry of the matrix, where it is not the program's float.
    """

    def __init__(
        self,
        program: Program,
        rows: Iterable[int],
        t: int,
        entries: Mapping[tuple[int, int], Fraction] | None = None,
    ) -> None:
        self.program = program
        self.written_entries = dict(entries or {})
        self.rows = [int(row) for row in rows]
        self.t = t
        self.users = list(range(len(self.rows)))
        self.tree = False
        column = program.A[:, [t]].toarray()[self.rows, 0]
        due = rational(-column)
        lower_bounds = rational(program.row_lower[self.rows])
        everyone = np.ones(len(self.rows), dtype=bool)
        never = np.full(len(self.rows), np.inf)
        # Levels may be below what they count from.
        self.path: Path = ConstantPath(-never, never, everyone, due, lower_bounds)
        self.zero = lower_bounds
        self.level_1 = due
        self.guaranteed = lower_bounds
        self.lower: list[Fraction | None] = [None] * program.n_rows
        self.entries = dict(self.written_entries)
        self.x: list[Fraction] = [Fraction(0)] * program.n_columns
        self.last: Basis | None = None
        self.rounds: list[ProofRound] = []
        self.levels: list[Fraction | None] = [None] * len(self.rows)
        self.end: PathEnd | None = None

    def along(self, users: list[int], first: Path, guaranteed: np.ndarray) -> None:
        """Take the path of all users; ``users`` are those of the rows.

        A user who is raised to what it is ``guaranteed``, from which rounding may have lowered it, is not raised.
        """
        self.path = first
        self.guaranteed = guaranteed
        self.zero = guaranteed * 0
        self.level_1 = first.level_1
        self.users = users
        self.tree = True
        for block in self.program.rows:
            if block.name == "guarantee":  # the rows of levels keep them
                self.lower[block.slice] = [Fraction(0)] * len(block)

    def run(self, round_ends: list[Reached] | None = None) -> Proof:
        """Run rounds until every user is blocked, or one cannot be proved.

        ``round_ends`` is given the end of each round.
        """
        self._note_levels(self.path.tasks, ~self.path.active)
        try:
            self.end = rise(self.path, self, round_ends)
        except RoundNotProvedError as error:
            message = f"round {len(self.rounds) + 1}{error}"
            return Proof(False, message, levels=tuple(self.levels))
        except NoProgressError:
            message = f"round {len(self.rounds)}: no user is blocked"
            return Proof(False, message, levels=tuple(self.levels))
        if self.tree and not self.rounds:  # all users have what they begin with
            self.put(self.path.tasks, self.path.tasks * 0)
            self.x = self.solve(self.program.c * 0).x or self.x
        message = f"in rationals, {counted(len(self.rounds), 'round')}"
        return Proof(True, message, levels=tuple(self.levels), exact=self.written())

    def stop(self, path: Path) -> Stop:
        """Return how far a proved program raises t, and who is blocked: by a price, or stuck."""
        proof, t = self.highest(path)
        satisfied = path.satisfied_at(t)
        tasks = path.tasks_at(t)
        stops = satisfied.copy()
        if t == proof.x[self.t]:
            priced = [n for k, n in enumerate(self.users) if proof.row_duals[self.rows[k]] != 0]
            stops[priced] |= path.active[priced]
        stops |= self.stuck(tasks, path.active & ~stops)

        self.last = proof.basis
        self.x = proof.x
        floors = [(row, tasks[n]) for row, n in zip(self.rows, self.users, strict=True) if stops[n]]
        self.rounds.append(ProofRound(proof.basis, proof.x, proof.row_duals, floors))
        self._note_levels(tasks, stops)
        return Stop([path], t, stops & ~satisfied)

    def _note_levels(self, tasks: np.ndarray, stops: np.ndarray) -> None:
        """Note the levels of users who stop with these tasks."""
        for k, n in enumerate(self.users):
            if stops[n]:
                self.levels[k] = (tasks[n] - self.zero[n]) / self.level_1[n]

    def highest(self, path: Path) -> tuple[BasisProof, Fraction]:
        """Return the proof of the program that raises t most, and that t on the path's piece."""
        rising = path.active
        while True:
            rate = np.where(rising, path.rate, 0)
            floors = np.where(rising, path.base, path.tasks)
            self.put(_of_fractions(path, floors), _of_fractions(path, rate))
            proof = self.solve(self.program.c)
            if not proof.holds:
                raise RoundNotProvedError(f": {proof.message}")
            t = min(proof.x[self.t], path.end)
            with_more = rising & (path.asked_at(t) < path.tasks) & self.tree
            if not with_more.any():
                return proof, t
            rising = rising & ~with_more

    def stuck(self, floors: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        """Return the candidates that cannot rise while no user falls.

        With constant rates a later round finds them; else they would change the rates of the
        others.
        """
        waiting = candidates & self.tree
        by_row = self.program.A.tocsr()
        if waiting.any():
            self.put(floors, floors * 0)
        while waiting.any():
            rows = [(n, by_row[[self.rows[k]]]) for k, n in enumerate(self.users) if waiting[n]]
            cost = sum(row for _, row in rows).toarray().ravel()
            cost[self.t] = 0.0
            proof = self.solve(cost)
            if not proof.holds:
                raise RoundNotProvedError(f", who is stuck: {proof.message}")
            raised = np.zeros(len(floors), dtype=bool)
            for n, row in rows:
                terms = zip(row.indices.tolist(), row.data.tolist(), strict=True)
                tasks = sum(
                    (Fraction(value) * proof.x[j] for j, value in terms if j != self.t), Fraction(0)
                )
                # back to what is guaranteed, from which every user was lowered by a rounding, is no
                # raise
                raised[n] = tasks > max(floors[n], self.guaranteed[n])
            if not raised.any():
                break
            waiting = waiting & ~raised
        return waiting

    def written(self) -> ExactProof | str:
        """Return the proof that others can check, or why there is none."""
        if self.tree:
            return NO_PROOF_ALONG_A_TREE
        names = self.program.row_names
        proved = tuple(
            ProvedLevel(names[i], i, level) for i, level in zip(self.rows, self.levels, strict=True)
        )
        rounds = tuple(self.rounds)
        return ExactProof(self.program, rounds, self.t, proved, entries=self.written_entries)

    def put(self, floor: np.ndarray, rate: np.ndarray) -> None:
        """Make the rows ≥ floor + rate·t."""
        for row, n in zip(self.rows, self.users, strict=True):
            self.lower[row] = Fraction(floor[n])
            self.entries[row, self.t] = Fraction(-rate[n])

    def solve(self, cost: np.ndarray) -> BasisProof:
        """Return the proof of the loaded program from the first basis that leads to one."""
        A = self.program.A.tocsc(copy=True)
        floors = self.program.row_lower.copy()
        for k in range(A.indptr[self.t], A.indptr[self.t + 1]):
            A.data[k] = float(self.entries.get((int(A.indices[k]), self.t), A.data[k]))
        for i, bound in enumerate(self.lower):
            floors[i] = floors[i] if bound is None else float(bound)
        program = self.program.replace(A=A, row_lower=floors, c=cost)
        return _proved(program, self.last, self.lower, self.entries)


def _proved(
    program: Program,
    last: Basis | None,
    lower: list[Fraction | None],
    entries: Mapping[tuple[int, int], Fraction],
) -> BasisProof:
    """Return the proof of a program from the first basis that leads to one."""
    proof = BasisProof(False, "no basis to begin with")
    for columns, rows in bases(program, last):
        proof, _ = optimal_from(program, columns, rows, lower, entries)
        if proof.holds:
            break
    return proof


def _of_fractions(path: Path, numbers: np.ndarray) -> np.ndarray:
    """Return numbers of a path as fractions; raise where one is a float."""
    fractions = []
    for number in numbers.tolist():
        if not isinstance(number, Rational):
            raise ModelError(
                f"in rationals, {type(path).__name__} gives {number!r}; expected whole numbers and "
                "fractions.Fraction alone (2 for 2.0) in its rates and kinks (along a tree: in its rule), or "
                "a path in floats, without exact=True"
            )
        # not NumPy's integers, which flint does not take
        fractions.append(Fraction(int(number.numerator), int(number.denominator)))
    return np.array(fractions, dtype=object)


def bases(program: Program, last: Basis | None) -> Iterator[Basis]:
    """Yield bases to begin with: what a solver proposes, the last round's, and nothing at all."""
    try:
        basis = program.solve("highs", method="simplex").basis
    except SolverError:
        basis = None
    if basis is not None:
        yield (
            [int(status) for status in basis.col_status],
            [int(status) for status in basis.row_status],
        )
    if last is not None:
        yield last
    yield [LOWER] * program.n_columns, [BASIC] * program.n_rows
