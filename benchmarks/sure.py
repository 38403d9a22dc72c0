"""As sure as the solvers: what they settle alone is settled here, with the same status and optimum.

    python benchmarks/sure.py [--files FOLDER] [--programs N] [--integers N] [--kueue N] [--seed S] [--solvers A,B]

Every MPS and LP file of a folder (netlib, relaxations of MIPLIB, tests of other tools), relaxed, beside what HiGHS
or GLPK alone say of it; random linear programs of ordinary kinds with noise of 1e-16 to 1e-12 mixed in, beside
HiGHS on the same without noise; small integer programs with bounds from 9 to 10⁹ beside HiGHS as delivered, SCIP and
enumeration; and small random instances of ``kueue``, which must not end in an error. Exits 1 where one is
undecided, refused or different.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from multiprocessing import TimeoutError as NoAnswerError, get_context
from pathlib import Path

import highspy
import numpy as np
from measure import console, machine, show

import fairlp
from fairlp.errors import FairlpError, FairlpWarning

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from cohort_instances import instance_of, random_cohorts
from plain_programs import (
    KINDS,
    Arrays,
    by_enumeration,
    by_highs_alone,
    by_scip_alone,
    ordinary,
    small_integer_program,
    with_noise,
)

SOLVERS = ("highs", "glpk", "scipy", "clarabel")
#: What an optimum may be off, relative to it or to 1.
AGREE = 1e-6
#: Back ends that take integers.
INTEGER_SOLVERS = ("highs", "scipy", "glpk", "scip", "pyomo:highs", "cvxpy:HIGHS")
#: Of these, the ones whose branch and bound may have no end where HiGHS's does.
MAY_NOT_END = ("glpk", "scip")
#: Seconds for a file on a solver.
LIMIT = 300.0
#: Seconds for a small integer program; HiGHS alone never ends on some.
PATIENCE = 10.0

READ_BY_HIGHS = """
import highspy, json, sys
highs = highspy.Highs()
highs.setOptionValue("output_flag", False)
highs.setOptionValue("solve_relaxation", True)
highs.readModel(sys.argv[1])
highs.run()
print(json.dumps([highs.modelStatusToString(highs.getModelStatus()), highs.getInfo().objective_function_value]))
"""
READ_BY_GLPK = """
import json, sys
import swiglpk as glp
glp.glp_term_out(glp.GLP_OFF)
problem = glp.glp_create_prob()
readers = (lambda: glp.glp_read_mps(problem, glp.GLP_MPS_FILE, None, sys.argv[1]),
           lambda: glp.glp_read_mps(problem, glp.GLP_MPS_DECK, None, sys.argv[1]),
           lambda: glp.glp_read_lp(problem, None, sys.argv[1]))
status = "unread"
if any(read() == 0 for read in readers):
    glp.glp_scale_prob(problem, glp.GLP_SF_AUTO)
    glp.glp_adv_basis(problem, 0)
    code = glp.glp_simplex(problem, None)
    names = {glp.GLP_OPT: "Optimal", glp.GLP_NOFEAS: "Infeasible", glp.GLP_UNBND: "Unbounded"}
    status = names.get(glp.glp_get_status(problem), "undecided") if code == 0 else f"code {code}"
print(json.dumps([status, glp.glp_get_obj_val(problem)]))
"""
READ_BY_FAIRLP = """
import json, sys, fairlp
solution = fairlp.read_program(sys.argv[1]).relaxed().solve(sys.argv[2])
value = solution.objective if solution.is_feasible else None
print(json.dumps([solution.status.termination.value.capitalize(), value, solution.status.message]))
"""


def asked(code: str, *arguments: str) -> list:
    """What a script says in a process of its own."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=LIMIT
        )
    except subprocess.TimeoutExpired:
        return ["no answer", None]
    lines = done.stdout.strip().splitlines()
    return json.loads(lines[-1]) if lines else [done.stderr.strip().splitlines()[-1][:160], None]


def equal(one: float, two: float) -> bool:
    return abs(one - two) <= AGREE * max(1.0, abs(two))


def files(folder: Path, solvers: list[str]) -> list[str]:
    """Compare all files of a folder, and return what differs."""
    faults = []
    counts: Counter[tuple[str, str]] = Counter()
    paths = sorted(path for path in folder.rglob("*") if path.suffix in (".mps", ".lp"))
    for path in paths:
        alone = [asked(READ_BY_HIGHS, str(path)), asked(READ_BY_GLPK, str(path))]
        settled = [word for word in alone if word[0] in ("Optimal", "Infeasible", "Unbounded")]
        for solver in solvers:
            status, value, *message = asked(READ_BY_FAIRLP, str(path), solver)
            right = [word for word in settled if word[0] == status]
            if status == "Optimal":
                right = [word for word in right if equal(value, word[1])]
            outcome = "settled" if right else "open to both" if not settled else "different"
            counts[solver, outcome] += 1
            if outcome == "different":
                faults.append(f"{path.name} on {solver}: {status} {value} {message}; alone {alone}")
    rows = [
        [solver, *(str(counts[solver, o]) for o in ("settled", "open to both", "different"))]
        for solver in solvers
    ]
    show(f"{len(paths)} files", ["solver", "settled", "open to both", "different"], rows)
    return faults


def by_highs(arrays: Arrays) -> float:
    """HiGHS's optimum of plain arrays."""
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    rows, columns = arrays.A.shape
    for low, high in zip(arrays.x_lower, arrays.x_upper, strict=True):
        highs.addVar(low, high)
    for column in range(columns):
        highs.changeColCost(column, arrays.c[column])
    for row in range(rows):
        places = np.flatnonzero(arrays.A[row]).astype(np.int32)
        low, high = arrays.lower[row], arrays.upper[row]
        highs.addRow(low, high, len(places), places, arrays.A[row, places])
    highs.run()
    assert highs.modelStatusToString(highs.getModelStatus()) == "Optimal"
    return highs.getInfo().objective_function_value


def programs(count: int, seed: int, solvers: list[str]) -> list[str]:
    """Solve random programs with noise, and return what differs from HiGHS's optimum without it."""
    faults = []
    for number in range(seed, seed + count):
        rng = np.random.default_rng(number)
        kind = KINDS[number % len(KINDS)]
        plain = ordinary(kind, rng)
        noisy = with_noise(plain, rng, 10.0 ** rng.uniform(-16, -12)).program()
        right = by_highs(plain)
        for solver in solvers:
            try:
                solution = noisy.solve(solver)
                said = str(solution.status)
                is_right = solution.status.is_optimal and equal(solution.objective, right)
                said += f", {solution.objective!r}" if solution.status.is_optimal else ""
            except FairlpError as error:
                is_right, said = False, str(error)
            if not is_right:
                faults.append(f"{kind} {number} on {solver}: {said}; right {right!r}")
    console.print(f"{count} programs with noise on {', '.join(solvers)}: {len(faults)} differ")
    return faults


def patiently(function: Callable, tasks: list) -> Iterator:
    """What a function returns for each task, in a process of its own; None where it does not end."""
    context = get_context("spawn")
    pool = context.Pool(1)
    for task in tasks:
        try:
            yield pool.apply_async(function, (task,)).get(PATIENCE)
        except NoAnswerError:
            pool.terminate()
            pool = context.Pool(1)
            yield None
    pool.terminate()


def integer_answers_alone(seed: int) -> list[tuple[str, float]]:
    """What HiGHS, SCIP and enumeration say of a small integer program."""
    arrays = small_integer_program(seed)
    enumerated = by_enumeration(arrays)
    alone = [by_highs_alone(arrays), by_scip_alone(arrays)]
    return [enumerated] if enumerated is not None else alone


def integer_answer(task: tuple[int, str]) -> tuple[str, float, str]:
    """What fairlp says of a small integer program on a back end."""
    warnings.simplefilter("ignore", FairlpWarning)
    seed, solver = task
    try:
        solution = small_integer_program(seed).program().solve(solver)
    except FairlpError as error:
        return type(error).__name__, float("nan"), str(error)
    value = solution.objective if solution.is_feasible else float("nan")
    return solution.status.termination.value.capitalize(), value, str(solution.status)


def integers(count: int, seed: int, solvers: list[str]) -> list[str]:
    """Solve small integer programs, and return what differs from each answer that is settled alone."""
    faults = []
    seeds = list(range(seed, seed + count))
    settled = {}
    for number, answers in zip(seeds, patiently(integer_answers_alone, seeds), strict=True):
        words = [answer for answer in answers or () if answer[0] in ("Optimal", "Infeasible")]
        if words:
            settled[number] = words
    for solver in solvers:
        tasks = [(number, solver) for number in settled]
        unequal = unanswered = 0
        for (number, _), answer in zip(tasks, patiently(integer_answer, tasks), strict=True):
            if answer is None and solver in MAY_NOT_END:
                unanswered += 1
                continue
            status, value, message = answer or ("no answer", float("nan"), "")
            right = [word for word in settled[number] if word[0] == status]
            if status == "Optimal":
                right = [word for word in right if equal(value, word[1])]
            if not right:
                unequal += 1
                faults.append(
                    f"integers {number} on {solver}: {status} {value!r}, {message}; alone "
                    f"{settled[number]}"
                )
        console.print(
            f"{len(tasks)} integer programs on {solver}: {unequal} differ, {unanswered} without an "
            f"answer in {PATIENCE:g} s"
        )
    return faults


def quotas(count: int, seed: int) -> list[str]:
    """Share small trees of quotas, and return the errors."""
    faults = []
    for number in range(seed, seed + count):
        instance = instance_of(*random_cohorts(number))
        try:
            fairlp.allocate(instance, "kueue")
        except FairlpError as error:
            faults.append(f"kueue {number}: {type(error).__name__}: {error}")
    console.print(f"{count} small instances of kueue: {len(faults)} errors")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=Path, help="folder of MPS and LP files, if present")
    parser.add_argument("--programs", type=int, default=2_000)
    parser.add_argument("--integers", type=int, default=3_000)
    parser.add_argument("--integer-solvers", default=",".join(INTEGER_SOLVERS))
    parser.add_argument("--kueue", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--solvers", default=",".join(SOLVERS))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", FairlpWarning)
    solvers = arguments.solvers.split(",")
    console.print(machine("highspy", "swiglpk", "clarabel", "scipy", "numpy"))
    faults = []
    if arguments.files is not None and arguments.files.is_dir():
        faults += files(arguments.files, solvers)
    faults += programs(arguments.programs, arguments.seed, solvers)
    faults += integers(arguments.integers, arguments.seed, arguments.integer_solvers.split(","))
    faults += quotas(arguments.kueue, arguments.seed)
    for fault in faults:
        console.print(fault, markup=False, highlight=False)
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
