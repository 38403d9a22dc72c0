"""Pages of the documentation: their blocks of code, which of them are not run and why, and what they take as given."""

from __future__ import annotations

import re
from dataclasses import dataclass

from paths import DOCS, ROOT

_BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<why>.+?) -->\n)?```(?P<kind>python|bash|console)\n(?P<code>.*?)^```$",
    re.M | re.S,
)


@dataclass(frozen=True)
class Block:
    """A block of a page: the number of the line that it begins after, and why it is not run (empty: it is)."""

    page: str
    line: int
    kind: str
    code: str
    why_not: str

    @property
    def commands(self) -> list[str]:
        """The commands of a block of the shell, without what follows a #."""
        lines = [
            line.removeprefix("$ ")
            for line in self.code.splitlines()
            if self.kind == "bash" or line[:2] == "$ "
        ]
        return [line.split("  #")[0].strip() for line in lines if line.strip()]


def text_of(page: str) -> str:
    """A page of docs/, or the README."""
    return ((ROOT if page == "README.md" else DOCS) / page).read_text(encoding="utf-8")


def blocks(page: str) -> list[Block]:
    """The blocks of a page that a reader could run."""
    text = text_of(page)
    return [
        Block(
            page,
            text.count("\n", 0, found.start("code")),
            found["kind"],
            found["code"],
            found["why"] or "",
        )
        for found in _BLOCK.finditer(text)
    ]


#: What a page takes as given: names, and files in the folder.
GIVEN = {
    "arrivals.md": """
import fairlp
instance = fairlp.Instance.from_arrays([[1 + n % 3, 4 - n % 3] for n in range(8)], [[90, 180]])
""",
    "audit.md": """
import fairlp
cluster = fairlp.examples.load("ghodsi")
cluster.write("cluster.yaml")
table = cluster.gamma() / 4
fairlp.allocate(cluster, "drfh").tasks.to_csv("observed.csv")
from kubernetes_dumps import node, pod, written
from pathlib import Path
written(Path.cwd(), node("n1"), pod("a", on="n1"), name="pods-and-nodes.json")
""",
    "interior-point.md": """
import fairlp
cluster = fairlp.examples.google_cluster(users=4, seed=0)
""",
    "no-justified-complaints.md": """
import matplotlib
matplotlib.use("agg")
import fairlp
demands, capacity, limits, entitlements = [[4, 1], [1, 4], [2, 2]], [12, 12], [9, 9, 9], [0.3, 0.3, 0.4]
anybodys_tasks = [1, 1, 1]
""",
    "per-server-fairness.md": """
import fairlp
instance = fairlp.Instance.from_arrays([[1, 2], [2, 1]], [[9, 9], [12, 6]], users=["ann", "bob"])
found = fairlp.allocate(instance, "psdsf-rdm")
table, mask = found.tasks, found.tasks > 0
limiting = table.astype(object).where(table < 0, str(instance.resources[0]))
""",
    "placement.md": """
import fairlp
cluster = fairlp.examples.load("wang-figure-1")
""",
    "report.md": """
from kubernetes_dumps import node, pod, written
from pathlib import Path
written(Path.cwd(), node("n1"), pod("a", on="n1"), name="pods-and-nodes.json")
""",
    "simulation.md": """
import fairlp
cluster = fairlp.examples.load("wang-figure-1")
from pathlib import Path
rows = ["user,arrival,tasks,duration,cpu,memory", "user1,0,5,60,0.2,1", "user2,30,4,90,1,0.2"]
Path("jobs.csv").write_text(chr(10).join(rows), encoding="utf-8")
""",
    "solvers.md": """
import fairlp
instance = fairlp.examples.load("wang-figure-1")
""",
    "whole-tasks.md": """
import fairlp
instance = fairlp.examples.load("ghodsi")
""",
}
