"""The notebooks run from top to bottom, with and without the trace, and what they store is clean and small.

Cells with the tag ``nightly``, long measurements that no other cell waits for, run at night only.
Where others wait, the cell's metadata ``by_day`` names texts of it and what stands in their place
by day: fewer runs, fewer points. At night each notebook has a kernel of its own, by day those of a
test process have one that is cleaned between them."""

from __future__ import annotations

import ast
import json
import re
import shutil
import tempfile
from pathlib import Path

import pytest

from notebook_runner import SharedKernel, execute_in_kernel, quiet_jupyter
from profiles import PROFILE

pytest.importorskip("matplotlib")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
TRACE = FOLDER / "../../shared/data/alibaba-gpu-v2023"
LARGEST = 1_000_000
SECONDS_PER_CELL = 600
NIGHTLY = "nightly"

#: what tells where, or by whom, a notebook was executed
PERSONAL = {
    "an absolute path": r"(?<![\w.:/])/(home|root|Users|work|tmp|var|opt|mnt|private|usr)/",
    "a Windows path": r"(?<![A-Za-z])[A-Za-z]:\\+\w",
    "a home directory": r"(?<!\w)~/",
    "an e-mail address": r"[\w.+-]+@[A-Za-z0-9-]+\.[A-Za-z]{2,}",
    "a temporary kernel file": r"ipykernel_\d+",
}


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


def code_cells(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def text_of(output):
    """Text of an output, without pictures."""
    data = {
        kind: value
        for kind, value in output.get("data", {}).items()
        if not kind.startswith("image/png")
    }
    return json.dumps(
        [data, output.get("text", ""), output.get("traceback", "")], ensure_ascii=False
    )


def packages_of(notebook):
    """The packages of ours that its code imports."""
    code = "\n".join("".join(cell["source"]) for cell in code_cells(notebook))
    modules = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add(node.module)
    packages = {module.partition(".")[0] for module in modules}
    return sorted(package for package in packages if package.startswith("fairlp"))


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """By day the kernel of all notebooks that this process runs, at night None."""
    if PROFILE == NIGHTLY:
        yield None
        return
    shared = SharedKernel(FOLDER, tmp_path_factory.mktemp("kernel"))
    yield shared
    shared.stop()


def execute(path, folder, kernel):
    """Return a copy of the notebook, executed; the first error of a cell is raised with its traceback."""
    import nbformat

    # a private folder, so that nobody's own configuration plays a part
    with tempfile.TemporaryDirectory(prefix="nb", ignore_cleanup_errors=True) as private:
        copy = Path(shutil.copy(path, private))
        notebook = nbformat.read(copy, as_version=4)
        nbformat.validate(notebook)
        options = {"timeout": SECONDS_PER_CELL}
        if kernel is None:
            return execute_in_kernel(notebook, folder, private, **options)
        shorten(notebook)
        try:
            return kernel.execute(notebook, skip_cells_with_tag=NIGHTLY, **options)
        finally:
            kernel.clean()


def shorten(notebook):
    """Put what the cells say for the day in the place of what takes long."""
    for cell in code_cells(notebook):
        for long, short in cell["metadata"].get("by_day", {}).items():
            assert cell["source"].count(long) == 1, (
                f"{long!r} does not stand once in a cell that shortens it by day"
            )
            cell["source"] = cell["source"].replace(long, short)


def check_no_errors(notebook):
    for cell in code_cells(notebook):
        for output in cell["outputs"]:
            assert output["output_type"] != "error", text_of(output)


def test_there_are_notebooks():
    assert [path.name for path in NOTEBOOKS][:2] == ["01-quickstart.ipynb", "02-drfh.ipynb"]


def test_most_cells_run_by_day():
    cells = [cell for path in NOTEBOOKS for cell in code_cells(load(path))]
    by_night = [cell for cell in cells if NIGHTLY in cell["metadata"].get("tags", [])]
    assert 0 < len(by_night) < len(cells) / 10


@pytest.mark.slow
@quiet_jupyter
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs(path, kernel):
    before = sorted(FOLDER.iterdir())
    check_no_errors(execute(path, FOLDER, kernel))
    files = [
        path.name
        for path in sorted(FOLDER.iterdir())
        if path not in before and path.suffix != ".ipynb"
    ]
    assert not files, f"the notebook left files behind: {files}"


@pytest.mark.slow
@quiet_jupyter
@pytest.mark.skipif(PROFILE == NIGHTLY, reason="at night each notebook has a kernel of its own")
def test_a_clean_kernel_knows_nothing_of_the_last_notebook(kernel):
    from nbformat import v4

    declares = "import fairlp\n@fairlp.mechanism('left-behind')\ndef left_behind(instance): ..."
    question = "'fairlp' in globals(), 'left-behind' in __import__('fairlp').mechanisms().index"
    cells = [v4.new_code_cell(declares), v4.new_code_cell(question)]
    kernel.execute(v4.new_notebook(cells=cells))
    kernel.clean()
    after = kernel.execute(v4.new_notebook(cells=[v4.new_code_cell(question)])).cells[0]
    kernel.clean()
    assert [cell.outputs[0]["data"]["text/plain"] for cell in (cells[1], after)] == [
        "(True, True)",
        "(False, False)",
    ]


@quiet_jupyter
@pytest.mark.skipif(
    not TRACE.is_dir(), reason="the trace is not here, so test_runs runs the notebooks without it"
)
@pytest.mark.skipif(PROFILE != NIGHTLY, reason="runs at night")
def test_drfh_runs_without_the_trace(tmp_path):
    notebook = execute(FOLDER / "02-drfh.ipynb", tmp_path, None)
    check_no_errors(notebook)
    text = " ".join(text_of(output) for cell in code_cells(notebook) for output in cell["outputs"])
    assert "not beside this checkout" in text
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_is_stored_as_executed_from_top_to_bottom(path):
    notebook = load(path)
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    cells = code_cells(notebook)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    check_no_errors(notebook)
    assert sum(bool(cell["outputs"]) for cell in cells) > len(cells) / 2
    pictures = [o for cell in cells for o in cell["outputs"] if "image/png" in o.get("data", {})]
    assert pictures, "there is no picture"
    for cell in cells:
        for output in cell["outputs"]:
            assert output.get("name") != "stderr", f"a warning is stored: {text_of(output)}"
            assert output.get("execution_count", cell["execution_count"]) == cell["execution_count"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_first_cell_says_which_packages_the_notebook_uses(path):
    notebook = load(path)
    first_cell = notebook["cells"][0]
    assert first_cell["cell_type"] == "markdown"
    packages = " and ".join(f"`{package}`" for package in packages_of(notebook))
    assert f"*Uses {packages}.*" in "".join(first_cell["source"])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_is_small(path):
    assert path.stat().st_size < LARGEST


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_stores_nothing_about_the_machine_or_its_user(path):
    notebook = load(path)
    stored = [text_of(output) for cell in code_cells(notebook) for output in cell["outputs"]]
    stored += ["".join(cell["source"]) for cell in notebook["cells"]]
    stored.append(
        json.dumps([notebook["metadata"], [cell["metadata"] for cell in notebook["cells"]]])
    )
    for text in stored:
        for kind, pattern in PERSONAL.items():
            search = re.search(pattern, text)
            assert not search, f"{kind}: …{text[max(0, search.start() - 60) : search.end() + 60]}…"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_lead_somewhere(path):
    prose = "\n".join(
        "".join(cell["source"]) for cell in load(path)["cells"] if cell["cell_type"] == "markdown"
    )
    for target in re.findall(r"\]\(([^)#]+)\)", prose):
        if not target.startswith("http"):
            assert (FOLDER / target).exists(), target
