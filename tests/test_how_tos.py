"""Pages tell the truth: their blocks of Python and of the shell run, from the top of the page to its end.

A block that cannot run here has a comment before it that says why: ``<!-- not run: it asks a
cluster -->``."""

from __future__ import annotations

import shlex
import subprocess
import sys
import warnings
from importlib.util import find_spec

import pytest

from cli_runner import run
from pages import blocks, text_of
from paths import DOCS, ROOT

#: Pages of docs/ whose blocks are run in a folder and with names of their own: nothing is given
#: to a page.
PAGES = [
    "networks.md",
    "column-generation.md",
    "decomposition.md",
    "concave-levels.md",
    "rolling-horizon.md",
    "squares-and-norms.md",
    "editing-models.md",
    "own-mechanism.md",
    "own-path.md",
    "own-back-end.md",
    "own-constraint.md",
    "several-ways.md",
    "report.md",
    "period.md",
    "threads.md",
]
PAGES += ["efficiency-and-fairness.md", "gavel-space-sharing.md", "gpu-clusters.md"]
PAGES += ["fair-over-time.md", "proofs.md", "pictures.md"]
PAGES += ["queues.md", "kubernetes.md", "slurm.md", "yarn.md", "reproducing.md", "library.md"]
PAGES += [
    "arrivals.md",
    "audit.md",
    "interior-point.md",
    "no-justified-complaints.md",
    "per-server-fairness.md",
]
PAGES += ["install.md", "first-model.md", "coming-from.md", "how-to.md", "cheat-sheet.md"]
PAGES += ["placement.md", "simulation.md", "solvers.md", "whole-tasks.md", "features.md"]
#: Pages whose blocks another test runs.
ELSEWHERE = {
    "README.md": "tests/test_readme.py",
    "command-line.md": "tests/cli/test_app.py",
    "file-formats.md": "tests/models/files/test_instances.py",
    "index.md": "tests/test_site.py",
    "labels.md": "tests/models/notation/test_matched_labels.py",
    "model-files.md": "tests/models/files/test_mps_reader.py",
    "studies.md": "tests/research/study/test_runs.py",
}


def executed(command):
    """Run a command of a page in this process; those of Python's own in another."""
    program, *arguments = shlex.split(command)
    if program == "python":
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True, timeout=60)
        return
    assert program in ("fairlp", ".venv/bin/fairlp"), f"{command}: say why it is not run"
    run(*arguments)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_blocks_of_a_page_run_from_top_to_bottom(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if page == "proofs.md":  # "it can be copied anywhere"
        (tmp_path / "fairlp_check.py").write_bytes((ROOT / "src" / "fairlp_check.py").read_bytes())
    page_blocks = blocks(page)
    assert text_of(page).count("\n```python") + text_of(page).count("\n```bash") == len(
        [block for block in page_blocks if block.kind != "console"]
    )
    names = {"__name__": "__main__"}
    for block in page_blocks:
        if block.why_not or (block.tool and find_spec(block.tool) is None):
            continue
        if block.kind == "python":
            # empty lines before it, so that an error tells the line of the page
            code = compile("\n" * block.line + block.code, page, "exec")
            with warnings.catch_warnings():
                if block.tool:  # of another tool, whose warnings are not ours
                    warnings.simplefilter("ignore")
                exec(code, names)
        else:
            for command in block.commands:
                executed(command)


def test_every_block_of_every_page_is_run_or_says_why_not():
    with_blocks = {path.name for path in DOCS.glob("*.md") if blocks(path.name)} | {"README.md"}
    assert with_blocks == {*PAGES, *ELSEWHERE}
    for page, test in ELSEWHERE.items():
        assert f'"{page}"' in (ROOT / test).read_text(encoding="utf-8")


def test_few_blocks_are_not_run_and_each_says_why():
    all_blocks = [block for path in DOCS.glob("*.md") for block in blocks(path.name)]
    unrun_blocks = [block for block in all_blocks if block.why_not]
    assert all(len(block.why_not.split()) >= 3 for block in unrun_blocks)
    assert len(unrun_blocks) <= 13 < len(all_blocks) / 8
