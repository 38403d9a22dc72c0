"""Figures in a notebook are shown once, in the format that the notebook asks for, with pyplot and without it."""

from __future__ import annotations

import pytest

import fairlp
from notebook_runner import execute_in_kernel, quiet_jupyter

pytest.importorskip("matplotlib")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

CELLS = {
    "an import": "import fairlp\nfound = fairlp.allocate(fairlp.examples.ghodsi(), 'drf')",
    "as it is": "fairlp.plots.plot_shares(found)",
    "not the value": "fairlp.plots.plot_shares(found);",
    "a method": "found.plot()",
    "svg before pyplot": "%config InlineBackend.figure_format = 'svg'\nfairlp.plots.plot_shares(found)",
    "png before pyplot": "%config InlineBackend.figure_format = 'png'\nfairlp.plots.plot_shares(found)",
    "with pyplot": "import matplotlib.pyplot as plt\nfairlp.plots.plot_shares(found)",
    "axes of pyplot": "figure, axis = plt.subplots()\nfairlp.plots.plot_shares(found, ax=axis);",
    "svg": "%config InlineBackend.figure_format = 'svg'\nfairlp.plots.plot_shares(found)",
    "svg, axes of pyplot": "figure, axis = plt.subplots()\nfairlp.plots.plot_shares(found, ax=axis);",
    "both": "%config InlineBackend.figure_formats = {'svg', 'png'}\nfairlp.plots.plot_shares(found)",
    "png again": "%config InlineBackend.figure_format = 'png'\nfairlp.plots.plot_shares(found)",
}
SHOWN = {
    "an import": [],
    "not the value": [],
    "svg before pyplot": [["image/svg+xml"]],
    "svg": [["image/svg+xml"]],
    "svg, axes of pyplot": [["image/svg+xml"]],
    "both": [["image/png", "image/svg+xml"]],
}


def pictures(cell):
    """The formats of each output of a cell that is a picture."""
    kinds = [
        sorted(kind for kind in output.get("data", {}) if kind.startswith("image/"))
        for output in cell["outputs"]
    ]
    return [kind for kind in kinds if kind]


@pytest.mark.slow
@quiet_jupyter
def test_every_figure_is_stored_once_in_the_format_that_was_asked_for(tmp_path):
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in CELLS.values()]
    )
    cells = execute_in_kernel(notebook, tmp_path, tmp_path, timeout=100)["cells"]
    kinds_by_figure = {name: pictures(cell) for name, cell in zip(CELLS, cells, strict=True)}
    assert kinds_by_figure == {name: SHOWN.get(name, [["image/png"]]) for name in CELLS}


def test_axes_of_pyplot_belong_to_its_figure_and_others_are_not_known_to_it():
    plt = pytest.importorskip("matplotlib.pyplot")
    allocation = fairlp.allocate(fairlp.examples.ghodsi(), "drf")
    before = plt.get_fignums()
    fairlp.plots.plot_shares(allocation)
    assert plt.get_fignums() == before
    figure, axis = plt.subplots()
    assert fairlp.plots.plot_shares(allocation, ax=axis) is figure and plt.gcf() is figure
    assert axis.patches
    plt.close(figure)
