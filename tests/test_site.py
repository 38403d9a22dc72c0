"""The documentation site: every page has its place, and every public name."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

import fairlp
import fairlp_clusters
import fairlp_research

DOCS = Path(__file__).parents[1] / "docs"
SECTIONS = (
    "index",
    "learn",
    "notebooks",
    "do",
    "understand",
    "look-up",
    "develop",
    "research",
    "clusters",
)


def entries(page):
    """What the tables of contents of a page list."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL)
    return [
        line for block in blocks for line in block.split("\n") if line and not line.startswith(":")
    ]


@pytest.fixture(scope="module")
def site():
    """The modules that write the pages that are made from the code."""
    sys.path.insert(0, str(DOCS / "site"))
    try:
        import public_names
        import reference_tables

        yield public_names, reference_tables
    finally:
        sys.path.remove(str(DOCS / "site"))


def test_every_page_stands_in_one_section():
    listed_pages = [entry for section in SECTIONS for entry in entries(section)]
    pages = [path.stem for path in DOCS.glob("*.md") if path.stem != "index"]
    assert sorted(entry for entry in listed_pages if not entry.startswith("generated/")) == sorted(
        pages
    )


def test_every_notebook_is_a_lesson():
    lessons = [Path(entry).name for entry in entries("notebooks") if entry.startswith("generated/")]
    assert lessons == sorted(path.stem for path in (DOCS.parent / "notebooks").glob("*.ipynb"))


def test_every_public_name_has_a_page_under_a_heading(site, tmp_path):
    public_names, _ = site
    public_names.write_api(tmp_path)
    names = [
        f"{package.__name__}.{name}"
        for package in (fairlp, fairlp_research, fairlp_clusters)
        for name in package.__all__
        if not name.startswith("__")
    ]
    assert sorted(path.stem for path in tmp_path.glob("*.rst")) == sorted(names)
    index = (tmp_path / "index.md").read_text(encoding="utf-8")
    assert "## More" not in index, "give new names a heading in public_names.py"
    assert ":meth:" not in index and ":class:" not in index


def test_tables_have_every_mechanism_and_back_end(site, tmp_path):
    _, reference_tables = site
    reference_tables.write_tables(tmp_path)
    mechanisms, back_ends = (
        (tmp_path / name).read_text(encoding="utf-8") for name in ("mechanisms.md", "back-ends.md")
    )
    assert re.findall(r"^## (\S+)$", mechanisms, re.MULTILINE) == list(fairlp.mechanisms().index)
    assert re.findall(r"^\| `([^`]+)` \|", back_ends, re.MULTILINE) == list(fairlp.solvers().index)


def test_the_site_shows_the_ledger_by_paper_and_leaves_out_nothing(site, tmp_path):
    import ledger_pages

    page = ledger_pages.LEDGER.read_text(encoding="utf-8")
    ledger_pages.write_ledger(tmp_path)
    shown = ledger_pages.summary(page)
    papers = re.findall(r"^## (\d{3}): ", page, re.MULTILINE)
    assert re.findall(r"^generated/ledger/(\d{3})$", shown, re.MULTILINE) == papers
    pages = [path.read_text(encoding="utf-8") for path in tmp_path.glob("*.md")]
    lines = [line for line in page.splitlines() if line.startswith(("| ", "* **", "  "))]
    written = set("\n".join([shown, *pages]).splitlines())
    lost = [line for line in lines if line not in written]
    assert len(lost) == 1 + len(papers)  # the row of "refuted", and numbers that are links now
    assert len(shown.split()) < 500


def front_page(k):
    """The names of one of the front page's two blocks of Python, after it has run."""
    page = (DOCS / "index.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 2
    names = {}
    exec(compile(blocks[k], "index.md", "exec"), names)
    return names


def test_the_front_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = front_page(0)
    assert (tmp_path / "drfh.mps").is_file() and names["model"].solve().verify().is_optimal


@pytest.fixture(scope="module")
def commitment():
    """The names of the unit commitment of the front page."""
    pytest.importorskip("matplotlib").use("agg")
    import matplotlib.pyplot as plt

    yield front_page(1)
    plt.close("all")


def columns_of_commitment(names):
    """Plants, hours, and the columns of power, on and start of each plant and hour, in this order."""
    plants, hours = names["plants"], len(names["demand"])
    cells = np.arange(len(plants) * hours).reshape(len(plants), hours)
    return plants, hours, cells, cells + cells.size, cells + 2 * cells.size


def rows_of_commitment(names):
    """The unit commitment, row by row for SciPy: costs, matrix, and the limits of each row."""
    plants, hours, power, on, start = columns_of_commitment(names)
    rows = []

    def row(entries, low, high):
        rows.append((entries, low, high))

    for h in range(hours):
        row([(power[n, h], 1) for n in range(len(plants))], names["demand"][h], names["demand"][h])
        running = [(on[n, h], most) for n, most in enumerate(plants.most)]
        row(running, 1.1 * names["demand"][h], np.inf)
    for n, plant in enumerate(plants.itertuples()):
        for h in range(hours):
            row([(power[n, h], 1), (on[n, h], -plant.most)], -np.inf, 0)
            row([(power[n, h], 1), (on[n, h], -plant.least)], 0, np.inf)
            if h:
                row([(power[n, h], 1), (power[n, h - 1], -1)], -plant.ramp, plant.ramp)
                row([(on[n, h], 1), (on[n, h - 1], -1), (start[n, h], -1)], -np.inf, 0)
            if plant.is_slow:
                recent = [(start[n, k], 1) for k in range(max(h - 3, 0), h + 1)]
                row([*recent, (on[n, h], -1)], -np.inf, 0)
    matrix = np.zeros((len(rows), 3 * power.size))
    for k, (entries, _, _) in enumerate(rows):
        for column, entry in entries:
            matrix[k, column] += entry
    costs = np.zeros(3 * power.size)
    for n, plant in enumerate(plants.itertuples()):
        costs[power[n]], costs[start[n]] = plant.cost, plant.start_cost
    return costs, matrix, np.array([row[1] for row in rows]), np.array([row[2] for row in rows])


def test_the_unit_commitment_of_the_front_page_costs_the_least(commitment):
    costs, matrix, low, high = rows_of_commitment(commitment)
    binaries = np.repeat([0, 1, 1], len(costs) // 3)
    least = milp(
        costs,
        constraints=LinearConstraint(matrix, low, high),
        integrality=binaries,
        bounds=Bounds(0, np.where(binaries, 1, np.inf)),
        options={"mip_rel_gap": 0},
    )
    objective = commitment["schedule"].objective
    assert least.fun == pytest.approx(objective, rel=1e-7) and round(objective) == 346_915


def test_the_front_page_prints_its_second_model_as_it_is(commitment):
    page = (DOCS / "index.md").read_text(encoding="utf-8")
    assert str(commitment["model"]).partition("\n  with")[0] in page


@pytest.mark.slow
def test_the_gallery_has_fifteen_pictures_of_some_ten_lines_and_each_is_drawn(site, monkeypatch):
    pytest.importorskip("matplotlib").use("agg")
    import gallery
    import matplotlib.pyplot as plt

    monkeypatch.setenv("MPLBACKEND", "agg")
    assert len(gallery.PICTURES) >= 15
    for title, code in gallery.PICTURES.items():
        assert len(code.strip().splitlines()) <= 14, title
        assert gallery.drawn(code).axes, title
        plt.close("all")


#: What a reader may search for, and the page whose title or heading has the word.
SEARCHED = {
    "sensitivity analysis": "how-to",
    "infeasible": "how-to",
    "warm start": "how-to",
    "time limit": "how-to",
    "migrate": "coming-from",
    "conda": "install",
    "jupyter": "install",
    "offline": "install",
    "cite": "about",
    "governance": "about",
    "troubleshooting": "troubleshooting",
}


@pytest.mark.parametrize("phrase", SEARCHED)
def test_the_words_of_the_field_lead_to_a_page(phrase):
    text = (DOCS / f"{SEARCHED[phrase]}.md").read_text(encoding="utf-8").lower()
    headings = " ".join(line for line in text.splitlines() if line.startswith("#"))
    assert phrase in headings


#: Writes all that docs/site makes into a folder.
WRITES = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import command_reference, gallery, generated, public_names, reference_tables
folder = Path.cwd()
gallery.write_gallery(folder / "gallery")
gallery.write_front(folder)
gallery.write_second_model(folder)
command_reference.write_commands(folder / "commands.md")
reference_tables.write_tables(folder)
public_names.write_api(folder / "api")
generated.write_notebooks(folder / "learn")
"""


def files_below(folder):
    """Contents of all files, by name."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.slow
def test_what_is_made_from_the_code_is_the_same_from_run_to_run(tmp_path):
    pytest.importorskip("matplotlib")
    runs = []
    for seed in ("1", "2"):
        folder = tmp_path / seed
        folder.mkdir()
        subprocess.run(
            [sys.executable, "-c", WRITES, str(DOCS / "site")],
            cwd=folder,
            env={**os.environ, "PYTHONHASHSEED": seed, "MPLBACKEND": "agg"},
            check=True,
        )
        runs.append(files_below(folder))
    first, second = runs
    assert len([name for name in first if name.endswith(".svg")]) > 15
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []
