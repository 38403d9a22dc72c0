"""Demands whose paths share links: random and real ones, their models, and their leximin by other means."""

from __future__ import annotations

import csv
import gzip
import itertools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st
from scipy.optimize import linprog

import leximin_oracle
from fairlp import Index, Model
from paths import REAL_DATA


@dataclass
class Wide:
    """Capacities of links, volumes of demands, links of each path of each demand, largest levels of demands."""

    capacities: list[float]
    volumes: list[float]
    paths: list[list[list[int]]]
    limits: list[float] | None = None

    @property
    def uses(self):
        """Paths × links."""
        rows = [path for paths in self.paths for path in paths]
        uses = np.zeros((len(rows), len(self.capacities)))
        for p, path in enumerate(rows):
            uses[p, path] = 1.0
        return uses

    @property
    def owners(self):
        """Demand of each path."""
        return np.repeat(np.arange(len(self.paths)), [len(paths) for paths in self.paths])

    def model(self, scale=1.0):
        """A model that has its levels; capacities are written in another unit."""
        uses, owners = self.uses, self.owners
        p, d, e = (
            Index(name, range(size))
            for name, size in (("p", len(uses)), ("d", len(self.paths)), ("e", uses.shape[1]))
        )
        model = Model("network", indices=(p, d, e))
        flow = model.variable("flow", p)
        on_link = model.parameter("on_link", (p, e), sp.csr_array(uses * scale))
        of = np.zeros((len(uses), len(self.paths)))
        of[np.arange(len(uses)), owners] = 1.0
        rate = (model.parameter("of", (p, d), sp.csr_array(of)) * flow).sum(p)
        capacities = scale * np.array(self.capacities, dtype=float)
        model.constraint("link", (on_link * flow).sum(p) <= model.parameter("c", (e,), capacities))
        volume = model.parameter("v", (d,), np.array(self.volumes, dtype=float))
        if self.limits is not None:
            most = np.array(self.limits, dtype=float) * self.volumes
            finite = np.isfinite(most)
            bound = model.parameter("most", (d,), np.where(finite, most, 0.0))
            model.constraint("most", rate <= bound, where=finite)
        model.leximin(rate / volume)
        return model

    def exact_levels(self):
        """The levels in rationals, from the definition."""
        uses, owners = self.uses, self.owners
        fits = [[Fraction(int(v)) for v in column] for column in uses.T]
        supplies = [Fraction(c) for c in self.capacities]
        total = {d: [Fraction(int(owner == d)) for owner in owners] for d in range(len(self.paths))}
        for d, limit in enumerate(self.limits or ()):
            if limit != float("inf"):
                fits.append(total[d])
                supplies.append(Fraction(limit) * Fraction(self.volumes[d]))
        due = [Fraction(v) for v in self.volumes]
        levels = leximin_oracle.levels(fits, supplies, total, due)
        return [levels[d] for d in range(len(self.paths))]

    def levels_by_linprog(self):
        """The levels by rounds of SciPy's linprog: one cold program a level."""
        uses, volumes = self.uses, np.array(self.volumes)
        rates = (self.owners == np.arange(len(volumes))[:, None]) / volumes[:, None]
        levels = np.full(len(volumes), np.nan)
        limits = np.full(len(volumes), np.inf) if self.limits is None else np.array(self.limits)
        while np.isnan(levels).any():
            rising = np.isnan(levels)
            most = limits[rising].min()
            floors = np.where(rising, 0.0, np.nan_to_num(levels) * (1 - 1e-9))
            for tolerance in (1e-10, 1e-7):  # HiGHS calls some of these infeasible
                result = linprog(
                    [0.0] * len(uses) + [-1.0],
                    np.block([[uses.T, np.zeros((uses.shape[1], 1))], [-rates, rising[:, None]]]),
                    np.append(self.capacities, -floors),
                    bounds=[(0, None)] * len(uses) + [(0, None if np.isinf(most) else most)],
                    method="highs-ds",
                    options={
                        "presolve": False,
                        "primal_feasibility_tolerance": tolerance,
                        "dual_feasibility_tolerance": tolerance,
                    },
                )
                if result.success:
                    break
            if -result.fun >= most * (1 - 1e-9):
                levels[rising & (limits <= most * (1 + 1e-9))] = most
            else:
                stopped = result.ineqlin.marginals[len(self.capacities) :] < -1e-7
                levels[rising & stopped] = -result.fun
        return levels


@st.composite
def small_networks(draw):
    """Few demands on few links, all numbers small and whole: many ties, empty links, and steps of length 0."""
    links = draw(st.integers(1, 5))
    path = st.lists(st.integers(0, links - 1), min_size=1, max_size=3, unique=True)
    paths = draw(st.lists(st.lists(path, min_size=1, max_size=3), min_size=1, max_size=5))
    sizes = st.integers(1, 4)
    demands = len(paths)
    limits = st.sampled_from([0.25, 0.5, 1.0, 2.0, float("inf")])
    return Wide(
        draw(st.lists(st.integers(0, 4), min_size=links, max_size=links)),
        draw(st.lists(sizes, min_size=demands, max_size=demands)),
        paths,
        draw(st.none() | st.lists(limits, min_size=demands, max_size=demands)),
    )


def random_network(seed, demands=60, links=40, limit=None):
    """Log-normal volumes and capacities, up to four paths a demand."""
    rng = np.random.default_rng(seed)
    paths = [
        [
            sorted(rng.choice(links, rng.integers(1, 6), replace=False).tolist())
            for _ in range(rng.integers(1, 5))
        ]
        for _ in range(demands)
    ]
    return Wide(
        rng.lognormal(0, 1, links).tolist(),
        rng.lognormal(0, 1, demands).tolist(),
        paths,
        None if limit is None else [limit] * demands,
    )


def b4(matrix, load):
    """B4 with one of its matrices of demands, times a load; None where the data are not there."""
    folder = REAL_DATA / "networks"
    if not folder.is_dir():
        return None

    def table(name):
        with gzip.open(folder / f"B4.{name}.csv.gz", "rt") as file:
            return list(csv.DictReader(file))

    links = table("links")
    number = {(link["source"], link["target"]): k for k, link in enumerate(links)}
    paths = {}
    for row in table("paths"):
        nodes = row["path"].split()
        steps = itertools.pairwise(nodes)
        paths.setdefault((row["source"], row["target"]), []).append([number[s] for s in steps])
    asked = [
        row for row in table("demands") if int(row["matrix"]) == matrix and float(row["demand"]) > 0
    ]
    asked = [row for row in asked if (row["source"], row["target"]) in paths]
    return Wide(
        [float(link["capacity"]) for link in links],
        [load * float(row["demand"]) for row in asked],
        [paths[row["source"], row["target"]] for row in asked],
        [1.0] * len(asked),
    )
