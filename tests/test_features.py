"""What the page of features says of fairlp beside other tools: what works runs, what is refused is refused."""

import re
import subprocess
import sys
from importlib import metadata
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import fairlp
from fairlp import Index, Model, log
from fairlp.errors import FairlpError
from other_tools import CLAIMS, outcomes
from paths import ROOT
from scripts import benchmark

PAGE = (
    (ROOT / "docs" / "features.md")
    .read_text(encoding="utf-8")
    .partition("## What users of other")[2]
)
ROWS = [
    [cell.strip() for cell in line.split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| ")
]
HEADER = next(row for row in ROWS if "fairlp" in row)
FEATURES = [
    row for row in ROWS if len(row) == len(HEADER) and row[1] and row[1] not in ("fairlp", "---")
]


def names(folder):
    """Return what the code of the page may name."""
    n, i = Index("n", ["ann", "bob", "cat"], "user"), Index("i", ["s1", "s2"], "server")
    t = Index("t", range(4), "step")
    model = Model("page", indices=(n, i, t))
    x, z = model.variable("x", n, i, upper=9), model.variable("z", t, upper=9)
    y = model.variable("y", t)
    c, u = model.parameter("c", n, [1, 2, 3]), model.parameter("u", (), 4)
    model.constraint("most", x.sum(n) <= u)
    model.maximize((c * x).sum() - z.sum())
    whole = Model("whole", indices=(n,))
    k = whole.variable("k", n, integer=True, upper=5)
    whole.constraint("row", 2 * k.sum() <= 9)
    whole.maximize(k.sum())
    instance = fairlp.examples.ghodsi()
    return {
        "instance": instance, "text": fairlp.allocate(instance, "drf").to_json(), "fairlp": fairlp, "log": log,
        "np": np, "folder": folder, "n": n, "i": i, "t": t, "model": model, "x": x, "z": z, "y": y, "c": c,
        "whole": whole, "solution": model.solve(), "mask": np.eye(3, 2) > 0,
        "demand": pd.Series({"cat": 1, "ann": 2, "bob": 3}),
        "costs": pd.DataFrame(1.0, list(n), list(i)).to_numpy(), "sparse": sp.coo_array(np.eye(3, 4)),
        "team": pd.Series(["a", "b", "a"], list(n), name="team"),
    }  # fmt: skip


@pytest.mark.parametrize("row", FEATURES, ids=[row[0].lstrip("| ") for row in FEATURES])
def test_what_the_page_says(row, tmp_path):
    cell = row[1]
    if cell == "missing":
        return
    code = re.search("`(.*)`", cell)[1]
    if "read_program" in code:
        fairlp.formulate(fairlp.examples.ghodsi(), "drf").write(tmp_path / "m.mps")
    if cell.startswith("refused"):
        with pytest.raises((FairlpError, TypeError)):
            eval(code, names(tmp_path))
    else:
        eval(code, names(tmp_path))


def column_of(tool):
    """Return by feature what the page says of a tool."""
    column = [cell.strip("| ").lower() for cell in HEADER].index(tool)
    return {row[0].lstrip("| "): row[column].strip("| ") for row in FEATURES}


def skip_without(tool):
    """Skip where a tool is not installed; it is not imported, because its HiGHS may crash beside ours."""
    if find_spec(tool) is None:
        pytest.skip(f'{tool} is not installed: pip install -e ".[bench]"')


#: The oldest version of a tool that the page speaks of.
VERSIONS = {"cvxpy": (1, 9)}


def says_no(cell):
    """Whether a cell says that the tool has no way, or refuses."""
    return cell.startswith(("–", "refused"))


@pytest.mark.parametrize("tool", CLAIMS)
def test_what_the_page_says_of_another_tool(tool):
    skip_without(tool)
    installed = tuple(map(int, metadata.version(tool).split(".")[:2]))
    if installed < VERSIONS.get(tool, (0,)):
        pytest.skip(f"the page is of a newer {tool}")
    cells = column_of(tool)
    wrong = []
    for start, error in outcomes(tool).items():
        (feature,) = (feature for feature in cells if feature.startswith(start))
        if says_no(cells[feature]) != bool(error):
            wrong.append(
                f"{feature}: the page says {cells[feature]!r}, the code {error or 'works'}"
            )
    assert not wrong


@pytest.mark.parametrize("tool", CLAIMS)
def test_code_tries_whatever_the_page_says_a_tool_cannot_do(tool):
    denied_features = [feature for feature, cell in column_of(tool).items() if says_no(cell)]
    assert len(denied_features) >= 10
    assert not [
        feature for feature in denied_features if not feature.startswith(tuple(CLAIMS[tool]))
    ]


def test_every_tool_of_the_page_but_jump_has_code():
    assert [cell.strip("| ").lower() for cell in HEADER[2:]] == [*CLAIMS, "jump"]


def test_the_page_counts_the_statements_that_the_benchmark_counts():
    with benchmark("ports") as ports:
        text = " ".join(PAGE.lower().split())
        for tool, (their_port, our_port) in ports.PAIRS.items():
            assert (
                f"{tool} {ports.statements(their_port)}, fairlp {ports.statements(our_port)}"
                in text
            )


def printed(*arguments):
    """Return what a process of Python prints: HiGHS of PyOptInterface crashes beside PuLP."""
    return subprocess.run(
        [sys.executable, "-W", "ignore", *arguments],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT / "benchmarks",
    ).stdout


@pytest.mark.parametrize("tool", CLAIMS)
def test_a_ported_model_has_the_same_optimum_in_fewer_statements(tool):
    skip_without(tool)
    line = printed("ports.py", tool).splitlines()[-1]
    figures = re.search(
        r"(\d+) statements, fairlp +(\d+); .*objective (\S+), fairlp (\S+)", line
    ).groups()
    their_statements, our_statements, their_optimum, our_optimum = map(float, figures)
    assert our_statements < their_statements
    assert our_optimum == pytest.approx(their_optimum, rel=1e-6)


def test_the_transport_plan_of_the_benchmark_is_built_by_every_tool_that_is_installed():
    table = printed("-c", "import compile_drfh; compile_drfh.hand_over(3, 4)")
    for tool in ("arrays by hand", "to_highs()", "linopy", "PyOptInterface", "Pyoframe"):
        assert tool in table
    for package in ("linopy", "pyoptinterface", "pyoframe"):
        if find_spec(package) is not None:
            assert f"{package} is not installed" not in table


def test_the_page_has_the_features_that_users_ask_for():
    assert len(FEATURES) >= 45 and sum(row[1] == "missing" for row in FEATURES) <= 3
