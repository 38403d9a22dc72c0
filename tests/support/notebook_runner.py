"""Notebooks run in a kernel of their own, with nobody's configuration."""

from __future__ import annotations

import pytest

#: Deprecations inside Jupyter and ZeroMQ, their event loop on Windows, and sockets that they leave to the garbage
#: collector are not ours to mend. A kernel is a process of its own: this hides no warning of a notebook.
quiet_jupyter = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning",
    "ignore::PendingDeprecationWarning",
    "ignore::FutureWarning",
    "ignore::RuntimeWarning",
    "ignore::ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)


def execute_in_kernel(notebook, work, private, monkeypatch, **how):
    """Execute a notebook in place, in the folder ``work``; the first error of a cell is raised with its traceback."""
    from nbclient import NotebookClient

    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR"):
        monkeypatch.setenv(name, str(private))
    monkeypatch.delenv("PYTHONWARNINGS", raising=False)
    how |= {"kernel_name": "python3", "resources": {"metadata": {"path": str(work)}}}
    try:
        NotebookClient(notebook, **how).execute()
    except RuntimeError:  # no kernel: another process may have taken its port in between; once more
        NotebookClient(notebook, **how).execute()
    return notebook
