"""``fairlp.Backend``: an object, a class or a registered name is taken wherever a solver is; what is wrong is named."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import fairlp
from cli_runner import fairlp_in_a_shell, run
from fairlp.errors import (
    NoSolutionError,
    SolverError,
    UnknownNameError,
    UnsupportedError,
)
from fairlp.models.programs import backends
from fairlp_research import study
from own_back_ends import LIES, Dual, Whole, liar
from paths import ROOT

INSTANCE = fairlp.examples.ghodsi()


@pytest.fixture(autouse=True)
def _nothing_stays_registered():
    yield
    backends.OWN.clear()


@pytest.fixture(params=["object", "class", "name"])
def solver(request):
    if request.param == "name":
        fairlp.register_solver("Dual", Dual)
    return {"object": Dual(), "class": Dual, "name": "dual"}[request.param]


def test_it_is_taken_wherever_a_solver_is(solver):
    model = fairlp.formulate(INSTANCE, "drf")
    allocation = fairlp.allocate(INSTANCE, "drf", solver=solver)
    assert allocation.totals.to_dict() == pytest.approx({"A": 3.0, "B": 2.0})
    assert (allocation.method, allocation.solver, type(allocation.solver)) == (
        "lp",
        "Dual",
        str,
    ) and allocation.unproved == ""
    for solution in (model.solve(solver), model.compile().solve(solver)):
        assert solution.solver == "Dual" and solution.verify().is_optimal
    leximin = fairlp.leximin(model, solver=solver)
    assert leximin.solver == "Dual" and type(leximin.solver) is str and leximin.certify().holds
    assert leximin.prices["capacity"].sum().sum() > 0
    assert model.explain(solver).empty
    assert fairlp.validate(INSTANCE, "drf", solver=solver)["agrees"].all()
    table = fairlp.compare(INSTANCE, ["drf", "tsf"], solver=solver)
    assert table["drf"].to_dict() == pytest.approx({"A": 3.0, "B": 2.0})
    swept = model.sweep("c", [model["c"].values, 2 * np.asarray(model["c"].values)], solver=solver)
    assert swept["objective"].tolist() == pytest.approx([2 / 3, 4 / 3])
    assert fairlp.audit(INSTANCE, allocation, ["Pareto-optimal"])["holds"].all()


def test_an_infeasible_model_is_explained(solver):
    model = fairlp.formulate(INSTANCE, "drf")
    model.constraint("too-much", model["x"].sum() >= 100)
    assert (
        "too-much" in str(model.explain(solver).to_dict())
        and not model.solve(solver).status.is_optimal
    )


@pytest.mark.slow
def test_conformance_of_ones_own():
    counts = fairlp.conformance.summary(fairlp.conformance.check(Dual))
    assert (
        counts["failed"] == counts["undecided"] == 0
        and counts["passed"] > 30
        and counts["unable"] > 0
    )


@pytest.mark.parametrize("mechanism", ["drfh", "tsf", "njc", "ceei", "dynamic-drf"])
def test_an_object_goes_to_every_family(mechanism):
    instance = fairlp.examples.ghodsi()
    kind = {"method": "milp"} if mechanism == "njc" else {"method": "lp"}
    solver = Whole(0.0, licence="x") if mechanism == "njc" else Dual()
    allocation = fairlp.allocate(
        instance, mechanism, solver=solver, **({} if mechanism == "ceei" else kind)
    )
    expected = fairlp.allocate(instance, mechanism, **({} if mechanism == "ceei" else kind))
    np.testing.assert_allclose(allocation.totals, expected.totals, rtol=1e-6)
    assert allocation.solver == solver.name and type(allocation.solver) is str


def test_an_object_with_its_own_constructor_solves_whole_tasks():
    solver = Whole(0.0, licence="mine")
    allocation = fairlp.allocate(INSTANCE, "drf-milp", solver=solver)
    assert (
        allocation.totals.tolist() == fairlp.allocate(INSTANCE, "drf-milp").totals.tolist()
        and allocation.solver == "whole"
    )
    assert "no duals" in fairlp.allocate(INSTANCE, "drf", solver=solver).unproved
    with pytest.raises(UnsupportedError, match="needs MILP"):
        fairlp.allocate(INSTANCE, "drf-milp", solver=Dual())
    with pytest.raises(SolverError, match=r"Whole cannot be made: TypeError.*give an object"):
        fairlp.allocate(INSTANCE, "drf", solver=Whole)


def test_an_integer_leximin_by_an_object():
    model = fairlp.formulate(INSTANCE, "drf")
    n = model["x"].indices[0]
    model.constraint("whole", model["x"] == model.variable("whole-tasks", n, integer=True))
    optimum = fairlp.leximin(model, solver=Whole(0.0, licence="x"))
    assert optimum.solver == "whole" and optimum["x"].tolist() == pytest.approx([3, 2])


@pytest.mark.slow
@pytest.mark.parametrize("lie", LIES)
def test_a_back_end_that_lies_is_caught(lie):
    Liar = liar(LIES[lie])
    with pytest.raises((SolverError, NoSolutionError), match="liar"):
        fairlp.allocate(INSTANCE, "drf", solver=Liar())
    with pytest.raises((SolverError, NoSolutionError), match="liar"):
        fairlp.leximin(fairlp.formulate(INSTANCE, "drf"), solver=Liar)
    assert not fairlp.formulate(INSTANCE, "drf").solve(Liar).status.is_optimal
    assert fairlp.conformance.summary(fairlp.conformance.check(Liar()))["failed"] > 0


def test_options_are_heeded_or_refused():
    threads = []

    class Heeds(Dual):
        honours = frozenset({"threads"})

        def run(self, program, options):
            threads.append(options.threads)
            return super().run(program, options)

    fairlp.formulate(INSTANCE, "drf").solve(Heeds(), threads=3)
    assert threads == [3]
    with pytest.raises(
        UnsupportedError, match="Heeds cannot honour the option 'seed'; it honours: threads"
    ):
        fairlp.allocate(INSTANCE, "drf", solver=Heeds(), seed=1)
    with pytest.raises(UnknownNameError, match="solver 'Heeds' has no option 'treads'"):
        fairlp.formulate(INSTANCE, "drf").solve(Heeds(), treads=1)


def test_registering_an_object_a_class_and_a_function():
    for solver in (Dual(), Dual, lambda: Dual(), lambda: Whole(0.0, licence="x")):
        fairlp.register_solver("cbc", solver)  # one's own is replaced
        assert fairlp.solvers().loc["cbc", "available"] and backends.spelt("CBC") == "cbc"
        assert fairlp.allocate(INSTANCE, "drf", solver="cbc").solver == "cbc"
        assert fairlp.formulate(INSTANCE, "drf").solve("Cbc").solver == "cbc"
    with pytest.raises(UnknownNameError, match="did you mean 'cbc'"):
        fairlp.allocate(INSTANCE, "drf", solver="cbbc")


def test_an_object_called_as_ours_is_used_and_not_ours():
    used = []

    class Ours(Dual):
        name = "highs"

        def run(self, program, options):
            used.append(program.name)
            return super().run(program, options)

    allocation = fairlp.allocate(INSTANCE, "drf", solver=Ours())
    assert used and allocation.method == "lp" and fairlp.allocate(INSTANCE, "drf").method != "lp"


def test_the_name_that_carries_an_object_travels():
    name = pickle.loads(pickle.dumps(backends.spelt(Dual())))
    assert name == "Dual" and fairlp.formulate(INSTANCE, "drf").solve(name).verify().is_optimal


def experiment(solver):
    options = {"mechanism": "drf", "method": "lp", "solver": solver}
    return study.Study(
        "s",
        "uniform-integers",
        {"users": [3], "resources": [2]},
        {"own": options, "theirs": "drf"},
        ["summary"],
        runs=2,
    )


@pytest.mark.slow
def test_a_study_takes_registered_names_into_its_workers():
    fairlp.register_solver("travelling", Dual)
    runs = experiment("travelling").run(workers=2, progress=False).frame
    assert len(runs) == 2
    assert experiment("travelling").allocations()["own"].solver == "travelling"


@pytest.mark.slow
def test_the_command_line_takes_files_and_modules(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "tests" / "support" / "own_back_ends.py").read_text(encoding="utf-8")
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    for reference in ("mine.py:Dual", "own_back_ends:Dual"):
        result = run("allocate", "ghodsi", "-m", "drf", "--solver", reference, "--json")
        assert result.exit_code == 0 and json.loads(result.stdout)["solver"] == "Dual", (
            result.output
        )
    fairlp.formulate(INSTANCE, "drf").write("drf.mps")
    result = run("solve", "drf.mps", "--compare", "mine.py:Dual,scipy", "--json")
    assert result.exit_code == 0 and "Dual" in result.stdout, result.output
    assert run("solvers", "mine.py:Dual", "--check").exit_code == 0
    for name, expected in {
        "mine.py:Duel": "did you mean 'Dual'",
        "nothing.py:Dual": "there is no file",
        "no_such_module:Dual": "cannot import",
        "cvxpy:CLARABELL": "did you mean 'CLARABEL'",
        "mine.py:LIES": "a solver is asked for by name",
    }.items():
        assert expected in run("allocate", "ghodsi", "-m", "drf", "--solver", name, code=3).stderr


@pytest.mark.slow
def test_a_class_of_a_script_in_a_new_process(tmp_path):
    """`module:Class` by the installed command's own entry, in a process that knows nothing of it."""
    text = (ROOT / "tests" / "support" / "own_back_ends.py").read_text(encoding="utf-8")
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    process = fairlp_in_a_shell(
        "allocate", "ghodsi", "-m", "drf", "--solver", f"{tmp_path}/mine.py:Dual", "--json"
    )
    assert process.returncode == 0 and json.loads(process.stdout)["solver"] == "Dual", (
        process.stderr
    )


@pytest.mark.parametrize("mechanism", ["drf-milp", "pdrf"])
def test_whole_tasks_of_a_back_end_that_lies_are_refused_or_by_its_word(mechanism):
    """A linear program's optimum is proved by duals that HiGHS finds at the point."""
    honest = fairlp.allocate(
        INSTANCE,
        mechanism,
        method="milp" if mechanism == "drf-milp" else "lp",
        solver=Whole(0.0, licence="x"),
    )
    assert ("optimal as whole says" in honest.unproved) == (mechanism == "drf-milp")

    class Less(Whole):
        def run(self, program, options):
            raw = super().run(program, options)
            return fairlp.Raw(raw.termination, "fine", np.minimum(raw.x, np.floor(raw.x * 0.6)))

    class More(Whole):
        def run(self, program, options):
            raw = super().run(program, options)
            return fairlp.Raw(raw.termination, "fine", raw.x * 9 + 9)

    method = honest.method
    try:
        smaller_allocation = fairlp.allocate(
            INSTANCE, mechanism, method=method, solver=Less(0.0, licence="x")
        )
        assert "says, without duals" in smaller_allocation.unproved
    except (SolverError, NoSolutionError):
        pass
    with pytest.raises((SolverError, NoSolutionError)):
        fairlp.allocate(INSTANCE, mechanism, method=method, solver=More(0.0, licence="x"))
