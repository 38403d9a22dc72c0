"""CPU time of the page of a period: a hundred hourly dumps of a cluster, and the limit that they have to keep.

    python benchmarks/clusters/period.py [--dumps 100] [--nodes 1000] [--pods 10000] [--owners 100]
    [--changed 0.1] [--indent]

``--changed`` is the part of the pods that ends in each hour; as many come and wait, and those that
came an hour before run. The page is made in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

import snapshot

#: CPU seconds that a hundred dumps of 1,000 nodes may take.
LIMIT = 120
PAGE = """
import resource, sys, time
from fairlp.cli import main
limit = float(sys.argv[2])
sys.argv = ["fairlp", "report", sys.argv[1], "-o", sys.argv[1] + ".html"]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
seconds = time.process_time()
gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(f"page {seconds:.1f} CPU s, {gigabytes:.2f} GiB at most")
print(f"{seconds / limit:.2f} of the limit")
"""


@cache
def pod_text(k: int, owner: int, nodes: int, waits: bool, indent: int | None) -> str:
    """Return a pod as text."""
    chance = random.Random(k)
    pod = snapshot.pod(k, owner, nodes, chance)
    pod["spec"].pop("nodeName", None)
    pod["status"]["phase"] = "Pending" if waits else "Running"
    if not waits:
        step = 10 if owner % 10 == 0 else 1  # those with GPUs
        pod["spec"]["nodeName"] = f"node-{chance.randrange(0, nodes, step)}"
    return json.dumps(pod, indent=indent)


def write(
    folder: Path, dumps: int, nodes: int, pods: int, owners: int, changed: int, indent: int | None
) -> None:
    """Write the dumps of a cluster, one for each hour."""
    node_texts = [json.dumps(snapshot.node(k), indent=indent) for k in range(nodes)]
    start = datetime(2026, 1, 1)
    for hour in range(dumps):
        first = hour * changed
        pod_texts = [
            pod_text(k, k % owners, nodes, k >= first + pods - changed, indent)
            for k in range(first, first + pods)
        ]
        items = ",\n".join([*node_texts, *pod_texts])
        text = f'{{"apiVersion": "v1", "items": [\n{items}\n], "kind": "List"}}\n'
        name = (start + timedelta(hours=hour)).strftime("%Y-%m-%dT%H-%M.json")
        (folder / name).write_text(text, encoding="utf-8")


def main() -> None:
    """Make the dumps and their page, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dumps", type=int, default=100)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=10_000)
    parser.add_argument("--owners", type=int, default=100)
    parser.add_argument("--changed", type=float, default=0.1)
    parser.add_argument("--indent", action="store_true", help="indent by four, as kubectl does")
    given = parser.parse_args()
    changed = round(given.changed * given.pods)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "dumps"
        folder.mkdir()
        indent = 4 if given.indent else None
        write(folder, given.dumps, given.nodes, given.pods, given.owners, changed, indent)
        size = sum(file.stat().st_size for file in folder.iterdir()) / 2**30
        print(
            f"{given.dumps} dumps of {given.nodes} nodes, {given.pods} pods, {given.owners} owners: {size:.1f} GiB"
        )
        limit = LIMIT * given.dumps / 100
        subprocess.run([sys.executable, "-c", PAGE, str(folder), str(limit)], check=True)


if __name__ == "__main__":
    main()
