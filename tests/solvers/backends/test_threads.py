"""Every back end that is installed solves in ten threads at once: each has its own answer, and none waits for ever."""

from __future__ import annotations

import subprocess
import sys

import pytest

import fairlp
from fairlp.models.programs.backends import OWN

TABLE = fairlp.solvers()
INSTALLED = [str(name) for name in TABLE.index[TABLE["available"]] if name not in OWN]
#: Seconds after which a process that solves ten programs of one column stands still.
PATIENCE = 120
SCRIPT = """
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from fairlp import Model

solver = sys.argv[1]
models = []
for k in range(10):
    model = Model("m")
    x = model.variable("x", upper=k + 1)
    y = model.variable("y", upper=3)
    model.constraint("both", x + y <= k + 2)
    model.maximize(2 * x + y)
    models.append(model)
together = Barrier(10)


def objective(model):
    together.wait()
    return [model.solve(solver=solver).objective for _ in range(3)]


with ThreadPoolExecutor(10) as pool:
    for k, objectives in enumerate(pool.map(objective, models)):
        assert all(abs(value - (2 * k + 3)) < 1e-3 for value in objectives), (k, objectives)
print("ten answers")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "solver",
    INSTALLED,
)
def test_ten_threads_have_ten_answers(solver):
    process = subprocess.run(
        [sys.executable, "-c", SCRIPT, solver],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert process.returncode == 0 and process.stdout == "ten answers\n", process.stderr
