"""Mechanism × property: audit every promise on random instances, and search an instance that breaks every other one.

    python benchmarks/audits.py [--audits 500] [--tries 1000] [--mechanism NAME ...] [--write FILE]
    python benchmarks/audits.py --limits SECONDS
    python benchmarks/audits.py --rates [--mechanism NAME ...]

``--write`` keeps the simplest instances that were found as JSON (the file that ships is
src/fairlp/auditing/counterexamples.json); entries of mechanisms that were not looked at are kept.
One line a promise: instances audited and broken, or the witness of the counterexample. A promise
that breaks is a finding: the definition audited is in docs/audit.md, and the instance shows it.
``--limits`` searches with that time limit, and shows by how much searches are late. ``--rates``
shows how many instances a search looks at in a second of CPU time, and how many times as long an
instance takes as one allocation of it.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

import fairlp
from fairlp import Instance
from fairlp.auditing import audit
from fairlp.auditing.promises import COLUMNS, as_entry, claims, count_broken
from fairlp.auditing.properties import DYNAMIC
from fairlp.auditing.search import Search
from fairlp.mechanisms.table import TABLE

NOT_RERUN = ("drf-milp",)
#: Searches whose time is measured: of lies, of programs, of answers without one; some find an instance and simplify it.
LIMITED = (
    ("drfh", "strategy-proof"),
    ("tsf", "strategy-proof"),
    ("psdsf-rdm", "strategy-proof"),
    ("h-drf", "group strategy-proof"),
    ("naive-drf", "strategy-proof"),
    ("drfh", "Pareto-optimal"),
    ("drfh", "population-monotonic"),
    ("drf", "envy-free"),
)


def show_limits(seconds: float, seed: int) -> None:
    """Print what searches with a time limit tried, and the seconds that they took."""
    for name, wanted in LIMITED:
        begin = perf_counter()
        cpu = process_time()
        result = Search(seed=seed, time_limit=seconds, progress=False).run(name, wanted)
        elapsed = perf_counter() - begin
        cpu = process_time() - cpu
        print(f"{name:12} {wanted:22} {elapsed:6.2f} s, CPU {cpu:6.2f} s  {result}", flush=True)


#: Mechanisms and properties whose searches are clocked, and instances of each.
RATED = ("drf", "drfh", "njc", "psdsf-rdm", "h-drf")
RATED_PROPERTIES = {
    "strategy-proof": 12,
    "population-monotonic": 60,
    "envy-free": 150,
    "Pareto-optimal": 150,
    "sharing incentive": 150,
}


def show_rates(names: list[str], seed: int) -> None:
    """Print instances a second of CPU time, the best of three; none is simplified."""
    for name in names:
        row = TABLE[name]
        for property_name, tries in RATED_PROPERTIES.items():
            rng = np.random.default_rng(seed)
            drawn = [Search().draw(rng, row, property_name) for _ in range(tries)]
            instances = [instance for instance in drawn if row.undefined(instance) is None]
            seconds = cpu_seconds(search_each, instances, name, property_name)
            ratio = seconds / cpu_seconds(allocate_each, instances, name)
            line = f"{name:12} {property_name:22} {len(instances) / seconds:8.1f} a second"
            print(f"{line}, {ratio:6.1f} × one allocation", flush=True)


def search_each(instances: list[Instance], name: str, property_name: str) -> None:
    """Look whether the mechanism breaks the property on one of the instances."""
    for instance in instances:
        copy = instance.derived()  # without what the last run computed of it
        search = Search(tries=1, shrink=False, progress=False, generator=lambda _, copy=copy: copy)
        search.run(name, property_name)


def allocate_each(instances: list[Instance], name: str) -> None:
    """Allocate each instance once."""
    for instance in instances:
        fairlp.allocate(instance.derived(), name)


def cpu_seconds(function: Callable[..., None], *arguments: Any) -> float:
    """Return the least CPU time of three runs."""
    seconds = []
    for _ in range(3):
        begin = process_time()
        function(*arguments)
        seconds.append(process_time() - begin)
    return min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--audits", type=int, default=500)
    parser.add_argument("--tries", type=int, default=1000)
    parser.add_argument("--mechanism", action="append")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--limits", type=float, metavar="SECONDS")
    parser.add_argument("--rates", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.rates:
        show_rates(given.mechanism or list(RATED), given.seed)
        return
    if given.limits is not None:
        show_limits(given.limits, given.seed)
        return
    names = given.mechanism or [name for name in TABLE if name not in NOT_RERUN]
    entries = {}
    if given.write and given.write.exists():
        entries = {
            (e["mechanism"], e["property"]): e
            for e in json.loads(given.write.read_text(encoding="utf-8"))
        }
    for name in names:
        for wanted in COLUMNS:
            if (wanted in DYNAMIC) != ("horizon" in TABLE[name].options):
                continue
            begin = perf_counter()
            promised = wanted in claims(TABLE[name])
            said = ""
            broken = 0
            if promised:
                audited, broken, *_ = count_broken(name, wanted, given.audits, given.seed)
                said = f"promised; {audited} audited, {broken} broken"
            if not promised or broken:
                tries = given.tries // (5 if wanted == "strategy-proof" else 1)
                found = fairlp.counterexample(
                    name, wanted, search=True, seed=given.seed, tries=tries, lies=40
                )
                if found is not None:
                    entries[name, wanted] = as_entry(name, wanted, found)
                    witness = audit(found, fairlp.allocate(found, name), [wanted]).witness.iloc[0]
                    said += f"{'; ' if said else ''}broken: {witness}"
                else:
                    said += f"{'; ' if said else ''}no counterexample found"
            print(f"{name:18} {wanted:22} {perf_counter() - begin:6.1f} s  {said}", flush=True)
            if given.write:
                lines = ",\n".join(" " + json.dumps(entries[key]) for key in sorted(entries))
                given.write.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
