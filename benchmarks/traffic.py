"""CPU seconds of exact max-min fair traffic engineering, beside its first program alone.

python benchmarks/traffic.py [B4] [UsCarrier] [Kdl] [ASN2k]

Demands, their paths, and links are in ../shared/data/networks. The level of a demand is its flow over
its volume. B4 has 36 real matrices of demands; other demands are of a gravity model, scaled to a
load: the sum of volume times hops of the shortest path, over the sum of capacities. Where no paths
are given, they are up to four shortest ones without a link in common. ``leximin`` is fairlp.leximin
of a compiled program, its proof included; ``steps`` is the simplex of paths alone; ``first`` is the
program of the lowest level in HiGHS, from arrays.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time

import highspy
import numpy as np
import scipy.sparse as sp
from measure import machine, show
from scipy.sparse.csgraph import breadth_first_order

import fairlp
from fairlp.models.programs.program import Program
from fairlp.solvers.leximin.on_paths import Simplex
from fairlp_research.races import Traffic

FOLDER = Path(__file__).parents[2] / "shared" / "data" / "networks"
#: What issue 77 asks for: seconds of the leximin over those of the first program.
AIMS = {"B4": 4.8, "UsCarrier": 2.8, "Kdl": 5.0, "ASN2k": 20.0}
#: So many paths a demand.
MOST_PATHS = 4
RUNS = 3


def table(name: str) -> list[dict[str, str]]:
    """Return the rows of a file of the networks."""
    with gzip.open(FOLDER / f"{name}.csv.gz", "rt") as file:
        return list(csv.DictReader(file))


def links_of(name: str) -> tuple[np.ndarray, dict[tuple[int, int], int]]:
    """Return the capacities of a network's links, and the number of each link."""
    rows = table(f"{name}.links")
    numbers = {(int(row["source"]), int(row["target"])): k for k, row in enumerate(rows)}
    return np.array([float(row["capacity"]) for row in rows]), numbers


def given_paths(name: str) -> tuple[np.ndarray, dict[tuple[int, int], list[list[int]]]]:
    """Return capacities, and the paths of each pair of nodes that the data have."""
    capacities, numbers = links_of(name)
    paths: dict[tuple[int, int], list[list[int]]] = {}
    for row in table(f"{name}.paths"):
        nodes = [int(node) for node in row["path"].split()]
        links = [numbers[step] for step in itertools.pairwise(nodes)]
        paths.setdefault((int(row["source"]), int(row["target"])), []).append(links)
    return capacities, paths


def shortest_paths(
    numbers: dict[tuple[int, int], int], graph: sp.csr_array, source: int, target: int
) -> list[list[int]]:
    """Return up to four shortest paths that share no link."""
    graph = graph.copy()
    paths: list[list[int]] = []
    while len(paths) < MOST_PATHS:
        _, before = breadth_first_order(graph, source, return_predecessors=True)
        if before[target] < 0:
            break
        links = []
        node = target
        while node != source:
            last = int(before[node])
            links.append(numbers[last, node])
            row = slice(graph.indptr[last], graph.indptr[last + 1])
            graph.data[row][graph.indices[row] == node] = 0.0
            node = last
        graph.eliminate_zeros()
        paths.append(links[::-1])
    return paths


def loaded(
    capacities: np.ndarray, asked: list[float], paths: list[list[list[int]]], load: float
) -> Traffic:
    """Return demands that are scaled to a load."""
    hops = np.array([len(of_demand[0]) for of_demand in paths])
    volumes = np.array(asked)
    return Traffic(capacities, volumes * load * capacities.sum() / (volumes @ hops), paths)


def gravity(name: str, size: int, load: float) -> Traffic:
    """Return demands of a gravity model; their paths are given, or shortest ones."""
    rng = np.random.default_rng(0)
    asked: list[float] = []
    paths: list[list[list[int]]] = []
    if (FOLDER / f"{name}.paths.csv.gz").exists():
        capacities, all_paths = given_paths(name)
        masses = rng.lognormal(0, 1, 200)
        pairs = list(all_paths)
        for k in rng.choice(len(pairs), size, replace=False):
            source, target = pairs[k]
            asked.append(masses[source] * masses[target])
            paths.append(all_paths[pairs[k]])
        return loaded(capacities, asked, paths, load)
    capacities, numbers = links_of(name)
    ends = np.array(list(numbers))
    n = int(ends.max()) + 1
    graph = sp.csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n, n))
    masses = rng.lognormal(0, 1, n)
    seen: set[tuple[int, int]] = set()
    while len(seen) < size:
        source, target = (int(node) for node in rng.integers(n, size=2))
        if source == target or (source, target) in seen:
            continue
        of_demand = shortest_paths(numbers, graph, source, target)
        if of_demand:
            seen.add((source, target))
            asked.append(masses[source] * masses[target])
            paths.append(of_demand)
    return loaded(capacities, asked, paths, load)


def real_matrices(load: float) -> Iterator[Traffic]:
    """Yield the demands of the 36 matrices of B4, times a load."""
    capacities, paths = given_paths("B4")
    matrices: dict[str, list[tuple[tuple[int, int], float]]] = {}
    for row in table("B4.demands"):
        pair = int(row["source"]), int(row["target"])
        if float(row["demand"]) > 0 and pair in paths:
            matrices.setdefault(row["matrix"], []).append((pair, float(row["demand"])))
    for demands in matrices.values():
        volumes = np.array([load * volume for _, volume in demands])
        yield Traffic(capacities, volumes, [paths[pair] for pair, _ in demands])


def seconds(function: Callable[[], object]) -> float:
    """Return the least CPU seconds of several runs."""
    times = []
    for _ in range(RUNS):
        start = process_time()
        function()
        times.append(process_time() - start)
    return min(times)


def first_program(program: Program) -> Callable[[], None]:
    """Return the function that solves the program of the lowest level in HiGHS."""
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = program.n_columns, program.n_rows
    lp.col_cost_ = -program.c
    lp.col_lower_, lp.col_upper_ = program.col_lower, program.col_upper
    lp.row_lower_, lp.row_upper_ = program.row_lower, program.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = program.A.indptr
    lp.a_matrix_.index_ = program.A.indices
    lp.a_matrix_.value_ = program.A.data

    def run() -> None:
        highs = highspy.Highs()
        highs.setOptionValue("output_flag", False)
        highs.passModel(lp)
        highs.run()

    return run


def row_of(name: str, network: str, cases: Iterator[Traffic]) -> list[str]:
    """Return the row of the table for some demands, their seconds added up."""
    totals = np.zeros(4)
    proved = levels = count = demands = 0
    for case in cases:
        program = case.model().compile()
        answer = fairlp.leximin(program)
        assert answer.path_proof is not None
        network_of_answer = answer.path_proof.network
        totals += (
            seconds(first_program(program)),
            seconds(lambda program=program: fairlp.leximin(program)),
            seconds(lambda network=network_of_answer: Simplex(network).run()),
            seconds(answer.certify),
        )
        proved += bool(answer.certify())
        count += 1
        levels += len(answer.rounds)
        demands += len(case.volumes)
    first, whole, steps, proof = totals
    return [
        name,
        f"{demands / count:.0f}",
        f"{levels / count:.0f}",
        f"{first:.4f}",
        f"{whole:.4f}",
        f"{whole / first:.2f}",
        f"{steps / first:.2f}",
        f"{AIMS[network]}",
        f"{proof:.4f}",
        f"{proved} of {count}",
    ]


def rows(networks: list[str]) -> Iterator[list[str]]:
    """Yield the rows of the table."""
    if "B4" in networks:
        for load in (1.0, 10.0, 40.0):
            yield row_of(f"B4, 36 matrices × {load:g}", "B4", real_matrices(load))
    for network, size in (
        ("UsCarrier", 400),
        ("UsCarrier", 1500),
        ("UsCarrier", 5000),
        ("Kdl", 1000),
        ("Kdl", 4000),
        ("ASN2k", 1000),
    ):
        for load in (1.0, 4.0) if network in networks else ():
            cases = iter([gravity(network, size, load)])
            yield row_of(f"{network}, load {load:g}", network, cases)


def main() -> None:
    """Print the table."""
    if not FOLDER.is_dir():
        sys.exit(f"no networks in {FOLDER}")
    print(machine("fairlp", "highspy", "numpy", "scipy"))
    columns = ["network", "demands", "levels", "first", "leximin", "× first", "steps × first"]
    show(
        "CPU seconds of the leximin of demands on paths",
        [*columns, "aim", "proof", "proved"],
        list(rows(sys.argv[1:] or list(AIMS))),
    )


if __name__ == "__main__":
    main()
