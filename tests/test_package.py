"""What a release needs says the same everywhere."""

import inspect
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import fairlp
import fairlp_research
from fairlp.mechanisms.literature import REFERENCES
from fairlp_research.papers.reproducing import OURS
from fairlp_research.simulation import experiments
from paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_citation_is_of_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == fairlp.__version__ and citation["license"] == PROJECT["license"]
    page = (ROOT / "docs" / "about.md").read_text(encoding="utf-8")
    assert f"version = {{{fairlp.__version__}}}" in page


def test_the_citation_names_the_papers_that_are_computed_again_as_bibtex_does():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    references = {reference.title: reference for reference in REFERENCES}
    assert len(citation["references"]) == len(OURS)
    for cited in citation["references"]:
        reference = references[cited["title"]]
        names = [f"{author['given-names']} {author['family-names']}" for author in cited["authors"]]
        venue = cited["conference"]["name"] if "conference" in cited else cited["notes"]
        assert " and ".join(names) == reference.author and venue == reference.venue
        assert cited.get("year") == reference.year
        assert cited.get("doi", "") == reference.doi
        assert cited.get("url", "") == ("" if reference.doi else reference.url)


def test_the_conda_recipe_needs_what_the_package_needs():
    recipe = (ROOT / "packaging" / "conda" / "meta.yaml").read_text(encoding="utf-8")
    assert f'version = "{fairlp.__version__}"' in recipe
    run = recipe.split("  run:\n")[1].split("\n\n")[0]
    requirements = {tuple(line.strip("- ").split(" >=")) for line in run.splitlines()}
    # on conda, CVXPY without its optional solvers is cvxpy-base
    expected = {
        tuple(requirement.replace("cvxpy", "cvxpy-base").split(">="))
        for requirement in PROJECT["dependencies"]
    }
    assert requirements == expected | {("python", PROJECT["requires-python"].removeprefix(">="))}


def test_the_oldest_versions_are_those_of_the_metadata():
    command = [sys.executable, str(ROOT / "packaging" / "oldest.py")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert [line.split("==") for line in printed] == [
        requirement.split(">=") for requirement in PROJECT["dependencies"]
    ]


@pytest.mark.parametrize(
    "name",
    [
        ".pre-commit-config.yaml",
        ".github/workflows/tests.yml",
        *(f".github/ISSUE_TEMPLATE/{form}.yml" for form in ("wish", "wrong-answer")),
    ],
)
def test_what_tools_read_is_yaml(name):
    assert yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_versions_of_python_are_those_that_the_tests_run_on():
    workflow = yaml.safe_load(
        (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    )
    prefix = "Programming Language :: Python :: 3."
    named = [
        classifier.rpartition(" ")[2]
        for classifier in PROJECT["classifiers"]
        if classifier.startswith(prefix)
    ]
    assert set(named) <= set(workflow["jobs"]["tests"]["strategy"]["matrix"]["python"])
    assert named[0] == PROJECT["requires-python"].removeprefix(">=")


def test_a_users_strict_module_runs(capsys):
    runpy.run_path(str(ROOT / "packaging" / "strict_user.py"), run_name="__main__")
    assert capsys.readouterr().out.rstrip().endswith("True")


@pytest.mark.parametrize(
    "name", ["CONTRIBUTING", "SECURITY", "CODE_OF_CONDUCT", "packaging/RELEASE"]
)
def test_pages_for_contributors_lead_somewhere(name):
    path = ROOT / f"{name}.md"
    text = path.read_text(encoding="utf-8")
    assert len(text) > 500
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert target.startswith("https://") or (path.parent / target).exists(), target


def test_no_file_of_fairlp_is_a_pickle_but_those_of_a_folder_that_the_user_names():
    """The runner keeps values by joblib.Memory, whose files are pickles; SECURITY.md says so."""
    package = Path(fairlp.__file__).parent
    runner = package / "research" / "runner.py"
    # A process and the process that it began itself hand each other objects through pipes.
    pipes = package / "library" / "process.py"
    for path in package.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not any(word in text for word in ("joblib.load", "joblib.dump")), path
        assert "Memory(" not in text or path == runner, path
        if path == pipes:
            assert not any(word in text for word in (" open(", ".open(", "Path")), path
            continue
        if path == runner:
            text = text.replace("from cloudpickle import register_pickle_by_value", "")
        names = ("pickle", "marshal", "shelve", "dill", "cloudpickle")
        assert not any(f"import {name}" in text for name in names), path
        assert not any(f"from {name} import" in text for name in names), path
    for function in (
        fairlp_research.study.Study.run,
        fairlp_research.reproduce,
        experiments.compare_policies,
    ):
        assert inspect.signature(function).parameters["folder"].default is None
    assert "pickles" in (ROOT / "SECURITY.md").read_text(encoding="utf-8")
