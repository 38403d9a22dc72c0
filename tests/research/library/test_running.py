"""Solvers on the library: only proved answers count, and Ctrl-C keeps finished solves."""

from __future__ import annotations

import json
from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest

import fairlp
import fairlp_research
from fairlp.models.programs import backends
from fairlp_research.library import running
from fairlp_research.library.process import solve_and_certify
from fairlp_research.library.running import Results, SolverResult, judged
from own_back_ends import LIES, Dual, Whole, liar
from planted_solvers import DIES, Moody

library = fairlp_research.library
TIES = library.load("ties", triples=2, doublings=1)
ZEROS = library.load("zeros", users=5, servers=3)
POOL = library.load("whole-pool", users=4, resources=2, tasks=3)


def judge(entry, solver):
    return judged(entry, "one", solve_and_certify(entry.program(), solver))


@pytest.mark.parametrize("entry", [TIES, ZEROS], ids=["ties", "zeros"])
def test_an_honest_solver_is_certified(entry):
    judgement = judge(entry, Dual())
    assert judgement.accepted and judgement.verdict == "certified" and 0 < judgement.seconds < 60
    assert (
        judgement.objective == pytest.approx(float(entry.optimum.value), rel=1e-9)
        and judgement.gap <= 1e-9
    )


@pytest.mark.parametrize("entry", [TIES, ZEROS], ids=["ties", "zeros"])
@pytest.mark.parametrize("lie", LIES)
def test_a_solver_that_lies_is_not_counted(entry, lie):
    judgement = judge(entry, liar(LIES[lie]))
    assert not judgement.accepted and judgement.seconds == float("inf"), judgement


def test_a_lie_without_duals_is_not_counted():
    """Half of an optimum is feasible, and nothing but what is known of the optimum tells."""

    class Half(Whole):
        def run(self, program, options):
            raw = super().run(program, options)
            return replace(raw, x=np.floor(raw.x / 2) if program.is_mip else raw.x / 2)

    for entry, verdict in (
        (POOL, "not feasible"),
        (TIES, "not the optimum"),
        (ZEROS, "not the optimum"),
    ):
        honest = judge(entry, Whole(0.0, licence="x"))
        proof = "known optimum" if entry is POOL else "certified"  # HiGHS finds duals at the point
        assert honest.accepted and honest.verdict == proof and honest.gap <= 1e-7
        judgement = judge(entry, Half(0.0, licence="x"))
        assert not judgement.accepted and judgement.verdict in (verdict, "not the optimum"), (
            judgement
        )


def test_without_duals_and_without_a_known_optimum_nothing_is_proved(monkeypatch):
    from fairlp_research.library import entry as module

    monkeypatch.setattr(module, "MOST_ROWS", 1)
    monkeypatch.setattr(backends, "with_duals", lambda solution: solution)
    fresh = library.load("zeros", users=4, servers=2)
    judgement = judge(fresh, Whole(0.0, licence="x"))
    assert not judgement.accepted and judgement.verdict == "not proved" and np.isnan(judgement.gap)


def test_a_certificate_beside_a_closed_form_that_is_wrong_is_not_counted():
    record = solve_and_certify(TIES.program(), Dual())
    wrong_record = {**record, "objective": record["objective"] * 1.001}
    verdicts = judged(TIES, "one", wrong_record)
    assert (
        not verdicts.accepted
        and verdicts.verdict == "not the optimum"
        and "is not the optimum" in verdicts.message
    )


@pytest.mark.parametrize("width", [1, 3])
def test_an_optimum_of_0_is_measured_by_its_terms(width):
    entry = library.load("njc-circle", users=5, width=width)
    record = solve_and_certify(entry.program(), "interior-point")
    assert judged(entry, "one", record).verdict == "certified" and record["terms"] == pytest.approx(
        1.0
    )
    wrong_by_little = {**record, "objective": record["objective"] - 1e-6}
    assert judged(entry, "one", wrong_by_little).verdict == "not the optimum"


def test_what_a_solver_cannot_do_is_told():
    judgement = judge(POOL, Dual())
    assert not judgement.accepted and judgement.verdict == judgement.status == "unable"

    class Broken(Dual):
        def run(self, program, options):
            raise RuntimeError("boom")

    judgement = judge(TIES, Broken)
    assert judgement.status == "failed" and "boom" in judgement.message

    class Hopeless(Dual):
        def run(self, program, options):
            return fairlp.Raw(fairlp.Termination.ITERATION_LIMIT, "tired")

    judgement = judge(TIES, Hopeless)
    assert not judgement.accepted and judgement.status == "iteration limit"


@pytest.mark.slow
def test_a_process_that_dies_harms_no_other_solve():
    dying = library.load("zeros", users=DIES - 18, servers=6)
    results = library.run([Moody], [TIES, dying, library.load("uniform", users=5, servers=2)])
    assert results.complete and results.solvers == ("moody",)
    assert [row.status for row in results.rows] == ["optimal", "died", "optimal"]
    assert [row.accepted for row in results.rows] == [True, False, True]
    assert "exit code 7" in results.rows[1].message
    assert results.profile().within(1e9).to_dict() == {"moody": pytest.approx(2 / 3)}


@pytest.mark.slow
def test_solves_run_where_the_caller_configured_joblib():
    with joblib.parallel_config(backend="threading", n_jobs=2):
        results = library.run(["highs"], ["ties", "zeros", "njc-circle"])
    assert [row.entry for row in results.rows] == ["ties", "zeros", "njc-circle"]
    assert all(row.accepted for row in results.rows)


def test_a_solver_that_cannot_travel_is_refused_at_once():
    class Locked(Dual):
        def __reduce__(self):
            raise TypeError("holds a licence")

    with pytest.raises(
        fairlp.errors.UnsupportedError, match="cannot go to a process of its own: holds a licence"
    ):
        library.run([Locked()], ["ties"])


def failing(entry, solver, time_limit, memory, repeat):
    """An answer without a process."""
    return {"status": "failed", "message": "planted"}


def interrupted(entry, solver, time_limit, memory, repeat):
    """Ctrl-C in the second solve of SciPy."""
    if (entry.name, solver) == ("many-rounds", "scipy"):
        raise KeyboardInterrupt
    return failing(entry, solver, time_limit, memory, repeat)


def test_ctrl_c_keeps_finished_solves(monkeypatch):
    monkeypatch.setattr(running, "solve_apart", interrupted)
    results = library.run(["highs", "scipy"], ["ties", "many-rounds", "zeros"])
    assert not results.complete and [(row.entry, row.solver) for row in results.rows] == [
        ("ties", "highs"), ("ties", "scipy"), ("many-rounds", "highs"),
    ]  # fmt: skip
    assert list(results.times().index) == ["ties"] and "interrupted" in repr(results)


def results():
    """Results by hand: two solvers, a linear program that both solve and an integer one that one solves."""
    rows = (
        SolverResult("ties", "LP", "a", True, "certified", "optimal", 1.0, 0.5),
        SolverResult("ties", "LP", "b", True, "certified", "optimal", 3.0, 0.5),
        SolverResult("whole-pool", "MILP", "a", False, "not feasible", "optimal"),
        SolverResult("whole-pool", "MILP", "b", True, "known optimum", "optimal", 2.0, 0.25),
    )
    return Results(rows, ("a", "b"), {"alibaba-gpu": "no data"}, {"size": "small"})


def test_profiles_are_of_all_programs_or_of_a_kind():
    library_results = results()
    assert library_results.profile().ratios.to_numpy().tolist() == [[1, 3], [float("inf"), 1]]
    assert library_results.profile("LP").ratios.to_numpy().tolist() == [[1, 3]]
    with pytest.raises(fairlp.errors.UnknownNameError, match="there are LP, MILP"):
        library_results.profile("QP")
    assert repr(library_results) == "<Results of 2 solvers: 3 of 4 answers accepted>"


def test_results_are_written(tmp_path):
    library_results = results()
    data = json.loads(library_results.write(tmp_path / "r.json").read_text(encoding="utf-8"))
    assert (
        data["settings"] == {"size": "small"}
        and data["left_out"] == {"alibaba-gpu": "no data"}
        and data["complete"]
    )
    assert [row["seconds"] for row in data["results"]] == [1.0, 3.0, None, 2.0]
    assert {row["solver"]: row["solved"] for row in data["profile"]} == {"a": 0.5, "b": 1.0}
    table = pd.read_csv(library_results.write(tmp_path / "r.csv"))
    assert table["verdict"].tolist() == ["certified", "certified", "not feasible", "known optimum"]
    with pytest.raises(fairlp.errors.FileFormatError, match=r"expected \.json, \.csv"):
        library_results.write(tmp_path / "r.txt")


def test_numbers_of_numpy_are_written_as_those_of_python():
    row = SolverResult(
        "ties",
        "LP",
        "a",
        np.True_,
        "certified",
        "optimal",
        np.float64(1.5),
        np.float32(0.5),
        np.float64("nan"),
    )
    (record,) = json.loads(json.dumps(Results((row,), ("a",), {}, {}).to_dict()))["results"]
    assert record["accepted"] is True and (record["seconds"], record["objective"]) == (1.5, 0.5)
    assert None in record.values()
