"""What a command does not use it does not import, and packages that are imported late are the packages."""

from __future__ import annotations

import sys

import pandas as pd
import pytest

import fairlp
from cli_runner import IN_A_ROW, python, run
from fairlp.cli.app import HEAVY, import_late

#: of each package what is only there when it was really imported, and not something that stands for
#: it
REAL = {
    "numpy": "numpy",
    "pandas": "pandas.core",
    "scipy.sparse": "scipy.sparse._base",
    "scipy.linalg": "scipy.linalg._basic",
    "rich": "rich.console",
    **{
        name: name
        for name in ("highspy", "matplotlib", "cvxpy", "pyomo", "yaml", "jsonschema", "jinja2")
    },
    **{name: name for name in ("fairlp.api", "fairlp.models.programs.program")},
}
SOLVING = (
    "highspy",
    "matplotlib",
    "cvxpy",
    "pyomo",
    "yaml",
    "jsonschema",
    "jinja2",
    "scipy.sparse",
    "scipy.linalg",
)


def test_the_package_runs_as_a_module():
    done = python("-m", "fairlp", "--version")
    assert done.stdout == f"fairlp {fairlp.__version__}\n", done.stderr


@pytest.mark.parametrize(
    ("commands", "needless"),
    [
        (["--help", "--version", "study --help"], list(REAL)),
        (["mechanisms"], [*SOLVING, "pandas", "fairlp.api"]),
        (["allocate ghodsi"], SOLVING),
    ],
)
def test_a_command_imports_nothing_that_it_does_not_use(commands, needless):
    done = python("-c", f"{IN_A_ROW}print(*sys.modules, file=sys.stderr)", *commands)
    assert done.returncode == 0 and done.stdout, done.stderr
    there = set(done.stderr.split())
    assert not [name for name in needless if REAL[name] in there]
    assert "fairlp.cli" in there


def test_what_is_imported_late_is_the_package():
    script = (
        "import sys\n"
        "from fairlp.cli.app import HEAVY, import_late\n"
        "import_late()\n"
        "assert all(name in sys.modules for name in HEAVY)\n"
        "import pandas as pd, scipy.sparse as sp\n"
        "from scipy import linalg\n"
        "from scipy import sparse\n"
        "assert 'pandas.core' not in sys.modules and 'scipy.sparse._base' not in sys.modules\n"
        "print(pd.DataFrame({'a': [1, 2]}).a.sum(), sp.eye_array(3).nnz, sparse.csr_array, linalg.det([[2.0]]))\n"
        "import pandas, pickle\n"
        "assert pandas is not pd and pandas.DataFrame is pd.DataFrame and sys.modules['pandas'] is pandas\n"
        "assert pickle.loads(pickle.dumps(pandas.Series([3]))).item() == 3\n"
        "from scipy.sparse import csr_array\n"
        "assert csr_array is sparse.csr_array\n"
        "try:\n    pd.no_such_name\nexcept AttributeError as error:\n    print(error)\n"
    )
    done = python("-c", script)
    assert done.stdout.splitlines() == [
        "3 3 <class 'scipy.sparse._csr.csr_array'> 2.0",
        "module 'pandas' has no attribute 'no_such_name'",
    ], done.stderr


def test_what_is_there_stays():
    before = {name: sys.modules.get(name) for name in HEAVY if name in sys.modules}
    assert before["pandas"] is pd
    import_late(tuple(before))
    assert {name: sys.modules[name] for name in before} == before


def test_help_says_all_of_what_each_command_does():
    said = " ".join(run("--help").stdout.split())
    assert (
        "allocate Share the cluster by a mechanism: the tasks of each user on each server. compare Share"
        in said
    )
    assert "…" not in said and "..." not in said.replace("[ARGS]...", "")
