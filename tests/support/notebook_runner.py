"""Notebooks run in a kernel with nobody's configuration: each in its own, or one after the other in a clean one."""

from __future__ import annotations

import gc
import warnings
from contextlib import contextmanager

import pytest

#: Deprecations inside Jupyter and ZeroMQ, their event loop on Windows, and sockets that they leave
#: to the garbage collector are not ours to mend. A kernel is a process of its own: this hides no
#: warning of a notebook.
quiet_jupyter = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning",
    "ignore::PendingDeprecationWarning",
    "ignore::FutureWarning",
    "ignore::RuntimeWarning",
    "ignore::ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)

#: What makes a used kernel as good as new: no names, nothing that was declared to fairlp (whose
#: modules stay: importing them nineteen times takes as long as what they do), nothing drawn and no
#: style of drawing.
CLEAN = """
get_ipython().reset(new_session=True)
import sys
if "fairlp" in sys.modules:
    from fairlp.mechanisms.table import TABLE
    from fairlp.models.programs.backends import SOLVERS
    TABLE.declared.clear()
    SOLVERS.declared.clear()
if "matplotlib.pyplot" in sys.modules:
    sys.modules["matplotlib.pyplot"].close("all")
    sys.modules["matplotlib"].rcdefaults()
get_ipython().reset(new_session=True)
"""


@contextmanager
def of_nobody(private):
    """Let Jupyter look for what somebody configured in the empty folder ``private``."""
    with pytest.MonkeyPatch.context() as changed:
        for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR"):
            changed.setenv(name, str(private))
        changed.delenv("PYTHONWARNINGS", raising=False)
        yield


def execute_in_kernel(notebook, work, private, **options):
    """Execute a notebook in place, in the folder ``work``; the first error of a cell is raised with its traceback."""
    from nbclient import NotebookClient

    options |= {"kernel_name": "python3", "resources": {"metadata": {"path": str(work)}}}
    with of_nobody(private):
        try:
            NotebookClient(notebook, **options).execute()
        except (
            RuntimeError
        ):  # no kernel: another process may have taken its port in between; once more
            NotebookClient(notebook, **options).execute()
    return notebook


class SharedKernel:
    """One kernel for many notebooks, cleaned between them: starting one takes longer than most of them."""

    def __init__(self, work, private):
        self.work, self.private, self.manager, self.client = work, private, None, None

    def execute(self, notebook, **options):
        """Execute a notebook in place; the first error of a cell is raised with its traceback."""
        from jupyter_client import AsyncKernelManager
        from nbclient import NotebookClient

        with of_nobody(self.private):
            self.manager = self.manager or AsyncKernelManager(kernel_name="python3")
            runner = NotebookClient(notebook, km=self.manager, **options)
            runner.kc = self.client
            try:
                runner.execute(cwd=str(self.work))
            except BaseException:  # whatever has become of it: the next notebook begins afresh
                self.client = runner.kc
                self.stop()
                raise
            self.client = runner.kc
        return notebook

    def clean(self):
        """Leave nothing of what has run."""
        from nbformat import v4

        if self.client is None:
            return
        self.execute(v4.new_notebook(cells=[v4.new_code_cell(CLEAN)]))

    def stop(self):
        """End the process; sockets that Jupyter leaves to the garbage collector go at once, without a word."""
        from jupyter_core.utils import run_sync

        with warnings.catch_warnings(action="ignore"):
            if self.client is not None:
                self.client.stop_channels()
            if self.manager is not None and self.manager.has_kernel:
                run_sync(self.manager.shutdown_kernel)(now=True)
            self.manager = self.client = None
            gc.collect()
