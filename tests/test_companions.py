"""What packages on top of fairlp add: commands, readers and names; and what moved says where it is now."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import fairlp
import fairlp_clusters
import fairlp_research
from cli_runner import error_line, run
from fairlp import plots
from fairlp.cli import ExitCode, load_commands
from fairlp.errors import FairlpWarning
from kubernetes_dumps import node, pod, written

MOVED = {
    **dict.fromkeys(
        ["Period", "Snapshot", "blockers", "fair_shares", "period", "report"], "clusters"
    ),
    **dict.fromkeys(["snapshot"], "clusters"),
    **dict.fromkeys(
        ["Frontier", "frontier", "library", "ledger", "reproduce", "simulation", "study"],
        "research",
    ),
    **dict.fromkeys(["read_alibaba_gpu"], "research"),
}


@pytest.mark.parametrize(("name", "companion"), MOVED.items())
def test_what_moved_says_where_it_is_now(name, companion):
    package = {"clusters": fairlp_clusters, "research": fairlp_research}[companion]
    new_name = "papers" if name == "ledger" else name
    with pytest.raises(AttributeError, match=f"it is now fairlp_{companion}.{new_name} "):
        getattr(fairlp, name)
    assert getattr(package, new_name) is not None
    assert name not in fairlp.__all__ and new_name in package.__all__


def test_figures_of_simulations_say_where_they_are_now():
    with pytest.raises(AttributeError, match=r"it is now fairlp_research\.plots\.plot_user_shares"):
        getattr(plots, "plot_user_shares")  # noqa: B009


def test_a_companion_can_be_imported_first():
    for package in ("fairlp_research", "fairlp_clusters"):
        code = f"import {package}.commands, fairlp; print(len(fairlp.__all__))"
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert int(done.stdout) == len(fairlp.__all__)


def test_importing_a_companion_loads_nothing_heavy():
    code = (
        "import sys, fairlp_research, fairlp_clusters;"
        "print([m for m in ('numpy', 'pandas', 'typer', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_commands_of_all_packages_load_nothing_heavy():
    code = "import sys, fairlp.cli; print([m for m in ('numpy', 'pandas') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_help_has_a_section_for_each_package():
    text = run("--help").stdout
    sections = [text.index(title) for title in ("\nCommands:", "\nClusters:", "\nResearch:")]
    assert sections == sorted(sections)
    assert sections[1] < text.index("  report ") < sections[2] < text.index("  simulate ")


def test_read_reads_a_dump(tmp_path):
    dump = written(tmp_path / "dump", node("n1"), pod("a", on="n1"))
    instance = fairlp.read(dump)
    assert instance.equals(fairlp_clusters.snapshot(dump).instance)
    assert fairlp.read(dump / "dump.json").equals(instance)


def brought(folder: Path, monkeypatch: pytest.MonkeyPatch, group: str, target: str) -> None:
    """Install a package that brings something by an entry point."""
    info = folder / "brought-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: brought\nVersion: 1\n", "utf-8")
    (info / "entry_points.txt").write_text(f"[{group}]\nbrought = {target}\n", "utf-8")
    monkeypatch.syspath_prepend(folder)


def test_an_installed_package_brings_a_reader(tmp_path, monkeypatch):
    (tmp_path / "brought_reader.py").write_text(
        "import fairlp\n"
        "def read(path):\n"
        "    return fairlp.examples.load('ghodsi') if path.suffix == '.ghodsi' else None\n",
        "utf-8",
    )
    brought(tmp_path, monkeypatch, "fairlp.readers", "brought_reader:read")
    (tmp_path / "x.ghodsi").touch()
    assert fairlp.read(tmp_path / "x.ghodsi").equals(fairlp.examples.load("ghodsi"))
    (tmp_path / "x.other").touch()
    with pytest.raises(fairlp.FairlpError, match="cannot tell the format"):
        fairlp.read(tmp_path / "x.other")


def test_commands_that_cannot_be_imported_are_left_out_with_a_warning(tmp_path, monkeypatch):
    brought(tmp_path, monkeypatch, "fairlp.commands", "no_such_module_here")
    with pytest.warns(FairlpWarning, match="commands of no_such_module_here are left out: Module"):
        load_commands()


def test_a_report_says_which_package_is_missing_before_it_reads_the_dump(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    outcome = run(
        "report", tmp_path / "nowhere.json", "-o", tmp_path / "p.html", code=ExitCode.SOLVER
    )
    assert 'pip install "fairlp[report]"' in error_line(outcome)
