"""Entries: the same for the same seed, with optima that are known or recomputed, and written as files."""

from __future__ import annotations

import random

import numpy as np
import pandas as pd
import pytest

import fairlp
import fairlp_research
from cli_runner import python
from fairlp import Solution
from fairlp.errors import SolverNotAvailableError
from fairlp.models.programs.proof import Proof
from fairlp_research.library.entry import chosen, recomputed
from fairlp_research.library.numerics import SHAPES
from fairlp_research.library.registry import REGISTRY, SIZES
from profiles import many

library = fairlp_research.library
load = library.load

GENERATED = [name for name in library.names() if not REGISTRY[name].files]

TIED = library.load("ties", triples=1, doublings=1)

SEEDS = range(many(4))

#: Linear programs without a closed form, at sizes that rationals take at once.
TINY = {
    **{kind: {"users": 6, "servers": 4} for kind in SHAPES},
    "growing-errors": {"users": 9},
    "google-cluster": {"users": 8},
    "queue-tree": {"branches": 2, "depth": 2, "leaves": 2, "servers": 2},
}

#: Entries with a closed form in rationals, or one with logarithms or powers.
CLOSED = {
    "ties", "many-rounds", "magnitudes", "njc-circle", "njc-selection", "psdsf-time", "psdsf-theorem-1",
    "psdsf-theorem-2", "alpha-fair", "whole-pool", "whole-packing",
}  # fmt: skip


def test_the_same_seed_gives_the_same_numbers_whatever_else_is_drawn():
    for name in GENERATED:
        instance = library.load(name, seed=3)
        random.seed(1)
        np.random.default_rng(3).random(5)
        np.random.shuffle([1, 2, 3])  # noqa: NPY002  (the state that all share)
        case = library.load(name, seed=3)
        assert instance.instance.equals(case.instance) and instance.known == case.known, name
        if name not in ("njc-circle", "njc-selection"):  # where nothing is drawn
            assert not instance.instance.equals(library.load(name, seed=4).instance), name


@pytest.mark.slow
def test_another_process_makes_the_same_numbers():
    script = (
        "import fairlp, numpy as np\n"
        "for name in ('zeros', 'queue-tree', 'alpha-fair', 'whole-pool'):\n"
        "    made = fairlp_research.library.load(name, seed=2).instance\n"
        "    print(name, *map(float.hex, np.concatenate([made.demands.ravel(), "
        "made.weights.ravel()]).astype(float)))"
    )
    for line in python("-c", script, PYTHONHASHSEED="7").stdout.splitlines():
        name, *numbers = line.split()
        instance = library.load(name, seed=2).instance
        expected = np.concatenate([instance.demands.ravel(), instance.weights.ravel()]).tolist()
        assert [float.fromhex(number) for number in numbers] == expected


def test_sizes_grow():
    small, medium = library.table(), library.table("medium")
    assert list(small.index) == library.names() == list(medium.index)
    assert (medium.loc[GENERATED, "variables"] > small.loc[GENERATED, "variables"]).all()
    assert (
        small["why hard"].str.len().min() > 20
        and small.loc[GENERATED, "kind"].isin(["LP", "MILP", "concave"]).all()
    )
    assert small.loc[["alibaba-gpu"], "variables"].isna().all()
    assert small.loc[["zeros", "ties", "whole-pool"], "known by"].tolist() == [
        "rationals, when asked for", "closed form", "exact",
    ]  # fmt: skip
    assert small.loc["ties", "known optimum"] == pytest.approx(1 / 21, rel=1e-15)
    for row in REGISTRY.values():
        users = [next(iter(row.sizes[size].values())) for size in SIZES]
        assert users == sorted(users), row.name


def test_an_entry_says_what_it_is():
    entry = library.load("Njc-Circle", size="SMALL", users=6, width=4)
    assert repr(entry) == "<Entry 'njc-circle', small, seed 0: njc, concave of 6 rows × 6 columns>"
    assert entry.instance.name == "njc-circle" and entry.parameters == {"users": 6, "width": 4}
    assert "closed form" in str(entry.optimum) and not entry.optimum.is_exact
    assert library.load("njc-selection").options == {"criterion": "utilization"}
    assert str(library.load("psdsf-theorem-2").model()).startswith("PS-DSF (time), Theorem 2")


def test_what_needs_data_is_left_out_and_named(tmp_path):
    index = library.write_all(tmp_path, ["ties"])
    assert list(index.index) == ["ties"]
    entries, missing = chosen(None, "small", 0)
    assert set(missing) == {"alibaba-gpu"} and len(entries) == len(GENERATED)
    assert "openb_node_list_all_node.csv" in missing["alibaba-gpu"]


@pytest.mark.parametrize(
    "name", [name for name in GENERATED if library.load(name).kind != "concave"]
)
def test_programs_come_back_from_mps_with_labels_and_the_same_optimum(name, tmp_path):
    entry = library.load(name, **({"users": 6, "servers": 4} if name in SHAPES else {}))
    written, *_ = entry.write_mps(tmp_path / "model.mps.gz")
    read, program = fairlp.read_program(written), entry.program()
    assert read.column_names == program.column_names and read.row_names == program.row_names
    assert (read.A != program.A).nnz == 0 and read.sense == program.sense == "max"
    assert read.solve("highs").require_optimal().objective == pytest.approx(
        float(entry.optimum.value), rel=1e-9
    )


def test_all_are_written_with_an_index(tmp_path):
    names = ["ties", "few-pairs", "njc-circle", "whole-pool"]
    index = library.write_all(tmp_path / "set", names, seed=1)
    file_names = {path.name for path in (tmp_path / "set").iterdir()}
    assert {"ties.mps", "few-pairs.mps", "whole-pool.mps", "index.csv"} <= file_names
    assert (
        list(index.index) == names
        and (index["sense"] == "max").all()
        and (index["seed"] == 1).all()
    )
    assert index.loc["ties", "exact"] == "1/21"
    assert index.loc["ties", "known"].startswith("closed form")
    table = pd.read_csv(tmp_path / "set" / "index.csv", index_col="name")
    # pandas before 3 reads the last digits of a number in another way
    np.testing.assert_allclose(table["optimum"], index["optimum"].astype(float), rtol=1e-12)
    for name in ("ties", "few-pairs", "whole-pool"):
        program = fairlp.read_program(tmp_path / "set" / table.loc[name, "file"])
        assert program.solve("highs").objective == pytest.approx(
            table.loc[name, "optimum"], rel=1e-9
        )
    assert (
        table.loc["njc-circle", "file"] == "njc-circle.nl"
        and "MPS has no place" in table.loc["njc-circle", "note"]
    )


def test_without_pyomo_concave_programs_have_no_file_and_the_index_says_so(tmp_path, monkeypatch):
    def gone(*arguments, **options):
        raise ImportError("no Pyomo")

    monkeypatch.setattr(fairlp.Model, "write", gone)
    index = library.write_all(tmp_path, [library.load("alpha-fair", triples=2, servers=2)])
    assert index.loc["alpha-fair", "file"] is None and "no Pyomo" in index.loc["alpha-fair", "note"]


def test_every_entry_is_proved_here():
    assert set(fairlp_research.library.names()) == set(TINY) | CLOSED | {"alibaba-gpu"}
    assert {name for name in fairlp_research.library.names() if REGISTRY[name].files} == {
        "alibaba-gpu",
    }
    for name in CLOSED:
        entry = load(name)
        assert (
            entry.known is not None
            and entry.known.value is not None
            and entry.optimum is entry.known
        )


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("seed", SEEDS)
def test_optima_in_rationals_are_those_of_another_method(name, seed):
    entry = load(name, seed=seed, **TINY[name])
    optimum = entry.optimum
    assert (
        entry.known is None
        and optimum.is_exact
        and optimum.words == "proved in rationals from a basis"
    )
    solution = entry.model().solve("interior-point").require_optimal()
    assert solution.verify().is_optimal
    assert solution.objective == pytest.approx(float(optimum.value), rel=1e-9)
    allocation = fairlp.allocate(entry.instance, entry.mechanism)
    verdict = allocation.certify(exact=True)
    assert verdict, verdict
    if name != "queue-tree":  # whose levels are of the tree, in another unit
        lowest = min(level for level in verdict.levels if level is not None)
        assert float(lowest) == pytest.approx(float(optimum.value), rel=1e-12)


@pytest.mark.parametrize(
    "entry",
    [
        library.load("njc-circle", users=3, width=2),
        library.load("whole-pool", users=2, resources=2, tasks=2),
    ],
    ids=["logarithms", "whole numbers"],
)
def test_what_is_no_linear_program_is_not_recomputed(entry):
    assert recomputed(entry.program()) == library.Optimum(
        None, "not known: no linear program, and nothing was planted"
    )  # fmt: skip


def test_an_optimum_that_is_not_proved_is_not_known(monkeypatch):
    program = TIED.program()
    assert recomputed(program).value == TIED.known.value

    def absent(*_, **__):
        raise SolverNotAvailableError("python-flint is not here")

    for certify, message in (
        (absent, "python-flint"),
        (lambda *_, **__: Proof(False, "no basis"), "no basis"),
    ):
        monkeypatch.setattr(Solution, "certify", certify)
        optimum = recomputed(program)
        assert (
            optimum.value is None
            and optimum.words.startswith("not proved in rationals: ")
            and message in optimum.words
        )
