"""The leximin of demands whose paths share links: one primal simplex through all rounds.

A demand that rises has the rate volume·t, one that has settled its level. So one path of each
demand is basic, its *key*, and is eliminated: a demand with one path is neither column nor row, only
a part of t's column. What is left is a square system of the full links.

Where no price is negative, t is as large as it can be. Then whoever pays a price has settled, paths
that are dearer than their demand's cheapest are empty in every leximin, and links with a price are
full. t leaves the basis with one of these links, the others stay, and t enters again: the next
program goes on from the same basis. The rounds' prices are the proof (:class:`.PathProof`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import NotConvergedError
from ...models.programs.solution import Solution
from ...models.programs.status import Point, Status, Termination
from ...tolerances import AGREEMENT, LEVEL_ROUNDING, ROUNDING, SATURATED
from .answers import LeximinSolution
from .levels import Levels
from .networks import Network, PathProof, Round, paths_of
from .of_levels import by_value, table

#: After so many steps of length 0, numbers decide who enters and leaves (Bland's rule).
MOST_STANDING_STEPS = 100
#: Steps, and changes of entries of the inverse, a path and link, after which the simplex gives up:
#: where all links are full at once, linear programs are quicker.
MOST_STEPS = 20
MOST_CHANGES = 3000


class System:
    """A square system, its inverse: a row for each full link, a column for each basic variable.

    The inverse is kept transposed, links × variables, with a last row of 0 for links that are not
    full. Variables are paths, t, and links (their slack), numbered in this order.
    """

    def __init__(self, links: int, variables: int) -> None:
        self.first_link = variables
        self.variables = np.zeros(0, dtype=np.intp)
        self.links = np.zeros(0, dtype=np.intp)
        self.row = np.full(links + 1, -1)
        self.inverse = np.zeros((64, 64))
        self.changes = 0

    def slot(self, variable: int) -> int:
        """Return the place of a variable, −1 where it is not basic."""
        (slots,) = (self.variables == variable).nonzero()
        return int(slots[0]) if slots.size else -1

    def solve(self, links: np.ndarray, amounts: np.ndarray) -> np.ndarray:
        """Return the solution for a column of amounts at some links."""
        return np.asarray(amounts @ self.inverse[self.row[links], : len(self.variables)])

    def add(self, link: int, row: np.ndarray) -> None:
        """Add a link, of whose row in the system the variables there are known, and its slack."""
        n = len(row)
        if n + 1 == len(self.inverse):
            self.inverse = np.pad(self.inverse, (0, n))
        (used,) = row.nonzero()
        self.inverse[:n, n] = -(self.inverse[:n, used] @ row[used])
        self.inverse[n, n] = 1.0
        self.row[link] = n
        self.links = np.concatenate((self.links, [link]))
        self.variables = np.concatenate((self.variables, [self.first_link + link]))

    def replace(self, leaving: int, entering: int, solution: np.ndarray) -> None:
        """Put a variable into the place of another; ``solution`` is that of its column."""
        slot = self.slot(leaving)
        column = self.inverse[:, slot] / solution[slot]
        change = solution.copy()
        change[slot] -= 1.0
        sizes = abs(column)
        (rows,) = (sizes > ROUNDING * sizes.max()).nonzero()
        (slots,) = change.nonzero()
        self.inverse[rows[:, None], slots] -= column[rows][:, None] * change[slots]
        self.changes += len(rows) * len(slots)
        self.variables[slot] = entering
        if entering >= self.first_link:
            self._drop(entering - self.first_link, slot)

    def _drop(self, link: int, slot: int) -> None:
        """Remove a link that is not full any more: the last row and column take its places."""
        row = self.row[link]
        last = len(self.links) - 1
        self.inverse[row] = self.inverse[last]
        self.inverse[:, slot] = self.inverse[:, last]
        self.inverse[last] = self.inverse[:, last] = 0.0
        self.links[row] = self.links[last]
        self.variables[slot] = self.variables[last]
        self.row[self.links[row]] = row
        self.row[link] = -1
        self.links = self.links[:-1]
        self.variables = self.variables[:-1]


class Simplex:
    """One primal simplex of max t, then of the next level, to the last.

    t is a path without links, of a demand after the last.

    Attributes
    ----------
    rounds : list of Round
    steps : int
        How often a variable entered.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self.t, n_links = network.uses.shape
        n_demands = len(network.volume)
        self.demand = np.append(network.demand, n_demands)
        self.key = np.append(network.spread(), self.t)
        self.system = System(n_links, self.t + 1)
        self.flow = np.zeros(self.t + 1)  # of the system's variables; t itself
        self.beside_key = np.zeros(n_demands + 1)  # sums of flows by demand
        self.rising = np.append(network.volume, 0.0)
        self.fixed = np.zeros(n_demands + 1)
        self.slack = np.array(network.capacity, dtype=float)  # infinite of links that are full
        self.is_settled = np.zeros(n_links + 1, dtype=bool)  # full in every leximin
        self.signs = np.repeat([1.0, -1.0], network.links.shape[1])
        self.use_of_link = np.zeros(self.t + 1)
        self.prices = np.zeros(n_links + 1)
        self.costs = np.zeros(self.t)
        self.rounds: list[Round] = []
        self.steps = 0
        self.standing_steps = 0
        self.renewed_at = -1
        counts = np.bincount(network.demand)
        (several,) = (counts[network.demand] > 1).nonzero()
        self._open(several, network.uses[several])
        self._fix(np.zeros(0, dtype=np.intp), 0.0)

    def _open(self, paths: np.ndarray, uses: Any) -> None:
        """Price these paths only from now on, keys included."""
        self.open = paths
        self.open_uses = uses
        self.is_open = np.ones(len(paths), dtype=bool)
        self.reduced = np.zeros(len(paths))

    def run(self) -> None:
        """Run to the end of the last round."""
        while self.rising.any():
            entering = self._entering()
            if entering < 0:
                self._settle()
            else:
                self._step(entering)
            size = sum(self.network.uses.shape)
            if self.steps > MOST_STEPS * size or self.system.changes > MOST_CHANGES * size:
                raise NotConvergedError("the simplex of paths takes too long")

    @property
    def level(self) -> np.ndarray:
        """The level of each demand that has settled."""
        return np.asarray(self.fixed[:-1] / self.network.volume)

    def flows(self) -> np.ndarray:
        """Return the flow of each path."""
        flow = self.flow[:-1].copy()
        flow[self.key[:-1]] = self._key_flows(np.arange(len(self.key) - 1))
        return np.asarray(flow)

    def _key_flows(self, demands: np.ndarray) -> np.ndarray:
        """Return what is left of the rates of demands for their keys."""
        rates = self.rising[demands] * self.flow[self.t] + self.fixed[demands]
        return np.asarray(rates - self.beside_key[demands])

    def _row(self, link: int) -> np.ndarray:
        """Return what the system's variables use of a link."""
        users = self.network.of_links
        paths = users.indices[users.indptr[link] : users.indptr[link + 1]]
        uses = self.use_of_link
        uses[paths] = 1.0
        variables = self.system.variables
        row = uses[variables] - uses[self.key[self.demand[variables]]]
        uses[paths] = 0.0
        row[variables == self.t] = self.t_column[link]
        return np.asarray(row)

    def _renew(self) -> None:
        """Compute the inverse afresh, and move the flows so that full links are full."""
        if self.renewed_at == self.steps:
            raise NotConvergedError("a system of paths is singular but for rounding")
        self.renewed_at = self.steps
        system = self.system
        links = system.links
        matrix = [self._row(int(link)) for link in links]
        system.inverse[: len(links), : len(links)] = np.linalg.inv(matrix).T
        left = self.network.capacity - self.network.uses.T @ self.flows()
        change = system.solve(links, left[links])
        self.flow[system.variables] += change
        np.add.at(self.beside_key, self.demand[system.variables], change)

    # -- who enters

    def _costs(self, paths: np.ndarray) -> np.ndarray:
        """Return what paths cost at the prices of their links."""
        return np.asarray(self.prices[self.network.links[paths]].sum(axis=1))

    def _reduced(self) -> np.ndarray:
        """Return how much dearer each open path is than the key of its demand."""
        self.costs[self.open] = self.open_uses @ self.prices[:-1]
        keys = self.key[self.demand[self.open]]
        return np.where(self.is_open, self.costs[self.open] - self.costs[keys], 0.0)

    def _entering(self) -> int:
        """Return the variable that enters, t first; −1 where no price is negative."""
        system = self.system
        slot = system.slot(self.t)
        if slot < 0:
            return int(self.t)
        links = system.links
        values = system.inverse[: len(links), slot]
        self.prices = prices = np.zeros(len(self.is_settled))
        prices[links] = values
        self.least_price = AGREEMENT * abs(values).max()
        least = -self.least_price
        links = links[(values < least) & ~self.is_settled[links]]

        reduced = self.reduced = self._reduced()
        (cheap,) = (reduced < least).nonzero()
        paths = self.open[cheap]
        variables = np.concatenate((paths, links + system.first_link))
        if not variables.size:
            return -1
        if self.standing_steps > MOST_STANDING_STEPS:
            return int(variables.min())
        of_paths = reduced[cheap] * self.network.volume[self.demand[paths]]
        of_links = prices[links] * self.network.capacity[links]
        return int(variables[np.concatenate((of_paths, of_links)).argmin()])

    # -- how far, and who leaves

    def _solve(self, variable: int) -> np.ndarray:
        """Return the solution for a variable's column."""
        system = self.system
        links = self.network.links
        if variable == self.t:
            column = self.t_column[system.links]
            (rows,) = column.nonzero()
            solution = system.solve(system.links[rows], column[rows])
        elif variable > self.t:
            solution = system.solve(np.array([variable - system.first_link]), np.ones(1))
        else:
            key = self.key[self.demand[variable]]
            solution = system.solve(np.concatenate((links[variable], links[key])), self.signs)
        solution[abs(solution) < ROUNDING] = 0.0  # t's column and those of paths are about 1
        return np.asarray(solution)

    def _step(self, entering: int) -> None:
        """Let a variable enter, as far as it goes."""
        network, system = self.network, self.system
        solution = self._solve(entering)
        (moving,) = solution.nonzero()
        paths, rates = system.variables[moving], -solution[moving]
        if entering <= self.t:
            paths = np.concatenate((paths, [entering]))
            rates = np.concatenate((rates, [1.0]))
        demands = self.demand[paths]
        beside = np.bincount(demands, rates, len(self.key))
        pace = beside[-1]
        beside[-1] = 0.0
        paths = np.concatenate((paths, self.key[demands]))
        growth = network.load(paths, np.concatenate((rates, -rates)))
        if pace:
            growth += pace * self.t_column
        if entering > self.t:
            self.slack[entering - system.first_link] = 0.0
        (links,) = growth.nonzero()
        slack, loads = self.slack[links], growth[links]
        if abs(loads[np.isinf(slack)]).max(initial=0.0) > AGREEMENT:
            self._renew()
            return

        # rates of paths, of keys, and of what is left of links
        key_rates = self.rising[demands] * pace - beside[demands]
        rates = np.concatenate((rates, key_rates, -loads))
        left = np.concatenate((self.flow[paths[: len(demands)]], self._key_flows(demands), slack))
        (falling,) = (rates < -SATURATED).nonzero()
        speeds = -rates[falling]
        lengths = np.maximum(left[falling], 0.0) / speeds
        length = (self.next_limit - self.flow[self.t]) / pace if pace > SATURATED else np.inf
        leaving = self.t
        if lengths.min(initial=np.inf) < length:
            length = lengths.min()
            (ties,) = (lengths <= length * (1 + SATURATED)).nonzero()
            numbers = np.concatenate((paths, links + system.first_link))[falling]
            if self.standing_steps > MOST_STANDING_STEPS:
                leaving = int(numbers[ties].min())
            else:
                leaving = int(numbers[ties[speeds[ties].argmax()]])
        self.standing_steps = 0 if length > 0 else self.standing_steps + 1
        self.steps += 1

        self.flow[paths[: len(demands)]] += length * rates[: len(demands)]
        self.beside_key += length * beside
        self.slack[links] = slack - length * loads
        self._exchange(entering, leaving, solution, growth)

    def _exchange(
        self, entering: int, leaving: int, solution: np.ndarray, growth: np.ndarray
    ) -> None:
        """Put the entering variable into the place of the leaving one."""
        system = self.system
        if leaving == self.t:
            if entering != self.t:
                system.replace(self.t, entering, solution)
            (rising,) = self.rising.nonzero()
            limits = self.network.limit[rising]
            is_full = limits <= limits.min() * (1 + LEVEL_ROUNDING)
            self._end_round(rising[is_full], limits.min(), rising[:0])
            return
        if leaving > self.t:
            link = leaving - system.first_link
            system.add(link, self._row(link))
            solution = np.concatenate((solution, [growth[link]]))
            self.slack[link] = np.inf
        elif leaving == self.key[self.demand[leaving]]:
            self._change_key(self.demand[leaving], entering)
            if system.slot(leaving) < 0:
                return
            solution = self._solve(entering)
        if leaving < self.t:
            self.beside_key[self.demand[leaving]] -= self.flow[leaving]
            self.flow[leaving] = 0.0
        system.replace(leaving, entering, solution)

    def _change_key(self, demand: int, entering: int) -> None:
        """Give a demand another key; the old one takes its place in the system, if it has one."""
        system = self.system
        old = self.key[demand]
        (slots,) = (self.demand[system.variables] == demand).nonzero()
        new = system.variables[slots[0]] if slots.size else entering
        self.key[demand] = new
        self.beside_key[demand] -= self.flow[new]
        self.flow[new] = 0.0
        if slots.size:
            system.inverse[:, slots[0]] = -system.inverse[:, slots].sum(axis=1)
            system.variables[slots[0]] = old
        volume = self.rising[demand]
        if volume:
            self.t_column += self.network.load(np.array([new, old]), np.array([volume, -volume]))
            if system.slot(self.t) >= 0:
                system.replace(self.t, self.t, self._solve(self.t))

    # -- the ends of rounds

    def _settle(self) -> None:
        """End the round at which no price is negative: whoever pays one settles."""
        system = self.system
        prices = self.prices
        prices[(abs(prices) < self.least_price) | ((prices < 0) & ~self.is_settled)] = 0.0
        (links,) = prices.nonzero()
        self.is_open &= self.reduced <= self.least_price
        (rising,) = self.rising.nonzero()
        pays = self._costs(self.key[rising]) > self.least_price
        self.is_settled[links] = True
        slack = system.first_link + links[abs(prices[links]).argmax()]
        system.replace(self.t, slack, self._solve(slack))
        self._end_round(rising[pays], self.flow[self.t] / self.unit, links)
        if self.is_open.sum() < 0.8 * len(self.open):
            self._open(self.open[self.is_open], self.open_uses[self.is_open])

    def _end_round(self, demands: np.ndarray, level: float, links: np.ndarray) -> None:
        """Note the prices of these links, which end the round, and who settles."""
        self.rounds.append(Round(demands, links, self.prices[links]))
        self._fix(demands, level)

    def _fix(self, demands: np.ndarray, level: float) -> None:
        """Give demands their level, and begin a round in a unit of t that fits the others."""
        network = self.network
        self.fixed[demands] = network.volume[demands] * level
        self.rising[demands] = 0.0
        (rising,) = self.rising.nonzero()
        volumes = network.volume[rising]
        self.t_column = network.load(self.key[rising], volumes)
        self.unit = self.t_column.max()
        if self.unit > 0:
            self.t_column /= self.unit
            self.rising[rising] = volumes / self.unit
            self.flow[self.t] = level * self.unit
            self.next_limit = self.unit * network.limit[rising].min()


def leximin_on_paths(problem: Levels) -> LeximinSolution | None:
    """Return the leximin of levels on paths, None where they are others or it does not end proved."""
    paths = paths_of(problem)
    if paths is None:
        return None
    simplex = Simplex(paths.network)
    try:
        simplex.run()
    except (NotConvergedError, np.linalg.LinAlgError):
        return None
    levels = simplex.level
    x = np.zeros(problem.program.n_columns)
    x[paths.columns] = np.maximum(simplex.flows(), 0.0)
    x[problem.t] = levels.min()
    priced = None
    for end in simplex.rounds:
        if end.links.size:
            status = Status(Termination.OPTIMAL, Point.OPTIMAL, Point.OPTIMAL, "prices of paths")
            duals = paths.row_duals(end, problem.places)
            priced = Solution(problem.program, status, "paths", x, duals)
            break
    proof = PathProof(paths.network, simplex.rounds)
    answer = LeximinSolution(
        problem.labelled(levels),
        table(problem, by_value(levels)),
        "paths",
        None,
        "",
        x,
        problem,
        priced,
        path_proof=proof,
    )
    verdict = answer.certify()
    return replace(answer, gap=verdict.gap) if verdict else None
