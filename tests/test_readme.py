"""The README tells the truth: its example runs with its own output, its commands exist, its links lead somewhere."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import fairlp
from fairlp.models.programs.backends import OWN

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_prints_what_the_readme_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    result = doctest.testfile(str(ROOT / "README.md"), module_relative=False, optionflags=flags)
    assert result.attempted >= 6 and result.failed == 0
    text = (tmp_path / "drfh.mps").read_text(encoding="utf-8")
    assert "capacity.big_memory.cpu" in text and "g.ann.big_cpu" in text


def test_the_commands_of_ci_are_in_the_readme():
    for name, last in (("main-job", "fairlp compare google-cluster"), ("tests", "pytest -q -n 2")):
        block = re.search(rf"<!-- {name} -->\n```bash\n(.+)\n```", README)
        assert (
            block and block[1].startswith("python3 -m venv .venv && ") and block[1].endswith(last)
        )


def test_its_numbers_are_those_of_the_code():
    assert f"{len(fairlp.mechanisms())} in all" in README
    table = fairlp.solvers()
    built_in = table[~table.index.isin(OWN)]  # other tests register some of their own
    front = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    solvers = {_solver(str(name)) for name in built_in.index}
    for page in (README, front):
        text = " ".join(page.split())
        assert f"any of {len(solvers)} solvers" in text
        assert f"through {len(built_in)} back ends" in text
    checker = (ROOT / "src" / "fairlp_check.py").read_text(encoding="utf-8")
    assert "a checker of 300 lines" in README and len(checker.splitlines()) <= 300
    assert len(README.splitlines()) <= 80


def _solver(back_end: str) -> str:
    """Return the solver of a back end: without the modelling language and the method."""
    return re.split("[-_]", back_end.split(":")[-1].lower())[0]


def test_a_solver_counts_once_by_whatever_it_is_called():
    assert _solver("cvxpy:GLPK_MI") == _solver("pyomo:glpk") == _solver("glpk") == "glpk"
    assert _solver("highs-ipm") == _solver("cvxpy:HIGHS") == "highs"
    assert _solver("ortools:PDLP") == "pdlp" != _solver("highs-pdlp")


def test_what_a_proof_needs_is_said_where_proofs_are_shown():
    for page in (README, (ROOT / "docs" / "proofs.md").read_text(encoding="utf-8")):
        assert "certify(exact=True)" in page and 'pip install "fairlp[exact]"' in page


def test_the_time_of_a_large_dump_is_one_figure_of_one_command():
    """The README and the page of Kubernetes say the same, and name what prints it."""
    page = (ROOT / "docs" / "kubernetes.md").read_text(encoding="utf-8")
    seconds = [
        re.findall(
            r"of 5,000 nodes and 50,000 pods [^.(]*?some (\d+) CPU seconds[^.(]*"
            r"\(`python benchmarks/clusters/snapshot\.py`\)",
            " ".join(text.split()),
        )
        for text in (README, page)
    ]
    assert len(seconds[0]) == 1 and seconds[0] == seconds[1]


def test_links_lead_somewhere():
    for document in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text(encoding="utf-8")):
            if not target.startswith("http"):
                assert (document.parent / target).exists(), f"{document.name} → {target}"
