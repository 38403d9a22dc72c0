"""The small installations of docs/install.md are enough for what the page says, and errors name the rest."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires

import pytest

from pages import text_of
from paths import ROOT

#: The page's two lists of packages, with their versions.
RECIPES = [
    re.findall(r'"([^"]+)"', line)
    for line in text_of("install.md").splitlines()
    if line.startswith("pip install --no-compile ") and "--no-deps" not in line
]
DEPENDENCIES = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "dependencies"
]
#: Python finds no module of the packages that an installation lacks, as if their folders were not there.
WITHOUT = """
import sys
from importlib.machinery import PathFinder

class Installed(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] not in {missing!r}:
            return PathFinder.find_spec(name, path, target)

sys.meta_path = [Installed if finder is PathFinder else finder for finder in sys.meta_path]
"""


def name_of(requirement):
    """The name of a package in a requirement, as indices write it."""
    return re.match(r"[\w.-]+", requirement)[0].lower().replace("_", "-").replace(".", "-")


def with_what_they_require(names):
    """Packages, with those that pip brings for them."""
    complete, waiting = set(), set(names)
    while waiting:
        name = waiting.pop()
        complete.add(name)
        try:
            requirements = requires(name) or []
        except PackageNotFoundError:  # of another system or Python
            continue
        needed = {name_of(line) for line in requirements if "extra ==" not in line}
        waiting |= needed - complete
    return complete


def run_with(recipe, code):
    """Run code in a Python that has only these packages; return what it prints."""
    installed = with_what_they_require(map(name_of, recipe)) | {"fairlp"}
    missing = {
        module
        for module, packages in packages_distributions().items()
        if not installed & {name_of(package) for package in packages}
    }
    assert {"pyomo", "cvxpy", "scs"} <= missing
    command = [sys.executable, "-W", "error", "-c", WITHOUT.format(missing=missing) + code]
    process = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120)
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_the_recipes_ask_for_the_versions_of_the_project():
    small, command_line = RECIPES
    assert set(small) < set(command_line) < set(DEPENDENCIES)
    assert {name_of(line) for line in set(DEPENDENCIES) - set(command_line)} == {"cvxpy", "pyomo"}


MODELS = """
import fairlp
from fairlp import Index, Model

i = Index("i", range(3))
model = Model("m", indices=(i,))
x = model.variable("x", i, upper=2, integer=True)
model.constraint("most", x.sum() <= 5.5)
model.maximize(x.sum())
assert round(model.solve().objective, 9) == 5
model.write("m.mps")
model.write("m.lp")
assert round(fairlp.read_program("m.mps").solve().objective, 9) == 5
cluster = fairlp.examples.load("wang-figure-1")
assert fairlp.allocate(cluster, "drfh").totals.round(6).tolist() == [10, 10]
assert fairlp.allocate(cluster, "drfh", method="interior-point").certify().holds
assert fairlp.allocate(fairlp.examples.load("ghodsi"), "drf").totals.round(6).tolist() == [3, 2]
assert fairlp.compare(cluster, ["drfh", "naive-drf"]).shape == (2, 2)
assert len(fairlp.audit(cluster, fairlp.allocate(cluster, "drfh")))
assert fairlp.solvers().loc["highs", "available"]
assert not fairlp.solvers().loc["cvxpy:CLARABEL", "available"]
"""


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES, ids=["small", "command-line"])
def test_models_highs_and_mps_need_only_the_packages_of_the_recipe(recipe, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_with(recipe, MODELS)
    assert {path.name for path in tmp_path.iterdir()} == {"m.mps", "m.lp"}


NEEDED = {
    "fairlp.read('cluster.yaml')": "pyyaml",
    "fairlp_clusters.snapshot('pods.json')": "pyyaml",
    "model.to_pyomo()": "pyomo",
    "model.to_cvxpy()": "cvxpy",
    "model.write('m.nl')": "pyomo",
    "model.solve('pyomo:highs')": "pyomo",
    "model.solve('cvxpy:CLARABEL')": "cvxpy",
    "fairlp_research.study.Study(name='s', generator='uniform-integers', grid={'users': [3], 'resources': [2]}, "
    "mechanisms=['drf'], runs=2).run(progress=False)": "joblib",
    "fairlp_research.library.load('ties')": "cloudpickle",
    "__import__('fairlp.cli')": "typer",
}


@pytest.mark.slow
def test_what_is_left_out_says_how_to_install_it():
    lines = [
        "import fairlp, fairlp_clusters, fairlp_research",
        "model = fairlp.Model('m')",
        "x = model.variable('x', upper=3)",
    ]
    lines += ["model.maximize(x)"]
    for call in NEEDED:
        lines += ["try:", f"    {call}", "    print('worked')"]
        lines += ["except fairlp.FairlpError as error:", "    print(error)"]
    answers = run_with(RECIPES[0], "\n".join(lines)).splitlines()
    for (call, package), answer in zip(NEEDED.items(), answers, strict=True):
        assert answer.endswith(f"pip install {package}"), (call, answer)


FILES = """
import fairlp
import fairlp_research

cluster = fairlp.examples.load("ghodsi")
cluster.write("cluster.yaml")
assert (fairlp.read("cluster.yaml").demands == cluster.demands).all()
experiment = fairlp_research.study.Study(
    name="s", generator="uniform-integers", grid={"users": [3], "resources": [2]}, mechanisms=["drf"], runs=2
)
assert len(experiment.run(progress=False).frame) == 2
assert fairlp_research.library.load("ties").name
"""


@pytest.mark.slow
def test_files_studies_and_the_library_need_neither_cvxpy_nor_pyomo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_with(RECIPES[1], FILES)


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [["--help"], ["compare", "google-cluster"], ["mechanisms", "drfh"]]
)
def test_the_command_line_needs_neither_cvxpy_nor_pyomo(arguments):
    code = f"import sys\nsys.argv = ['fairlp', *{arguments!r}]\nfrom fairlp.cli import main\nmain()"
    assert run_with(RECIPES[1], code)
