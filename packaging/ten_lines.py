"""Run the ten lines of the README, and some more, with the fairlp that is installed where this Python is."""

import doctest
import importlib.metadata
import os
import re
import sys
import tempfile
from pathlib import Path

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
TEN_LINES = re.search(r"```python\n(>>> import fairlp\n.*?)```", README, re.DOTALL)[1]
MORE = """
>>> cluster = fairlp.examples.ghodsi()
>>> for solver in ("highs", "scipy", "pyomo:highs", "clarabel", "interior-point"):
...     assert fairlp.formulate(cluster, "drfh").solve(solver=solver).verify().is_optimal
>>> fairlp.allocate(cluster, "alpha-fair", alpha=2, solver="clarabel").gap < 1e-7
True
>>> from typer.testing import CliRunner
>>> from fairlp.cli.app import app
>>> import fairlp.cli
>>> CliRunner().invoke(app, ["compare", "ghodsi"]).exit_code
0
>>> import fairlp_clusters, fairlp_research
>>> fairlp_clusters.fair_shares(cluster)["fair_tasks"].round(6).tolist()
[3.0, 2.0]
>>> fairlp_research.reproduce("wang-2014", "Figure 3")
<Ledger: 1 item, equal 1>
"""

os.chdir(tempfile.mkdtemp())
test = doctest.DocTestParser().get_doctest(TEN_LINES + MORE, {}, "README.md", "README.md", 0)
runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
failed, tried = runner.run(test)
versions = (
    f"{name} {importlib.metadata.version(name)}"
    for name in ("numpy", "scipy", "pandas", "highspy", "cvxpy")
)
print(
    f"{tried - failed} of {tried} examples, with Python {sys.version.split()[0]}, "
    f"{', '.join(versions)}"
)
sys.exit(bool(failed))
